/* The agent's control socket: questions and answers, who does not keep to the rules, and what is
 * left behind. */
#include "agent/serve/control_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/net/handshake.h"
#include "heapcast.pb-c.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/temporary.h"

#define SILENT_NS 2000000000ull

struct scene {
	uv_loop_t loop;
	struct control_socket d;
	unsigned questions, descriptors;
	char name[128], out[CONTROL_ANSWER_MAX];
};

/* "status" is answered with who asks, an order with what is ordered. */
static size_t answer(void *context, uid_t uid, bool all, const struct order_question *q, char *out)
{
	struct scene *s = context;

	s->questions++;
	if (q->status)
		return (size_t)snprintf(out, CONTROL_ANSWER_MAX, "%u %d\nok\n", (unsigned)uid, all);
	return (size_t)snprintf(out, CONTROL_ANSWER_MAX, "pid %d action %d\nok\n", (int)q->pid,
				q->order.action);
}

static void turn(struct scene *s)
{
	for (int i = 0; i < 20; i++)
		uv_run(&s->loop, UV_RUN_NOWAIT);
}

static int open_at(struct scene *s, const char *name, bool others)
{
	return control_socket_open(&s->d, &s->loop, name, others, answer, s, s->out);
}

static void begin(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	s->descriptors = descriptors_open();
	snprintf(s->name, sizeof(s->name), "%s/agent.ctl", temporary_folder);
	uv_loop_init(&s->loop);
}

static void end(struct scene *s)
{
	control_socket_close(&s->d);
	control_socket_close(&s->d); /* has no effect */
	uv_run(&s->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&s->loop), 0);
	assert_int_equal(descriptors_open(), s->descriptors);
}

static int try_to_reach(const char *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	unsigned length;

	assert_int_equal(handshake_address(name, &address, &length), 0);
	if (connect(fd, (struct sockaddr *)&address, length) == 0)
		return fd;
	close(fd);
	return -1;
}

static int reach(const struct scene *s)
{
	int fd = try_to_reach(s->name);

	assert_true(fd >= 0);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static bool is_open(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN;
}

/* The answer, and nothing behind it. */
static void expect(int fd, const char *text)
{
	char got[512];
	ssize_t n = recv(fd, got, sizeof(got) - 1, 0);

	got[n > 0 ? n : 0] = '\0';
	assert_string_equal(got, text);
	if (n > 0)
		assert_int_equal(recv(fd, got, sizeof(got), 0), 0);
	close(fd);
}

static void ask(struct scene *s, const char *question, const char *expected)
{
	int fd = reach(s);

	say(fd, question);
	turn(s);
	expect(fd, expected);
}

static void questions(void **state)
{
	char who[64], text[64];
	struct scene s;
	int fd;

	(void)state;
	begin(&s);
	assert_int_equal(open_at(&s, s.name, false), 0);
	snprintf(who, sizeof(who), "%u 1\nok\n", (unsigned)getuid());
	ask(&s, "status\n", who);
	snprintf(text, sizeof(text), "pid 12 action %d\nok\n", HEAPCAST__ACTION__ACTION_STOP);
	ask(&s, "stop 12\n", text);
	assert_int_equal(s.questions, 2);
	ask(&s, "dance\n", "no such an order is not known here\n");
	assert_int_equal(s.questions, 2);
	fd = reach(&s); /* in two parts */
	say(fd, "sta");
	turn(&s);
	assert_true(is_open(fd));
	say(fd, "tus\n");
	turn(&s);
	expect(fd, who);
	assert_int_equal(s.questions, 3);
	end(&s);
}

/* What is no single line is not answered. */
static void other_lines(void **state)
{
	static char longest[ORDER_LINE_MAX + 1];
	struct scene s;
	int fd;

	(void)state;
	begin(&s);
	assert_int_equal(open_at(&s, s.name, false), 0);
	ask(&s, "status\nstatus\n", "");
	ask(&s, "status\nx", "");
	fd = reach(&s);
	assert_int_equal(send(fd, "status\0\n", 8, MSG_NOSIGNAL), 8);
	turn(&s);
	expect(fd, "");
	fd = reach(&s); /* hangs up in the middle of it */
	say(fd, "status");
	shutdown(fd, SHUT_WR);
	turn(&s);
	expect(fd, "");
	assert_int_equal(s.questions, 0);
	memset(longest, 'x', ORDER_LINE_MAX);
	ask(&s, longest, "");
	memcpy(longest, "mark 7 ", 7);
	longest[ORDER_LINE_MAX - 1] = '\n'; /* fits */
	snprintf(s.out, sizeof(s.out), "pid 7 action %d\nok\n", HEAPCAST__ACTION__ACTION_MARK);
	fd = reach(&s);
	say(fd, longest);
	turn(&s);
	snprintf(longest, sizeof(longest), "pid 7 action %d\nok\n", HEAPCAST__ACTION__ACTION_MARK);
	expect(fd, longest);
	for (unsigned i = 0; i < CONTROL_CLIENTS; i++)
		assert_int_equal(s.d.client[i].fd, -1);
	end(&s);
}

/* Orders have a limit, questions have none. */
static void too_many(void **state)
{
	unsigned taken = 0;
	struct scene s;

	(void)state;
	begin(&s);
	assert_int_equal(open_at(&s, s.name, false), 0);
	s.d.limit.full_ns = UINT64_MAX / 2; /* as after a flood of them */
	ask(&s, "stop 1\n", "no too many orders at a time: try again\n");
	assert_int_equal(s.questions, taken);
	for (unsigned i = 0; i < ORDER_LIMIT_MOST + 1; i++) {
		int fd = reach(&s);

		say(fd, "status\n");
		turn(&s);
		assert_false(is_open(fd));
		close(fd);
	}
	assert_int_equal(s.questions, ORDER_LIMIT_MOST + 1);
	end(&s);
}

/* When all places are taken, who comes waits in the queue, and the agent sleeps. */
static void full(void **state)
{
	int fd[CONTROL_CLIENTS], late;
	struct scene s;
	char who[64];

	(void)state;
	begin(&s);
	assert_int_equal(open_at(&s, s.name, false), 0);
	for (unsigned i = 0; i < CONTROL_CLIENTS; i++)
		fd[i] = reach(&s);
	turn(&s);
	assert_true(uv_is_active((uv_handle_t *)&s.d.poll));
	late = reach(&s);
	say(late, "status\n");
	turn(&s);
	assert_false(uv_is_active((uv_handle_t *)&s.d.poll));
	assert_int_equal(s.questions, 0);
	close(fd[1]);
	turn(&s);
	assert_int_equal(s.questions, 1);
	snprintf(who, sizeof(who), "%u 1\nok\n", (unsigned)getuid());
	expect(late, who);
	close(reach(&s));
	turn(&s);
	assert_true(uv_is_active((uv_handle_t *)&s.d.poll));
	for (unsigned i = 0; i < CONTROL_CLIENTS; i++)
		if (i != 1)
			close(fd[i]);
	end(&s); /* with some open */
}

static void silent(void **state)
{
	struct scene s;
	int fd;

	(void)state;
	begin(&s);
	assert_int_equal(open_at(&s, s.name, false), 0);
	fd = reach(&s);
	say(fd, "stat");
	turn(&s);
	assert_true(s.d.client[0].fd >= 0 && s.d.client[0].since_ns > 0);
	control_socket_tick(&s.d, s.d.client[0].since_ns + SILENT_NS);
	turn(&s);
	assert_true(is_open(fd));
	control_socket_tick(&s.d, s.d.client[0].since_ns + SILENT_NS + 1);
	control_socket_tick(&s.d, s.d.client[0].since_ns + SILENT_NS + 2); /* being closed */
	turn(&s);
	assert_int_equal(s.d.client[0].fd, -1);
	expect(fd, "");
	control_socket_tick(&s.d, UINT64_MAX);
	end(&s);
}

static unsigned mode_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(name, &st), 0);
	return st.st_mode & 07777;
}

