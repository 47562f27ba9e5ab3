/*
 * The agent dials a collector: until it answers, again when it is gone, and another one when it is
 * told to. The program runs in a network of its own where that is allowed, in which a name has the
 * addresses that a test wants.
 */
#include "tests/unit/streamer/pending.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

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
static void ticks_pass(void)
{
	uint64_t until = uv_hrtime() + 30 * TICK_MS * UINT64_C(1000000);

	for (int i = 0; i < 50 || uv_hrtime() < until; i++) {
		uv_run(&s.loop, UV_RUN_NOWAIT);
		poll(NULL, 0, 1);
	}
}

static unsigned log_count(const char *text)
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

static void hold_up(uv_work_t *work)
{
	(void)work;
	uv_sem_wait(&goes_on);
}

static void let_go(uv_work_t *work, int status)
{
	(void)work;
	(void)status;
}

/* From here on a look-up takes until look_ups_end. */
static void look_ups_last(void)
{
	assert_int_equal(uv_queue_work(&s.loop, &held_up, hold_up, let_go), 0);
}

static void look_ups_end(void)
{
	uv_sem_post(&goes_on);
}

/* ---- collectors ---- */

/* A collector that listens at this host of 127.0.0.0/8; 0: at ::1. Returns its socket. */
static int desk_at(unsigned host, int backlog, uint16_t *port)
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

static int desk(uint16_t *port)
{
	int fd;

	*port = 0;
	fd = desk_at(1, 8, port);
	assert_true(fd >= 0);
	return fd;
}

