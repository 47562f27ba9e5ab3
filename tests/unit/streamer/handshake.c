/* The socket where programs ask for a ring: who is heard, what they get, and who is let go. */
#include "agent/net/handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/descriptors.h"
#include "tests/unit/temporary.h"

#define SILENT_NS 2000000000

struct scene {
	uv_loop_t loop;
	struct handshake h;
	unsigned asked;
	struct handshake_client *client; /* that asked last */
	struct ring_hello hello;
	unsigned descriptors; /* before */
	char path[128];
};

static const struct ring_hello hello = {.magic = RING_MAGIC,
					.version = RING_VERSION,
					.byte_order = RING_ORDER_MARK,
					.pointer_bits = 64,
					.flags = RING_HELLO_EARLY};

static void on_asked(void *context, struct handshake_client *client, const struct ring_hello *said)
{
	struct scene *s = context;

	s->asked++;
	s->client = client;
	s->hello = *said;
}

static void turn(struct scene *s)
{
	for (int i = 0; i < 2 * HANDSHAKE_CLIENTS + 8; i++)
		uv_run(&s->loop, UV_RUN_NOWAIT);
}

static void begin(struct scene *s, bool listens)
{
	int fd = -1;

	memset(s, 0, sizeof(*s));
	s->descriptors = descriptors_open();
	snprintf(s->path, sizeof(s->path), "%s/socket", temporary_folder);
	uv_loop_init(&s->loop);
	if (listens) {
		fd = handshake_socket(s->path);
		assert_true(fd >= 0);
	}
	assert_int_equal(handshake_open(&s->h, &s->loop, fd, on_asked, s), 0);
}

static void end(struct scene *s)
{
	handshake_close(&s->h);
	handshake_close(&s->h); /* has no effect */
	uv_run(&s->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&s->loop), 0);
	assert_int_equal(descriptors_open(), s->descriptors);
}

static unsigned places_taken(const struct scene *s)
{
	unsigned count = 0;

	for (unsigned i = 0; i < HANDSHAKE_CLIENTS; i++)
		count += s->h.client[i].fd >= 0;
	return count;
}

static int reach(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	unsigned length;

	assert_int_equal(handshake_address(path, &address, &length), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, length), 0);
	return fd;
}

/* A hello with these settings. */
static void say_hello(int fd, const char *settings, size_t length)
{
	struct iovec part[2] = {{(void *)(uintptr_t)&hello, sizeof(hello)},
				{(void *)(uintptr_t)settings, length}};
	struct msghdr message = {.msg_iov = part, .msg_iovlen = 2};

	assert_int_equal(sendmsg(fd, &message, MSG_NOSIGNAL), sizeof(hello) + length);
}

static void expect_answer(int fd, unsigned kind, uint32_t flags)
{
	struct ring_answer answer;

	assert_int_equal(recv(fd, &answer, sizeof(answer), MSG_TRUNC), sizeof(answer));
	assert_int_equal(answer.magic, RING_MAGIC);
	assert_int_equal(answer.version, RING_VERSION);
	assert_int_equal(answer.kind, kind);
	assert_int_equal(answer.flags, flags);
	assert_int_equal(answer.size, 0);
}

static bool is_open(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN;
}

static void expect_closed(int fd)
{
	char byte;

	assert_int_equal(recv(fd, &byte, 1, 0), 0);
	close(fd);
}

static void addresses(void **state)
{
	struct sockaddr_un a;
	char path[sizeof(a.sun_path) + 1];
	unsigned length = 0, most = sizeof(a.sun_path) - 1;

	(void)state;
	memset(path, 'p', sizeof(path));
	path[most + 1] = '\0';
	assert_int_equal(handshake_address(path, &a, &length), -ENAMETOOLONG);
	assert_int_equal(handshake_address("", &a, &length), -ENAMETOOLONG);
	assert_int_equal(length, 0);
	path[most] = '\0';
	assert_int_equal(handshake_address(path, &a, &length), 0);
	assert_int_equal(length, offsetof(struct sockaddr_un, sun_path) + most + 1);
	assert_int_equal(a.sun_family, AF_UNIX);
	assert_string_equal(a.sun_path, path);
	assert_int_equal(handshake_address("@name", &a, &length), 0); /* no NUL belongs to it */
	assert_int_equal(length, offsetof(struct sockaddr_un, sun_path) + 5);
	assert_memory_equal(a.sun_path, "\0name", 6);
}

