/* The control socket: questions and answers, who does not keep to the rules, and what is left
 * behind. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/control/control.h"
#include "collector/control/place.h"
#include "tests/unit/temporary.h"

struct scene {
	uv_loop_t loop;
	uv_async_t quit;
	uv_timer_t later;
	struct control *control;
	pthread_t thread;
	unsigned questions;
};

#define LONG_LINES 1000
#define BUSY_MS	   600

/* "now WORD" is answered at once, "later WORD" by the timer; "busy" keeps the loop from all else,
 * and has no answer; "long" is answered with more than a socket
 * holds, "flood" with more than anybody reads; all else with no. */
static void on_question(void *context, struct control_client *client, const char *line)
{
	struct scene *s = context;

	s->questions++;
	if (!strncmp(line, "now ", 4)) {
		control_say(client, "at 1 2");
		control_say(client, "ok %s", line + 4);
		control_end(client);
	} else if (!strncmp(line, "later ", 6)) {
		snprintf(control_note(client), CONTROL_NOTE, "%.100s", line + 6);
	} else if (!strcmp(line, "busy")) {
		usleep(1000 * BUSY_MS);
		control_end(client);
	} else if (!strcmp(line, "long")) {
		for (unsigned i = 0; i < LONG_LINES; i++)
			control_say(client, "at %0500u", i);
		control_end(client);
	} else if (!strcmp(line, "flood")) {
		for (unsigned i = 0; i < 10000; i++)
			control_say(client, "at %0500u", i);
	} else {
		control_say(client, "no such order\nin two lines");
		control_end(client);
	}
}

static void answer(void *context, struct control_client *client)
{
	(void)context;
	control_say(client, "ok %s", (const char *)control_note(client));
	control_end(client);
}

static void on_later(uv_timer_t *timer)
{
	struct scene *s = timer->data;

	control_each(s->control, answer, NULL);
}

static void on_quit(uv_async_t *quit)
{
	struct scene *s = quit->data;

	control_close(s->control);
	uv_close((uv_handle_t *)&s->later, NULL);
	uv_close((uv_handle_t *)&s->quit, NULL);
}

static void *serve(void *scene)
{
	struct scene *s = scene;

	uv_run(&s->loop, UV_RUN_DEFAULT);
	return NULL;
}

static void begin_patient(struct scene *s, unsigned patience_ms)
{
	struct err_text err = {0};

	*s = (struct scene){.questions = 0};
	uv_loop_init(&s->loop);
	uv_async_init(&s->loop, &s->quit, on_quit);
	uv_timer_init(&s->loop, &s->later);
	s->quit.data = s->later.data = s;
	uv_timer_start(&s->later, on_later, 100, 100);
	assert_int_equal(
		control_open(&s->loop, temporary_folder, on_question, s, &s->control, &err), 0);
	if (patience_ms)
		control_set_patience(s->control, patience_ms);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void begin(struct scene *s)
{
	begin_patient(s, 0);
}

static void end(struct scene *s)
{
	uv_async_send(&s->quit);
	pthread_join(s->thread, NULL);
	assert_int_equal(uv_loop_close(&s->loop), 0);
}

static void keep_line(void *context, const char *line)
{
	snprintf(context, 256, "%s", line);
}

static int ask(const char *question, char last[256])
{
	struct err_text err = {0};

	last[0] = 0;
	return control_ask(temporary_folder, question, keep_line, last, &err);
}

static void questions(void **state)
{
	struct scene s;
	struct stat st;
	char last[256], path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/" CONTROL_SOCKET, temporary_folder);
	assert_int_equal(ask("now x", last), -ENOENT);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC,
		   0644)); /* what a killed collector leaves */
	begin(&s);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(ask("now a b", last), 0);
	assert_string_equal(last, "ok a b");
	assert_int_equal(ask("later c", last), 0);
	assert_string_equal(last, "ok c");
	assert_int_equal(ask("what", last), 1);
	assert_string_equal(last, "no such order in two lines");
	end(&s);
	assert_int_equal(s.questions, 3);
	assert_int_equal(lstat(path, &st), -1);
	assert_int_equal(ask("now x", last), -ENOENT);
}

