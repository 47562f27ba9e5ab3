#pragma once
/*
 * A whole agent in the test's process, and programs that do what they are told: they say hello as
 * libheapcast.so does, pass on what they hear, and end. What a program would record is written into
 * its ring from here.
 */
#include "tests/unit/streamer/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "agent/serve/agent.h"
#include "base/log.h"
#include "tests/unit/temporary.h"

#define PATIENCE_MS 8000

static struct agent agent;
static struct agent_settings settings;
static char log_file[128];
static unsigned finished;
static struct session_report last;
static char path_of_last[FILE_NAME_MAX], taken_by_last[256], lacking_last[256];

static inline void on_finished(void *context, const struct session_report *report)
{
	(void)context;
	finished++;
	last = *report;
	snprintf(path_of_last, sizeof(path_of_last), "%s", report->path);
	snprintf(taken_by_last, sizeof(taken_by_last), "%s", report->taken_by);
	snprintf(lacking_last, sizeof(lacking_last), "%s", report->lacking);
}

/* Settings of an agent for one program at a time, that writes to a file. */
static inline int whole_setup(void **state)
{
	static char output[128];

	if (temporary_setup(state))
		return -1;
	finished = 0;
	memset(&last, 0, sizeof(last));
	snprintf(output, sizeof(output), "%s/%%p.heapcast", temporary_folder);
	snprintf(log_file, sizeof(log_file), "%s/log", temporary_folder);
	settings = (struct agent_settings){
		.memory_limit = 8 << 20,
		.each = {.output = output,
			 .output_owner = (uid_t)-1,
			 .ring = {.mode = RING_FULL, .depth_limit = 64}},
		.linger_ns = 1000000000,
		.stop_ns = 5000000000,
	};
	return log_open("info", log_file);
}

static inline int whole_teardown(void **state)
{
	log_open("error", NULL);
	return temporary_teardown(state);
}

#define TEST_OF_AGENT(name) cmocka_unit_test_setup_teardown(name, whole_setup, whole_teardown)

static inline void whole_begin(void)
{
	struct err_text err = {{0}};
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/socket", temporary_folder);
	unlink(path); /* of the agent before, which may have been another user's */
	fd = handshake_socket(path);
	assert_true(fd >= 0);
	if (agent_open(&agent, &settings, fd, &err) < 0)
		fail_msg("%s", err.text);
	agent.finished = on_finished;
	uv_timer_set_repeat(&agent.tick, 5); /* no test waits for longer than it has to */
	uv_timer_again(&agent.tick);
}

static inline unsigned log_count(const char *text)
{
	static char all[32768];
	int fd = open(log_file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, all, sizeof(all) - 1);
	unsigned count = 0;

	if (fd >= 0)
		close(fd);
	all[n > 0 ? n : 0] = '\0';
	for (const char *at = all; (at = strstr(at, text)); at++)
		count++;
	return count;
}

/* Runs the agent until this is true. */
#define UNTIL(condition)                                                                           \
	do {                                                                                       \
		uint64_t until_ns = now() + PATIENCE_MS * UINT64_C(1000000);                       \
		while (!(condition) && now() < until_ns) {                                         \
			uv_run(&agent.loop, UV_RUN_NOWAIT);                                        \
			if (!(condition))                                                          \
				poll(NULL, 0, 1);                                                  \
		}                                                                                  \
		assert_true(condition);                                                            \
	} while (0)

/* ---- programs ---- */

struct program {
	pid_t pid;
	int say;     /* what it is to do, and what it has heard */
	int say_kid; /* the same of its child */
};

struct command {
	char what; /* h: hello; c: counts into the cell; f: forks its child; e: exits */
	struct ring_hello hello;
};

struct heard {
	uint32_t kind; /* 0: the connection was closed; UINT32_MAX: the child was forked */
	uint32_t flags;
	pid_t pid;
	char text[RING_SAY_MAX + 1];
};

static const struct ring_hello plain_hello = {.magic = RING_MAGIC,
					      .version = RING_VERSION,
					      .byte_order = RING_ORDER_MARK,
					      .pointer_bits = 8 * sizeof(void *)};

static inline int program_hello(const struct ring_hello *hello)
{
	struct sockaddr_un address;
	char path[128];
	unsigned length;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(path, sizeof(path), "%s/socket", temporary_folder);
	handshake_address(path, &address, &length);
	if (connect(fd, (struct sockaddr *)&address, length) ||
	    send(fd, hello, sizeof(*hello), 0) != sizeof(*hello))
		_exit(101);
	return fd;
}

/* Passes on what the agent says. Returns the descriptor that came with it, or -1; -2: it hung up.
 */
static inline int program_hears(int fd, int say)
{
	static struct {
		struct ring_answer answer;
		char text[RING_SAY_MAX + RING_ENTRIES_MAX * sizeof(struct ring_entry)];
	} in;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = {&in, sizeof(in)};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control)};
	static struct heard heard;
	ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	int taken = -1;

	memset(&heard, 0, sizeof(heard));
	if (n >= (ssize_t)sizeof(in.answer)) {
		heard.kind = in.answer.kind;
		heard.flags = in.answer.flags;
		if (heard.kind == RING_SAY)
			memcpy(heard.text, in.text, (size_t)n - sizeof(in.answer));
		if (CMSG_FIRSTHDR(&m))
			memcpy(&taken, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(taken));
	}
	heard.pid = getpid();
	if (n > 0 && send(say, &heard, sizeof(heard), MSG_NOSIGNAL) != sizeof(heard))
		_exit(102);
	return n > 0 ? taken : -2;
}