static int taken(int at)
{
	return accept4(at, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* The dialer's connection, as the collector has it. */
static int answer(int at)
{
	int fd = -1;

	UNTIL(fd >= 0 || (fd = taken(at)) >= 0);
	return fd;
}

static void dial_to(const char *host, uint16_t port)
{
	assert_int_equal(dialer_open(&d, &s.loop, &s.peers, &s.link[1], BUFFER, host, port), 0);
	uv_timer_set_repeat(&d.timer, TICK_MS);
}

static struct {
	const char *host;
	uint16_t port;
	int result;
} turn_request;

static void turn_now(uv_async_t *async)
{
	turn_request.result = dialer_turn(&d, turn_request.host, turn_request.port);
	uv_timer_set_repeat(&d.timer, TICK_MS);
	uv_close((uv_handle_t *)async, NULL);
}

/* In a callback of the loop, as the agent does. */
static void turn_to(const char *host, uint16_t port)
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

static void dialer_end(void)
{
	dialer_close(&d);
	dialer_close(&d); /* has no effect */
	end();
}

static void connects(void **state)
{
	const struct {
		int level, option, value;
	} expected[] = {{SOL_SOCKET, SO_SNDBUF, 2 * BUFFER}, /* the kernel doubles both */
			{SOL_SOCKET, SO_RCVBUF, BUFFER},
			{SOL_SOCKET, SO_KEEPALIVE, 1},
			{IPPROTO_TCP, TCP_NODELAY, 1},
			{IPPROTO_TCP, TCP_USER_TIMEOUT, LINK_SILENT_MS}};
	uint16_t port;
	char name[64];
	int at, fd;

	(void)state;
	begin(NULL);
	at = desk(&port);
	assert_int_equal(dialer_open(&d, &s.loop, &s.peers, &s.link[1], BUFFER, "127.0.0.1", port),
			 0);
	assert_int_equal(uv_timer_get_repeat(&d.timer), 1000);
	uv_timer_set_repeat(&d.timer, TICK_MS);
	fd = answer(at);
	UNTIL(!link_free(&s.link[1]));
	assert_true(link_free(&s.link[0]) && link_free(&s.link[2]));
	snprintf(name, sizeof(name), "127.0.0.1:%u", port);
	assert_string_equal(s.link[1].peer, name);
	assert_int_equal(d.addresses, 1);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		int value = -1;
		socklen_t length = sizeof(value);

		assert_int_equal(getsockopt(s.link[1].fd, expected[i].level, expected[i].option,
					    &value, &length),
				 0);
		assert_int_equal(value, expected[i].value);
	}
	assert_true(fcntl(s.link[1].fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(s.link[1].fd, F_GETFD) & FD_CLOEXEC);
	expect_linked(fd);
	ticks_pass();
	assert_int_equal(taken(at), -1); /* one connection is enough */
	close(fd);			 /* and is lost */
	fd = answer(at);
	UNTIL(!link_free(&s.link[1]));
	expect_linked(fd);
	assert_int_equal(log_count("no collector"), 0);
	close(fd);
	close(at);
	dialer_end();
}

static void connects_by_six(void **state)
{
	uint16_t port = 0;
	char name[64];
	int at, fd;

	(void)state;
	begin(NULL);
	at = desk_at(0, 8, &port);
	if (at < 0) {
		end();
		skip();
	}
	dial_to("::1", port);
	fd = answer(at);
	UNTIL(!link_free(&s.link[1]));
	snprintf(name, sizeof(name), "[::1]:%u", port);
	assert_string_equal(s.link[1].peer, name);
	close(at);
	close(fd);
	snprintf(name, sizeof(name), "no collector at [::1]:%u (connection refused)", port);
	UNTIL(log_count(name));
	dialer_end();
}

/* Nobody answers: that is said once, and once more when somebody did in between. */
static void refused(void **state)
{
	uint16_t port;
	char text[128];
	int at, fd;

	(void)state;
	begin(NULL);
	at = desk(&port);
	close(at);
	snprintf(text, sizeof(text),
		 "warn  no collector at 127.0.0.1:%u (connection refused); trying again every "
		 "second\n",
		 port);
	dial_to("127.0.0.1", port);
	for (unsigned i = 1; i <= 2; i++) {
		unsigned tries;

		UNTIL(log_count(text) == i);
		tries = d.tries;
		UNTIL(d.tries > tries + 3);
		assert_int_equal(log_count(text), i);
		assert_int_equal(log_count("no collector"), i);
		assert_int_equal(links_taken(), 0);
		at = desk_at(1, 8, &port);
		assert_true(at >= 0);
		fd = answer(at);
		UNTIL(!link_free(&s.link[1]));
		close(at);
		close(fd);
	}
	UNTIL(log_count(text) == 3);
	turn_to("127.0.0.1", port); /* the same one: it is news to who has said so */
	UNTIL(log_count(text) == 4);
	dialer_end();
}

static void not_to_be_reached(void **state)
{
	(void)state;
	begin(NULL);
	dial_to("a..b", 8100); /* no name */
	UNTIL(d.tries > 3);
	assert_int_equal(log_count("no collector at a..b:8100 ("), 1);
	assert_int_equal(d.addresses, 0);
	if (own_network) {
		turn_to("192.0.2.1", 8100);
		UNTIL(log_count("no collector at 192.0.2.1:8100 (network is unreachable)") == 1);
		assert_int_equal(d.fd, -1);
	}
	dialer_end();
}

static void no_descriptor_left(void **state)
{
	struct rlimit before, now;
	uint16_t port;
	int at, fd;

	(void)state;
	begin(NULL);
	at = desk(&port);
	look_ups_last();
	dial_to("127.0.0.1", port);
	UNTIL(d.resolving);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	now = before;
	fd = dup(at);
	now.rlim_cur = (rlim_t)fd;
	close(fd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	look_ups_end();
	for (int i = 0; i < PATIENCE_MS && d.resolving; i++) {
		uv_run(&s.loop, UV_RUN_NOWAIT);
		poll(NULL, 0, 1);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(d.fd, -1);
	assert_int_equal(log_count("(too many open files)"), 1);
	fd = answer(at);
	UNTIL(!link_free(&s.link[1]));
	close(fd);
	close(at);
	dialer_end();
}

/* Makes a collector deaf: its queue is full. Fills `fd` up; -1 behind the last. */
static void deafen(uint16_t port, int fd[8])
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct pollfd p = {.events = POLLOUT};
	bool hangs = false;

	for (int i = 0; i < 8; i++) {
		fd[i] = hangs ? -1 : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (hangs)
			continue;
		connect(fd[i], (struct sockaddr *)&to, sizeof(to));
		p.fd = fd[i];
		hangs = poll(&p, 1, 50) == 0;
	}
	if (!hangs)
		skip();
}

/* An attempt has three ticks, then comes the next. */
static void no_answer(void **state)
{
	int at, fd[8], was;
	unsigned ticks[2] = {0};
	uint16_t port = 0;

	(void)state;
	if (!own_network)
		skip();
	begin(NULL);
	at = desk_at(1, 0, &port);
	deafen(port, fd);
	dial_to("127.0.0.1", port);
	UNTIL(d.fd >= 0);
	assert_int_equal(d.waited, 0);
	for (unsigned tries = 0; tries < 2; tries++) {
		uint32_t seen = 0;

		/* no tick is overlooked: one turn of the loop has one at most */
		UNTIL(d.fd < 0 || (ticks[tries] += d.waited != seen, seen = d.waited, false));
		assert_int_equal(ticks[tries], 2); /* the third gives up */
		assert_int_equal(log_count("(connection timed out)"), 1);
		UNTIL(d.fd >= 0);
	}
	was = d.fd;
	turn_to("", 0); /* what it waits for is given up */
	assert_int_equal(d.fd, -1);
	assert_int_equal(fcntl(was, F_GETFD), -1);
	turn_to("127.0.0.1", port);
	UNTIL(d.fd >= 0);
	turn_to("127.0.0.1", port);
	UNTIL(d.fd >= 0);
	was = d.fd;
	dialer_close(&d);
	assert_int_equal(fcntl(was, F_GETFD), -1);
	for (int i = 0; i < 8; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	close(at);
	dialer_end();
}

/* From one collector to another, to none, and back. */
static void turned(void **state)
{
	uint16_t port[2];
	int at[2], fd, other;

	(void)state;
	begin(NULL);
	at[0] = desk(&port[0]);
	at[1] = desk(&port[1]);
	dial_to("", 0);
	ticks_pass();
	assert_int_equal(d.tries, 0);
	turn_to("127.0.0.1", port[0]);
	fd = answer(at[0]);
	UNTIL(!link_free(&s.link[1]));
	turn_to("127.0.0.1", port[1]);
	assert_int_equal(d.addresses, 0);
	other = answer(at[1]);
	UNTIL(is_open(other) || recv(other, port, 0, 0) == 0);
	UNTIL(s.link[1].fd >= 0 && !s.link[1].closing);
	assert_int_equal(d.addresses, 1);
	close(fd);
	assert_int_equal(taken(at[0]), -1);
	turn_to("", 0);
	UNTIL(link_free(&s.link[1]));
	ticks_pass();
	assert_int_equal(taken(at[0]), -1);
	assert_int_equal(taken(at[1]), -1);
	assert_false(uv_is_active((uv_handle_t *)&d.timer));
	close(other);
	close(at[0]);
	close(at[1]);
	dialer_end();
}

/* While there was no collector to dial, its link may have gone to one that came. */
static void leaves_others_alone(void **state)
{
	uint16_t port;
	int at, pair[2], fd;

	(void)state;
	begin(NULL);
	at = desk(&port);
	dial_to("", 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
			 0);
	assert_int_equal(link_open(&s.link[1], pair[0], "that came"), 0);
	turn_to("127.0.0.1", port);
	ticks_pass();
	assert_false(link_free(&s.link[1]));
	assert_false(s.link[1].closing);
	assert_int_equal(taken(at), -1);
	close(pair[1]); /* it goes, and the dialer has its link */
	fd = answer(at);
	UNTIL(!link_free(&s.link[1]));
	close(fd);
	close(at);
	dialer_end();
}

/* What was looked up for the former collector is not used for this one. */
static void turned_while_looking_up(void **state)
{
	uint16_t port[2];
	int at[2], fd;

	(void)state;
	begin(NULL);
	at[0] = desk(&port[0]);
	at[1] = desk(&port[1]);
	look_ups_last();
	dial_to("127.0.0.1", port[0]);
	UNTIL(d.resolving);
	turn_to("127.0.0.1", port[1]);
	ticks_pass();
	look_ups_end();
	fd = answer(at[1]);
	UNTIL(!link_free(&s.link[1]));
	assert_int_equal(taken(at[0]), -1);
	look_ups_last();
	close(fd);
	UNTIL(d.resolving);
	turn_to("", 0);
	look_ups_end();
	UNTIL(!d.resolving);
	ticks_pass();
	assert_int_equal(d.addresses, 0);
	look_ups_last();
	turn_to("a..b", 8100);
	UNTIL(d.resolving);
	turn_to("127.0.0.1", port[0]); /* that the other was not found is not said of this one */
	look_ups_end();
	fd = answer(at[0]);
	UNTIL(!link_free(&s.link[1]));
	assert_int_equal(taken(at[1]), -1);
	close(fd);
	close(at[0]);
	close(at[1]);
	dialer_end();
	assert_int_equal(log_count("no collector"), 0);
}

/* The agent ends while a name is looked up: that is called off. */
static void closed_while_looking_up(void **state)
{
	uint16_t port;
	int at;

	(void)state;
	begin(NULL);
	at = desk(&port);
	look_ups_last();
	dial_to("127.0.0.1", port);
	UNTIL(d.resolving);
	dialer_close(&d);
	UNTIL(!d.resolving);
	look_ups_end();
	ticks_pass();
	assert_int_equal(taken(at), -1);
	close(at);
	dialer_end();
	assert_int_equal(log_count("no collector"), 0);
}

/* A collector that has answered and not proved itself: it is not dialled beside that. */
static void waits_for_proof(void **state)
{
	uint16_t port[2];
	int at[2], fd, other;

	(void)state;
	begin(secure_with(key, 1));
	at[0] = desk(&port[0]);
	at[1] = desk(&port[1]);
	dial_to("127.0.0.1", port[0]);
	fd = answer(at[0]);
	UNTIL(pending_peers_dialling(&s.peers));
	ticks_pass();
	assert_int_equal(taken(at[0]), -1);
	assert_true(link_free(&s.link[1]));
	turn_to("127.0.0.1", port[1]);
	other = answer(at[1]);
	UNTIL(pending_peers_dialling(&s.peers));
	assert_int_equal(taken(at[0]), -1);
	close(fd);
	close(other);
	close(at[0]);
	close(at[1]);
	dialer_end();
}

/* Gives the name "desk" the addresses 127.0.0.`first` and the next ones. */
static bool name_desk(unsigned first, unsigned count)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/hosts", temporary_folder);
	file = fopen(path, "we");
	for (unsigned i = 0; i < count; i++)
		fprintf(file, "127.0.0.%u desk\n", first + i);
	fclose(file);
	return own_network && mount(path, "/etc/hosts", NULL, MS_BIND, NULL) == 0;
}

/* A name with several addresses: each attempt takes the next one, and all count as the collector's,
 * up to eight. */
static void several_addresses(void **state)
{
	enum { MOST = 10 };
	const unsigned counts[] = {1, 3, DIAL_ADDRESSES, MOST};
	int at[MOST], fd = -1;
	uint16_t port = 0;

	(void)state;
	for (unsigned i = 0; i < MOST; i++)
		at[i] = desk_at(2 + i, 8, &port);
	for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		if (!name_desk(2, counts[k]))
			skip();
		begin(NULL);
		dial_to("desk", port);
		for (unsigned i = 0; i < 2 * DIAL_ADDRESSES; i++) {
			unsigned wanted = i % DIAL_ADDRESSES % counts[k];
			char end[64];

			fd = answer(at[wanted]);
			UNTIL(!link_free(&s.link[1]));
			assert_int_equal(d.addresses,
					 counts[k] < DIAL_ADDRESSES ? counts[k] : DIAL_ADDRESSES);
			snprintf(end, sizeof(end), "127.0.0.%u", 2 + wanted);
			assert_string_equal(s.link[1].address, end);
			close(fd);
		}
		for (unsigned i = 0; i < d.addresses; i++) {
			const struct sockaddr_in *a = (const struct sockaddr_in *)&d.address[i];

			assert_int_equal(a->sin_family, AF_INET);
			assert_int_equal(ntohl(a->sin_addr.s_addr), 0x7f000002 + i);
		}
		dialer_end();
		umount("/etc/hosts");
	}
	for (unsigned i = 0; i < MOST; i++)
		close(at[i]);
}

static int dialer_setup(void **state)
{
	if (temporary_setup(state))
		return -1;
	snprintf(log_file, sizeof(log_file), "%s/log", temporary_folder);
	return log_open("info", log_file);
}

static int dialer_teardown(void **state)
{
	log_open("error", NULL);
	umount("/etc/hosts");
	return temporary_teardown(state);
}

#define TEST_OF_DIALER(name) cmocka_unit_test_setup_teardown(name, dialer_setup, dialer_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF_DIALER(connects),
		TEST_OF_DIALER(connects_by_six),
		TEST_OF_DIALER(refused),
		TEST_OF_DIALER(not_to_be_reached),
		TEST_OF_DIALER(no_descriptor_left),
		TEST_OF_DIALER(no_answer),
		TEST_OF_DIALER(turned),
		TEST_OF_DIALER(leaves_others_alone),
		TEST_OF_DIALER(turned_while_looking_up),
		TEST_OF_DIALER(closed_while_looking_up),
		TEST_OF_DIALER(waits_for_proof),
		TEST_OF_DIALER(several_addresses),
	};

	setenv("UV_THREADPOOL_SIZE", "1", 1);
	uv_sem_init(&goes_on, 0);
	own_network = own_network_enter() && unshare(CLONE_NEWNS) == 0 &&
		      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	pending_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