/* The mode lets other users in or keeps them out, whatever the umask is. */
static void modes(void **state)
{
	mode_t mask = umask(077);
	struct scene s;

	(void)state;
	begin(&s);
	control_socket_init(&s.d);
	control_socket_admit(&s.d, true);
	control_socket_tick(&s.d, UINT64_MAX);
	control_socket_close(&s.d);
	assert_int_equal(open_at(&s, s.name, true), 0);
	assert_int_equal(mode_of(s.name), 0666);
	control_socket_admit(&s.d, false);
	assert_int_equal(mode_of(s.name), 0600);
	control_socket_admit(&s.d, true);
	assert_int_equal(mode_of(s.name), 0666);
	control_socket_close(&s.d);
	assert_int_equal(access(s.name, F_OK), -1);
	turn(&s);
	assert_int_equal(open_at(&s, s.name, false), 0);
	umask(mask);
	assert_int_equal(mode_of(s.name), 0600);
	end(&s);
}

/* A name where an agent serves stays its own; what a dead one left is replaced, and nothing else.
 */
static void names(void **state)
{
	char left[160], abstract[160];
	struct scene s, other;
	struct stat st;
	int fd;

	(void)state;
	begin(&s);
	assert_int_equal(open_at(&s, s.name, false), 0);
	begin(&other);
	assert_int_equal(open_at(&other, other.name, false), -EADDRINUSE);
	assert_int_equal(other.d.fd, -1);
	close(reach(&s));
	turn(&s);
	snprintf(left, sizeof(left), "%s/left", temporary_folder);
	assert_int_equal(rename(s.name, left), 0);
	close(open(s.name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	control_socket_close(&s.d); /* the name is another file's by now */
	turn(&s);
	assert_int_equal(lstat(s.name, &st), 0);
	assert_int_equal(open_at(&s, s.name, false), -EADDRINUSE); /* no socket */
	assert_int_equal(lstat(s.name, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(open_at(&s, left, false), 0);
	fd = try_to_reach(left);
	assert_true(fd >= 0);
	close(fd);
	control_socket_close(&s.d);
	turn(&s);
	assert_int_equal(access(left, F_OK), -1);
	assert_int_equal(open_at(&s, "", false), -ENAMETOOLONG);
	snprintf(abstract, sizeof(abstract), "@%s", temporary_folder);
	assert_int_equal(open_at(&s, abstract, false), 0);
	assert_int_equal(open_at(&other, abstract, false), -EADDRINUSE);
	fd = try_to_reach(abstract);
	assert_true(fd >= 0);
	close(fd);
	end(&other);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(questions), TEST_IN_FOLDER(other_lines), TEST_IN_FOLDER(too_many),
		TEST_IN_FOLDER(full),	   TEST_IN_FOLDER(silent),	TEST_IN_FOLDER(modes),
		TEST_IN_FOLDER(names),
	};
	uv_loop_t first;

	uv_loop_init(&first); /* libuv keeps a pipe from here on */
	uv_loop_close(&first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