static int reach(void)
{
	struct sockaddr_un address;
	int place = control_place(temporary_folder, &address);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(place);
	return fd;
}

/* Sends it, and waits for the end of the connection: how much came. */
static size_t say(const char *text, size_t length)
{
	char bytes[4096];
	size_t got = 0;
	ssize_t n;
	int fd = reach();

	send(fd, text, length, MSG_NOSIGNAL);
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		got += (size_t)n;
	close(fd);
	return got;
}

static void rules(void **state)
{
	static char text[2 * CONTROL_LINE];
	int fds[100];
	struct scene s;
	char last[256];

	(void)state;
	begin(&s);
	memset(text, 'x', sizeof(text));
	assert_int_equal(say(text, sizeof(text)), 0);	/* too long a line */
	assert_int_equal(say("now a\nnow b\n", 12), 0); /* two questions */
	assert_int_equal(say("now \0b\n", 7), 0);	/* no text */
	assert_int_equal(say("now \x1b[2J\n", 9), 0);
	assert_int_equal(s.questions, 0);
	for (unsigned i = 0; i < 100; i++) /* more than it serves at a time: the last are let go */
		fds[i] = reach();
	assert_int_equal(recv(fds[99], last, 1, 0), 0);
	for (unsigned i = 0; i < 100; i++)
		close(fds[i]);
	for (unsigned i = 0; i < 200 && ask("now x", last); i++) /* until they are gone */
		usleep(10000);
	fds[0] = reach(); /* one who never reads */
	assert_int_equal(send(fds[0], "flood\n", 6, MSG_NOSIGNAL), 6);
	for (unsigned i = 0; i < 200 && ask("now x", last); i++)
		usleep(10000);
	assert_string_equal(last, "ok x");
	close(fds[0]);
	fds[0] = reach(); /* one who is there when it ends */
	assert_int_equal(send(fds[0], "later x", 7, MSG_NOSIGNAL), 7);
	end(&s);
	close(fds[0]);
}

/* Reads the long answer in pieces, with a pause before each. Returns how many bytes came. */
static size_t read_slowly(unsigned pause_ms)
{
	char bytes[16384];
	size_t got = 0;
	ssize_t n;
	int fd = reach();

	send(fd, "long\n", 5, MSG_NOSIGNAL);
	do {
		usleep(pause_ms * 1000);
		n = recv(fd, bytes, sizeof(bytes), 0);
		got += n > 0 ? (size_t)n : 0;
	} while (n > 0 && got < LONG_LINES * 504);
	close(fd);
	return got;
}

/* The whole answer takes longer than the patience, and no piece does, unless the machine is busy:
 * then it is tried again. */
static void slow_readers(void **state)
{
	struct scene s;
	size_t got = 0;

	(void)state;
	begin_patient(&s, 500);
	for (unsigned i = 0; i < 10 && got != LONG_LINES * 504; i++)
		got = read_slowly(25);
	assert_int_equal(got, LONG_LINES * 504);
	end(&s);
	begin_patient(&s, 20);
	assert_true(read_slowly(100) < LONG_LINES * 504); /* who does not read on is let go */
	end(&s);
}

/* A client asks in time, while the loop is busy for longer than the patience. */
static void busy_loop(void **state)
{
	char answer[64] = "";
	struct scene s;
	int first, other;

	(void)state;
	begin_patient(&s, BUSY_MS / 2);
	first = reach();
	other = reach();
	send(other, "busy\n", 5, MSG_NOSIGNAL);
	usleep(1000 * BUSY_MS / 4);
	send(first, "now x\n", 6, MSG_NOSIGNAL);
	assert_true(recv(first, answer, sizeof(answer) - 1, 0) > 0);
	assert_int_equal(strncmp(answer, "at 1 2\n", 7), 0);
	close(first);
	close(other);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(questions),
		TEST_IN_FOLDER(rules),
		TEST_IN_FOLDER(slow_readers),
		TEST_IN_FOLDER(busy_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