/* Who listens keeps his name. What he leaves behind is taken over, and no other file. */
static void names(void **state)
{
	unsigned descriptors = descriptors_open();
	char path[128], other[160], abstract[160];
	struct stat st;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/socket", temporary_folder);
	snprintf(other, sizeof(other), "%s/no/socket", temporary_folder);
	assert_int_equal(handshake_socket(""), -ENAMETOOLONG);
	assert_int_equal(handshake_socket(other), -ENOENT);
	fd = handshake_socket(path);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(handshake_socket(path), -EADDRINUSE);
	close(reach(path)); /* it listens */
	close(fd);
	fd = handshake_socket(path);
	assert_true(fd >= 0);
	close(reach(path));
	close(fd);
	unlink(path);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(handshake_socket(path), -EEXIST);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	snprintf(abstract, sizeof(abstract), "@%s", temporary_folder);
	fd = handshake_socket(abstract);
	assert_true(fd >= 0);
	close(reach(abstract));
	assert_int_equal(handshake_socket(abstract), -EADDRINUSE);
	close(fd);
	assert_int_equal(descriptors_open(), descriptors);
}

static void expect_ring(int fd, int ring, const struct ring_entry *entry, unsigned count)
{
	static struct ring_entry got[4];
	struct ring_answer answer;
	struct iovec part[2] = {{&answer, sizeof(answer)}, {got, sizeof(got)}};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr m = {.msg_iov = part,
			   .msg_iovlen = 2,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *head;
	struct stat theirs, ours;
	int taken;

	assert_int_equal(recvmsg(fd, &m, MSG_CMSG_CLOEXEC),
			 sizeof(answer) + count * sizeof(*entry));
	assert_int_equal(answer.magic, RING_MAGIC);
	assert_int_equal(answer.version, RING_VERSION);
	assert_int_equal(answer.kind, RING_ACCEPTED);
	assert_int_equal(answer.flags, RING_ANSWER_FOLLOW);
	assert_int_equal(answer.size, 12345678901);
	assert_memory_equal(got, entry, count * sizeof(*entry));
	head = CMSG_FIRSTHDR(&m);
	assert_non_null(head);
	assert_int_equal(head->cmsg_type, SCM_RIGHTS);
	assert_int_equal(head->cmsg_len, CMSG_LEN(sizeof(int)));
	memcpy(&taken, CMSG_DATA(head), sizeof(taken));
	assert_int_equal(fstat(taken, &theirs), 0);
	assert_int_equal(fstat(ring, &ours), 0);
	assert_true(theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino);
	close(taken);
}

static void asked_and_answered(void **state)
{
	static const char settings[] = "HEAPCAST_MODE=full\0HEAPCAST_FOLLOW=1";
	struct ring_entry entry[2];
	struct scene s;
	int fd, ring;

	(void)state;
	begin(&s, true);
	ring = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	memset(&entry[0], 0x11, sizeof(entry[0]));
	memset(&entry[1], 0x22, sizeof(entry[1]));
	fd = reach(s.path);
	turn(&s);
	assert_int_equal(s.asked, 0);
	say_hello(fd, settings, sizeof(settings));
	turn(&s);
	assert_int_equal(s.asked, 1);
	assert_memory_equal(&s.hello, &hello, sizeof(hello));
	assert_int_equal(s.client->pid, getpid());
	assert_int_equal(s.client->uid, getuid());
	assert_int_equal(s.client->flags, RING_HELLO_EARLY);
	assert_true(s.client->accepted);
	assert_int_equal(s.client->settings_length, sizeof(settings));
	assert_memory_equal(s.client->settings, settings, sizeof(settings));
	handshake_wait(s.client);
	handshake_wait(s.client);
	expect_answer(fd, RING_WAIT, 0);
	assert_true(is_open(fd));
	s.client->follow = true;
	assert_int_equal(
		handshake_answer_with(s.client, RING_ACCEPTED, ring, 12345678901, entry, 2), 0);
	expect_ring(fd, ring, entry, 2);
	expect_closed(fd);
	turn(&s);
	assert_int_equal(places_taken(&s), 0);
	assert_null(s.client->settings);
	assert_int_equal(s.client->settings_length, 0);
	fd = reach(s.path);
	say_hello(fd, NULL, 0);
	turn(&s);
	assert_int_equal(s.asked, 2);
	assert_null(s.client->settings);
	handshake_answer(s.client, RING_BUSY);
	expect_answer(fd, RING_BUSY, 0);
	expect_closed(fd);
	fd = reach(s.path);
	say_hello(fd, NULL, 0);
	turn(&s);
	assert_int_equal(s.asked, 3);
	say_hello(fd, NULL, 0); /* once is enough */
	turn(&s);
	assert_int_equal(s.asked, 3);
	close(fd); /* it has waited long enough */
	assert_int_equal(handshake_answer_with(s.client, RING_ACCEPTED, ring, 1, NULL, 0), -EPIPE);
	close(ring);
	end(&s);
}

/* Text for the user comes before the answer, cut where the program's room ends. */
static void said(void **state)
{
	char text[RING_SAY_MAX + 2], got[2 * RING_SAY_MAX];
	struct ring_answer *answer = (struct ring_answer *)(void *)got;
	struct scene s;
	int fd;

	(void)state;
	begin(&s, true);
	fd = reach(s.path);
	say_hello(fd, NULL, 0);
	turn(&s);
	memset(text, 't', sizeof(text));
	for (size_t length = RING_SAY_MAX - 1; length <= RING_SAY_MAX + 1; length++) {
		size_t sent = length < RING_SAY_MAX ? length : RING_SAY_MAX;

		text[length] = '\0';
		handshake_say(s.client, text);
		text[length] = 't';
		assert_int_equal(recv(fd, got, sizeof(got), 0), sizeof(*answer) + sent);
		assert_int_equal(answer->magic, RING_MAGIC);
		assert_int_equal(answer->version, RING_VERSION);
		assert_int_equal(answer->kind, RING_SAY);
		assert_memory_equal(got + sizeof(*answer), text, sent);
	}
	handshake_answer(s.client, RING_REFUSED);
	expect_answer(fd, RING_REFUSED, 0);
	expect_closed(fd);
	end(&s);
}

/* When all places are taken, who comes waits in the queue, and the agent sleeps. */
static void full(void **state)
{
	int fd[HANDSHAKE_CLIENTS], late;
	struct scene s;

	(void)state;
	begin(&s, true);
	for (unsigned i = 0; i < HANDSHAKE_CLIENTS; i++)
		fd[i] = reach(s.path);
	turn(&s);
	assert_int_equal(places_taken(&s), HANDSHAKE_CLIENTS);
	assert_true(uv_is_active((uv_handle_t *)&s.h.poll));
	late = reach(s.path);
	turn(&s);
	assert_false(uv_is_active((uv_handle_t *)&s.h.poll));
	say_hello(late, NULL, 0);
	turn(&s);
	assert_int_equal(s.asked, 0);
	say_hello(fd[HANDSHAKE_CLIENTS - 1], NULL, 0);
	turn(&s);
	assert_int_equal(s.asked, 1);
	handshake_answer(s.client, RING_REFUSED);
	turn(&s);
	assert_int_equal(s.asked, 2);
	assert_int_equal(places_taken(&s), HANDSHAKE_CLIENTS);
	handshake_answer(s.client, RING_REFUSED);
	expect_answer(late, RING_REFUSED, 0);
	expect_closed(late);
	for (unsigned i = 0; i < HANDSHAKE_CLIENTS; i++)
		close(fd[i]);
	turn(&s);
	assert_int_equal(places_taken(&s), 0);
	end(&s);
}

/* Likewise when no descriptor is left, up to the next tick. */
static void no_descriptor(void **state)
{
	struct rlimit before, now;
	struct scene s;
	int fd;

	(void)state;
	begin(&s, true);
	turn(&s);
	fd = reach(s.path);
	say_hello(fd, NULL, 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	now = before;
	now.rlim_cur = (rlim_t)fd + 1; /* the lowest free one was the last */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	turn(&s);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_false(uv_is_active((uv_handle_t *)&s.h.poll));
	assert_int_equal(places_taken(&s), 0);
	handshake_tick(&s.h, 0);
	turn(&s);
	assert_int_equal(s.asked, 1);
	handshake_answer(s.client, RING_REFUSED);
	expect_answer(fd, RING_REFUSED, 0);
	expect_closed(fd);
	end(&s);
}

/* A connection that does not ask is closed after a while. A program that asked waits on, and so
 * does one that was handed its socket and has not begun. */
static void silent(void **state)
{
	int quiet, asking, pair[2];
	uint64_t since = 0;
	struct scene s;

	(void)state;
	begin(&s, true);
	quiet = reach(s.path);
	turn(&s);
	for (unsigned i = 0; i < HANDSHAKE_CLIENTS; i++)
		if (s.h.client[i].fd >= 0)
			since = s.h.client[i].since_ns;
	assert_true(since > 0);
	asking = reach(s.path);
	say_hello(asking, NULL, 0);
	turn(&s);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(handshake_add(&s.h, pair[0]), 0);
	expect_answer(pair[1], RING_WAIT, 0);
	handshake_tick(&s.h, since + SILENT_NS);
	turn(&s);
	assert_true(is_open(quiet));
	handshake_tick(&s.h, since + SILENT_NS + 1);
	turn(&s);
	expect_closed(quiet);
	handshake_tick(&s.h, since + 100 * (uint64_t)SILENT_NS);
	turn(&s);
	assert_true(is_open(asking) && is_open(pair[1]));
	assert_int_equal(places_taken(&s), 2);
	handshake_answer(s.client, RING_REFUSED);
	expect_answer(asking, RING_REFUSED, 0);
	expect_closed(asking);
	close(pair[1]);
	end(&s);
}

/* The other end of a socket pair, without a socket that listens. The first message says to wait. */
static void handed_over(void **state)
{
	int pair[2], more[2];
	struct scene s;
	pid_t child;

	(void)state;
	begin(&s, false);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(handshake_add(&s.h, pair[0]), 0);
	expect_answer(pair[1], RING_WAIT, 0);
	child = fork();
	if (!child)
		_exit(send(pair[1], &hello, sizeof(hello), 0) != sizeof(hello));
	assert_int_equal(waitpid(child, NULL, 0), child);
	turn(&s);
	assert_int_equal(s.asked, 1);
	assert_int_equal(s.client->pid, child);
	assert_false(s.client->accepted);
	handshake_wait(s.client); /* it was told */
	handshake_answer(s.client, RING_COUNTED);
	expect_answer(pair[1], RING_COUNTED, 0);
	expect_closed(pair[1]);
	turn(&s);
	for (unsigned i = 0; i <= HANDSHAKE_CLIENTS; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, more), 0);
		assert_int_equal(handshake_add(&s.h, more[0]), i < HANDSHAKE_CLIENTS ? 0 : -EMFILE);
		close(more[1]);
	}
	assert_int_equal(pipe2(more, O_CLOEXEC), 0);
	turn(&s); /* all have hung up */
	assert_int_equal(places_taken(&s), 0);
	assert_int_equal(handshake_add(&s.h, more[0]), -ENOTSOCK);
	close(more[1]);
	assert_int_equal(places_taken(&s), 0);
	handshake_tick(&s.h, UINT64_MAX);
	end(&s);
}

