/*
 * A program that knows if it was harmed: four threads allocate blocks, fill them, and look at them before they give them back; meanwhile
 * the main thread forks, starts this program again as a child, and loads and unloads the libraries given. It goes on until the file is
 * there. Status 7: all was as it should be, and a line on standard output says how often.
 *
 *	unharmed FILE [LIBRARY...]
 *	unharmed child
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define BLOCKS	256

static volatile int over;

struct work {
	uint64_t random, blocks, wrong;
};

static uint64_t next(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	return *random ^= *random << 17;
}

/* A block begins with its size, and the rest is of one byte that depends on it. */
static unsigned char *fresh(size_t size)
{
	unsigned char *p = malloc(size);

	if (!p)
		abort();
	memcpy(p, &size, sizeof(size));
	memset(p + sizeof(size), (int)(size * 7 & 0xff), size - sizeof(size));
	return p;
}

static int is_wrong(const unsigned char *p)
{
	size_t size;

	memcpy(&size, p, sizeof(size));
	for (size_t i = sizeof(size); i < size; i++)
		if (p[i] != (size * 7 & 0xff))
			return 1;
	return 0;
}

static void turn(struct work *w, unsigned char **block)
{
	unsigned char **at = &block[next(&w->random) % BLOCKS];

	if (*at)
		w->wrong += (uint64_t)is_wrong(*at);
	free(*at);
	*at = fresh(sizeof(size_t) + next(&w->random) % 500);
	w->blocks++;
}

static void *thread(void *argument)
{
	struct work *w = argument;
	unsigned char *block[BLOCKS] = {0};

	while (!over)
		turn(w, block);
	for (unsigned i = 0; i < BLOCKS; i++)
		free(block[i]);
	return NULL;
}

/* So many turns of its own: 3, if none was wrong. */
static int child(void)
{
	struct work w = {.random = 88172645463325252u};
	unsigned char *block[BLOCKS] = {0};

	for (unsigned i = 0; i < 300; i++)
		turn(&w, block);
	return w.wrong ? 1 : 3;
}

static uint64_t family(char *self, int executes)
{
	char *const arguments[] = {self, (char *)"child", NULL};
	int status;
	pid_t pid = fork();

	if (!pid && executes)
		execv("/proc/self/exe", arguments);
	if (!pid)
		_exit(child());
	return pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 3;
}

static uint64_t library(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW), *p;
	void *(*work)(size_t) = handle ? (void *(*)(size_t))dlsym(handle, "plugin_work") : NULL;

	if (!work)
		return 1;
	p = work(100);
	free(p);
	return !p || dlclose(handle);
}

int main(int argc, char **argv)
{
	struct work work[THREADS] = {0};
	pthread_t threads[THREADS];
	uint64_t wrong = 0, blocks = 0, rounds = 0;
	struct stat st;

	if (argc > 1 && !strcmp(argv[1], "child"))
		return child();
	for (unsigned i = 0; i < THREADS; i++) {
		work[i].random = 0x9e3779b97f4a7c15u * (i + 1);
		if (pthread_create(&threads[i], NULL, thread, &work[i]))
			abort();
	}
	for (; argc > 1 && stat(argv[1], &st); rounds++) {
		wrong += family(argv[0], rounds % 2);
		for (int i = 2; i < argc; i++)
			wrong += library(argv[i]);
		usleep(1000);
	}
	over = 1;
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		wrong += work[i].wrong;
		blocks += work[i].blocks;
	}
	printf("%llu blocks, %llu rounds, %llu wrong\n", (unsigned long long)blocks, (unsigned long long)rounds,
	       (unsigned long long)wrong);
	return wrong ? 1 : 7;
}
