#pragma once
/*
 * For the tests of the dialer: a loop of its own, collectors that answer or do not, and the only
 * thread that looks names up, held up as long as a test wants. The program runs in a network of its
 * own where that is allowed, in which a name has the addresses that a test wants.
 */
#include "tests/unit/streamer/pending.h"

#include <poll.h>
#include <sched.h>
#include <sys/mount.h>

#include "agent/net/listener.h"
#include "base/log.h"
#include "tests/unit/own_network.h"
#include "tests/unit/temporary.h"

#define BUFFER	    (32u << 10)
#define PATIENCE_MS 8000
#define TICK_MS	    2 /* instead of a second */

static bool own_network;
static char log_file[128];
static struct dialer d;

/* Runs the loop until this is true. */
#define UNTIL(condition)                                                                           \
	do {                                                                                       \
		for (int left_ = PATIENCE_MS; !(condition) && left_; left_--) {                    \
			uv_run(&s.loop, UV_RUN_NOWAIT);                                            \
			if (!(condition))                                                          \
				poll(NULL, 0, 1);                                                  \
		}                                                                                  \
		assert_true(condition);                                                            \
	} while (0)

/* Time for many ticks. */
static inline void ticks_pass(void)
{
	uint64_t until = uv_hrtime() + 30 * TICK_MS * UINT64_C(1000000);

	for (int i = 0; i < 50 || uv_hrtime() < until; i++) {
		uv_run(&s.loop, UV_RUN_NOWAIT);
		poll(NULL, 0, 1);
	}
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

/* ---- the only thread that looks names up ---- */

static uv_sem_t goes_on;
static uv_work_t held_up;

static inline void hold_up(uv_work_t *work)
{
	(void)work;
	uv_sem_wait(&goes_on);
}

static inline void let_go(uv_work_t *work, int status)
{
	(void)work;
	(void)status;
}

/* From here on a look-up takes until look_ups_end. */
static inline void look_ups_last(void)
{
	assert_int_equal(uv_queue_work(&s.loop, &held_up, hold_up, let_go), 0);
}

static inline void look_ups_end(void)
{
	uv_sem_post(&goes_on);
}

/* ---- collectors ---- */

/* A collector that listens at this host of 127.0.0.0/8; 0: at ::1. Returns its socket. */
static inline int desk_at(unsigned host, int backlog, uint16_t *port)
{
	struct sockaddr_in four = {.sin_family = AF_INET,
				   .sin_port = htons(*port),
				   .sin_addr.s_addr = htonl(0x7f000000 + host)};
	struct sockaddr_in6 six = {
		.sin6_family = AF_INET6, .sin6_port = htons(*port), .sin6_addr = in6addr_loopback};
	struct sockaddr *at = host ? (struct sockaddr *)&four : (struct sockaddr *)&six;
	socklen_t length = host ? sizeof(four) : sizeof(six);
	int on = 1, fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, at, length) || listen(fd, backlog)) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	assert_int_equal(getsockname(fd, at, &length), 0);
	*port = ntohs(host ? four.sin_port : six.sin6_port);
	return fd;
}

static inline int desk(uint16_t *port)
{
	int fd;

	*port = 0;
	fd = desk_at(1, 8, port);
	assert_true(fd >= 0);
	return fd;
}

static inline int taken(int at)
{
	return accept4(at, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* The dialer's connection, as the collector has it. */
static inline int answer(int at)
{
	int fd = -1;

	UNTIL(fd >= 0 || (fd = taken(at)) >= 0);
	return fd;
}

static inline void dial_to(const char *host, uint16_t port)
{
	assert_int_equal(dialer_open(&d, &s.loop, &s.peers, &s.link[1], BUFFER, host, port), 0);
	uv_timer_set_repeat(&d.timer, TICK_MS);
}

static struct {
	const char *host;
	uint16_t port;
	int result;
} turn_request;

static inline void turn_now(uv_async_t *async)
{
	turn_request.result = dialer_turn(&d, turn_request.host, turn_request.port);
	uv_timer_set_repeat(&d.timer, TICK_MS);
	uv_close((uv_handle_t *)async, NULL);
}

/* In a callback of the loop, as the agent does. */
static inline void turn_to(const char *host, uint16_t port)
{
	uv_async_t async;

	turn_request.host = host;
	turn_request.port = port;
	turn_request.result = 1;
	assert_int_equal(uv_async_init(&s.loop, &async, turn_now), 0);
	uv_async_send(&async);
	UNTIL(turn_request.result != 1);
	assert_int_equal(turn_request.result, 0);
}

static inline void dialer_end(void)
{
	dialer_close(&d);
	dialer_close(&d); /* has no effect */
	end();
}

static inline int dialer_setup(void **state)
{
	if (temporary_setup(state))
		return -1;
	snprintf(log_file, sizeof(log_file), "%s/log", temporary_folder);
	return log_open("info", log_file);
}

static inline int dialer_teardown(void **state)
{
	log_open("error", NULL);
	umount("/etc/hosts");
	return temporary_teardown(state);
}

#define TEST_OF_DIALER(name) cmocka_unit_test_setup_teardown(name, dialer_setup, dialer_teardown)

/* Before the tests: a network of their own where that is allowed, and one thread for look-ups. */
static inline void dialer_start(void)
{
	setenv("UV_THREADPOOL_SIZE", "1", 1);
	uv_sem_init(&goes_on, 0);
	own_network = own_network_enter() && unshare(CLONE_NEWNS) == 0 &&
		      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	pending_start();
}
