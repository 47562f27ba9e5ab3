/* The program that documents speak of as your own (CMD, ./your-program): a server that keeps, leaks and frees, in two threads, one of which is
 * called io. Without arguments it ends after 300 requests; with one it goes on until it is told to end. Called ./server, its texts are long. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static void *volatile kept[64];
static volatile size_t sink;
static bool long_texts;
static volatile sig_atomic_t told;

static void on_signal(int number)
{
	(void)number;
	told = 1;
}

static NOINLINE void register_command(unsigned i)
{
	kept[i] = malloc(4096);
	sink += kept[i] != NULL;
}

static NOINLINE void json_value(unsigned i)
{
	char *text = malloc(100 + i % 400);

	text = realloc(text, long_texts ? 200000 : 2000 + i % 400);
	text[0] = (char)i;
	sink += (size_t)text[0];
	free(text);
}

static NOINLINE void parse_line(unsigned i)
{
	json_value(i);
	json_value(i + 1);
	sink++;
}

static NOINLINE void open_session(unsigned i)
{
	char *session = malloc(500 + i % 2);

	session[0] = 1;
	sink += (size_t)session[0];
}

static void *io(void *unused)
{
	(void)unused;
	for (unsigned i = 0; i < 50; i++) {
		free(kept[63]);
		kept[63] = malloc(150);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	pthread_t thread;

	long_texts = strstr(argv[0], "server") != NULL;
	signal(SIGTERM, on_signal);
	register_command(0);
	register_command(1);
	if (pthread_create(&thread, NULL, io, NULL) != 0)
		return 1;
	pthread_setname_np(thread, "io");
	pthread_join(thread, NULL);
	for (unsigned i = 0; i < 300 || (argc > 1 && !told); i++) {
		parse_line(i);
		if (i % 10 == 0)
			open_session(i);
		nanosleep(&pause, NULL);
	}
	return 0;
}