/* Messages that are no hello, and a process that speaks for another. */
static void turned_away(void **state)
{
	struct scene s;
	pid_t child;
	int fd;

	(void)state;
	begin(&s, true);
	fd = reach(s.path);
	assert_int_equal(send(fd, &hello, sizeof(hello) - 1, 0), sizeof(hello) - 1);
	turn(&s);
	expect_closed(fd);
	fd = reach(s.path);
	child = fork();
	if (!child)
		_exit(send(fd, &hello, sizeof(hello), 0) != sizeof(hello));
	assert_int_equal(waitpid(child, NULL, 0), child);
	turn(&s);
	expect_closed(fd);
	close(reach(s.path));
	turn(&s);
	assert_int_equal(s.asked, 0);
	assert_int_equal(places_taken(&s), 0);
	end(&s);
}

/* Settings that no libheapcast.so has sent are left out, and the program is heard all the same. */
static void settings_are_checked(void **state)
{
	static char most[RING_SETTINGS_MAX + 1] = "HEAPCAST_X=";
	const struct {
		const char *text;
		size_t length, kept;
	} given[] = {{"A=1", 3, 0},
		     {"A=1", 4, 4},
		     {most, sizeof(most), 0},
		     {most, sizeof(most) - 1, sizeof(most) - 1}};
	struct scene s;

	(void)state;
	begin(&s, true);
	for (unsigned i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		int fd = reach(s.path);

		say_hello(fd, given[i].text, given[i].length);
		turn(&s);
		assert_int_equal(s.asked, i + 1);
		assert_int_equal(s.client->settings_length, given[i].kept);
		assert_int_equal(!s.client->settings, !given[i].kept);
		handshake_answer(s.client, RING_REFUSED);
		expect_answer(fd, RING_REFUSED, 0);
		expect_closed(fd);
	}
	end(&s);
}

/* What is no socket can't be listened to. */
static void no_socket(void **state)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct handshake h;
	uv_loop_t loop;

	(void)state;
	uv_loop_init(&loop);
	assert_int_equal(handshake_open(&h, &loop, fd, on_asked, &h), -ENOTSOCK);
	assert_int_equal(uv_loop_close(&loop), 0);
	close(fd);
}

int main(void)
{
	uv_loop_t first;

	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses),
		TEST_IN_FOLDER(names),
		TEST_IN_FOLDER(asked_and_answered),
		TEST_IN_FOLDER(said),
		TEST_IN_FOLDER(full),
		TEST_IN_FOLDER(no_descriptor),
		TEST_IN_FOLDER(silent),
		TEST_IN_FOLDER(handed_over),
		TEST_IN_FOLDER(turned_away),
		TEST_IN_FOLDER(settings_are_checked),
		cmocka_unit_test(no_socket),
	};

	uv_loop_init(&first); /* libuv keeps a pipe from here on */
	uv_loop_close(&first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