static inline void cell_count(int cell)
{
	struct ring_header *h =
		mmap(NULL, RING_HEADER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, cell, 0);

	if (h == MAP_FAILED || h->magic != RING_MAGIC || h->policy != RING_COUNT)
		_exit(103);
	h->no_slice.events = 10;
	h->no_slice.allocations = 6;
	h->no_slice.frees = 4;
	h->no_slice.bytes = 1000;
	munmap(h, RING_HEADER_SIZE);
}

/* Ends with this process, however that ends, also if it has ended already. */
static inline void program_end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
}

static inline _Noreturn void be_program(int say, int say_kid)
{
	struct pollfd of[2] = {{say, POLLIN, 0}, {-1, POLLIN, 0}};
	struct heard heard = {.kind = UINT32_MAX};
	struct command c;
	pid_t self = getpid();
	int cell = -1;

	signal(SIGCHLD, SIG_IGN); /* its child leaves nothing behind */
	for (;;) {
		poll(of, 2, -1);
		if (of[1].revents) {
			int taken = program_hears(of[1].fd, say);

			cell = taken >= 0 ? taken : cell;
			if (taken == -2) {
				close(of[1].fd);
				of[1].fd = -1;
			}
		}
		if (!of[0].revents)
			continue;
		if (recv(say, &c, sizeof(c), 0) != sizeof(c))
			_exit(0);
		if (c.what == 'h')
			of[1].fd = program_hello(&c.hello);
		else if (c.what == 'c')
			cell_count(cell);
		else if (c.what == 'e')
			_exit(3);
		else if (c.what == 'f' && !fork()) {
			if (say_kid < 0)
				_exit(0);
			program_end_with(self);
			close(of[1].fd);
			of[1].fd = -1;
			of[0].fd = say = say_kid;
			say_kid = -1;
		} else if (c.what == 'f')
			send(say, &heard, sizeof(heard), MSG_NOSIGNAL);
	}
}

static inline struct program program_idle(void)
{
	pid_t self = getpid();
	int own[2], kid[2];
	struct program p;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, own), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, kid), 0);
	p.pid = fork();
	if (!p.pid) {
		program_end_with(self);
		close(own[0]);
		close(kid[0]);
		be_program(own[1], kid[1]);
	}
	assert_true(p.pid > 0);
	close(own[1]);
	close(kid[1]);
	p.say = own[0];
	p.say_kid = kid[0];
	return p;
}

static inline void command(int say, char what, const struct ring_hello *hello)
{
	struct command c = {.what = what, .hello = hello ? *hello : plain_hello};

	assert_int_equal(send(say, &c, sizeof(c), MSG_NOSIGNAL), sizeof(c));
}

/* Who waits for a place has waited long enough. Returns true. */
static inline bool hurry(void)
{
	for (unsigned i = 0; i < AGENT_HELD; i++)
		agent.held[i].since_ns = 0;
	return true;
}

/* What it has heard next, while the agent runs. */
static inline struct heard hear(int say)
{
	struct heard heard = {0};
	ssize_t n = -1;

	UNTIL(n > 0 || (hurry() && (n = recv(say, &heard, sizeof(heard), MSG_DONTWAIT)) > 0));
	return heard;
}

static inline bool hears_nothing(int say)
{
	char byte;

	return recv(say, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* Asks, and returns the answer. */
static inline uint32_t answer_to(int say, const struct ring_hello *hello)
{
	command(say, 'h', hello);
	return hear(say).kind;
}

static inline struct program program_recorded(void)
{
	struct program p = program_idle();

	assert_int_equal(answer_to(p.say, NULL), RING_ACCEPTED);
	return p;
}

/* Forks its child, which asks at `say_kid`. */
static inline void program_fork(const struct program *p)
{
	command(p->say, 'f', NULL);
	assert_int_equal(hear(p->say).kind, UINT32_MAX);
}

static inline void program_end(const struct program *p)
{
	kill(p->pid, SIGKILL);
	assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
	close(p->say);
	close(p->say_kid);
}

/* Allocations, as the program in this slot would record them. */
static inline void record(unsigned slot, unsigned count)
{
	static struct bench ring_of;
	const uint64_t pcs[] = {0x1000, 0x2000};
	struct session *s = &agent.session[slot];
	static uint32_t index;
	struct writer w;

	ring_of.ring.ring = s->ring.ring;
	s->ring.ring->header->clock = RING_CLOCK_MONOTONIC;
	__atomic_store_n(&s->ring.ring->header->byte_order, RING_ORDER_MARK, __ATOMIC_RELEASE);
	for (index = 0;; index++) {
		struct ring_slice *slice = s->ring.ring->slices;

		while (slice->words < RING_FIRST_WORDS)
			slice++;
		if (slice[index].state == RING_SLICE_FREE)
			break;
	}
	w = writer_claim(&ring_of, index, (uint32_t)s->stream.target.pid + index);
	for (unsigned i = 0; i < count; i++)
		writer_event(&w, 1, 0x10000 + 16 * i, 8, now(), 0, 2, pcs);
	writer_publish(&w);
}
