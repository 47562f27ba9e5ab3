/*
 * Where the agent waits for collectors, and whom it lets in. The program runs in a network
 * namespace of its own where that is allowed, so that no port of another program is in the way.
 */
#include "agent/net/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/core/arena.h"
#include "base/error.h"
#include "base/log.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/own_network.h"

#define BUFFER	    (32u << 10)
#define PATIENCE_MS 5000

static bool own_network;

struct scene {
	uv_loop_t loop;
	struct arena arena;
	struct pending_peers peers;
	struct listener l;
	unsigned descriptors;
};

static struct sockaddr_storage four(const char *text, uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_storage all = {0};

	inet_pton(AF_INET, text, &a.sin_addr);
	memcpy(&all, &a, sizeof(a));
	return all;
}

static struct sockaddr_storage six_here(uint16_t port)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_storage all = {0};

	a.sin6_addr = in6addr_loopback;
	memcpy(&all, &a, sizeof(a));
	return all;
}

static int begin(struct scene *s, const struct sockaddr_storage *at)
{
	struct err_text err;

	memset(s, 0, sizeof(*s));
	s->descriptors = descriptors_open();
	uv_loop_init(&s->loop);
	assert_int_equal(arena_open(&s->arena, 64 << 10), 0);
	assert_int_equal(pending_peers_init(&s->peers, &s->arena, &s->loop, NULL, NULL, 0), 0);
	return listener_open(&s->l, &s->loop, &s->peers, BUFFER, at, 0, 0, &err);
}

static void end(struct scene *s)
{
	listener_close(&s->l);
	listener_close(&s->l); /* has no effect */
	pending_peers_close(&s->peers);
	uv_run(&s->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&s->loop), 0);
	arena_close(&s->arena);
	assert_int_equal(descriptors_open(), s->descriptors);
}

/* The socket of the only connection that was let in, or -1. */
static int held(const struct scene *s)
{
	int fd = -1;

	for (unsigned i = 0; i < PENDING_PLACES; i++)
		if (s->peers.pending_peer[i].used && !s->peers.pending_peer[i].closing) {
			assert_int_equal(fd, -1);
			fd = s->peers.pending_peer[i].io.fd;
		}
	return fd;
}

static int reach(const struct sockaddr_storage *to)
{
	int fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (const struct sockaddr *)to,
		    to->ss_family == AF_INET ? sizeof(struct sockaddr_in)
					     : sizeof(struct sockaddr_in6)) == 0)
		return fd;
	close(fd);
	return -1;
}

static bool hangs_up(int fd, int wait_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char byte;

	return poll(&p, 1, wait_ms) == 1 && recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

/* Those that have hung up are seen to be gone. */
static void leave_all(struct scene *s)
{
	for (int i = 0; i < PATIENCE_MS && held(s) >= 0; i++) {
		uv_run(&s->loop, UV_RUN_NOWAIT);
		poll(NULL, 0, held(s) >= 0);
	}
	assert_int_equal(held(s), -1);
}

/* Connects, and says whether that is let in or closed again. */
static bool is_let_in(struct scene *s, const struct sockaddr_storage *to)
{
	int fd = reach(to);
	bool in = false, out = false;

	assert_true(fd >= 0);
	for (int i = 0; i < PATIENCE_MS && !in && !out; i++) {
		uv_run(&s->loop, UV_RUN_NOWAIT);
		in = held(s) >= 0;
		out = hangs_up(fd, 1);
	}
	assert_true(in != out);
	close(fd);
	leave_all(s);
	return in;
}

static void options_of_a_link(void **state)
{
	const struct {
		int level, option, value;
	} expected[] = {{SOL_SOCKET, SO_SNDBUF, 2 * BUFFER}, /* the kernel doubles both */
			{SOL_SOCKET, SO_RCVBUF, BUFFER},
			{SOL_SOCKET, SO_KEEPALIVE, 1},
			{IPPROTO_TCP, TCP_NODELAY, 1},
			{IPPROTO_TCP, TCP_KEEPIDLE, 4},
			{IPPROTO_TCP, TCP_KEEPINTVL, 2},
			{IPPROTO_TCP, TCP_KEEPCNT, 3},
			{IPPROTO_TCP, TCP_USER_TIMEOUT, LINK_SILENT_MS}};
	struct sockaddr_storage here = four("127.0.0.1", 0);
	struct scene s;
	int fd, in = -1;

	(void)state;
	assert_int_equal(begin(&s, &here), 0);
	assert_true(s.l.port != 0);
	here = four("127.0.0.1", s.l.port);
	fd = reach(&here);
	assert_true(fd >= 0);
	for (int i = 0; i < PATIENCE_MS && in < 0; i++) {
		uv_run(&s.loop, UV_RUN_NOWAIT);
		in = held(&s);
		poll(NULL, 0, in < 0);
	}
	assert_true(in >= 0);
	for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		int value = -1;
		socklen_t length = sizeof(value);

		assert_int_equal(
			getsockopt(in, expected[i].level, expected[i].option, &value, &length), 0);
		assert_int_equal(value, expected[i].value);
	}
	assert_true(fcntl(in, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(in, F_GETFD) & FD_CLOEXEC);
	close(fd);
	end(&s);
}

static void ports(void **state)
{
	const struct sockaddr_storage here = four("127.0.0.1", 0), none = four("192.0.2.1", 0);
	struct err_text err = {{0}};
	char expected[80];
	struct scene s;
	struct listener l;

	(void)state;
	assert_int_equal(begin(&s, &here), 0);
	assert_int_equal(
		listener_open(&l, &s.loop, &s.peers, BUFFER, &here, s.l.port, s.l.port, &err),
		-EADDRINUSE);
	snprintf(expected, sizeof(expected), "port %u is in use", s.l.port);
	assert_non_null(strstr(err.text, expected));
	assert_int_equal(l.fd, -1);
	listener_close(&l);
	assert_int_equal(listener_open(&l, &s.loop, &s.peers, BUFFER, &none, 8100, 8200, &err),
			 -EADDRNOTAVAIL);
	assert_non_null(strstr(err.text, "can't listen on port 8100"));
	end(&s);
}

/* The first free one of several. */
static void port_range(void **state)
{
	const struct sockaddr_storage here = four("127.0.0.1", 0);
	struct err_text err = {{0}};
	struct listener l[4];
	struct scene s;

	(void)state;
	if (!own_network)
		skip();
	assert_int_equal(begin(&s, &here), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(
			listener_open(&l[i], &s.loop, &s.peers, BUFFER, &here, 65533, 65535, &err),
			0);
		assert_int_equal(l[i].port, 65533 + i);
	}
	assert_int_equal(listener_open(&l[3], &s.loop, &s.peers, BUFFER, &here, 65533, 65535, &err),
			 -EADDRINUSE);
	assert_string_equal(err.text, "all ports from 65533 to 65535 are in use");
	for (unsigned i = 0; i < 4; i++)
		listener_close(&l[i]);
	uv_run(&s.loop, UV_RUN_NOWAIT);
	assert_int_equal(listener_open(&l[3], &s.loop, &s.peers, BUFFER, &here, 65533, 65535, &err),
			 0);
	assert_int_equal(l[3].port, 65533); /* it is free again */
	listener_close(&l[3]);
	end(&s);
}

static void all_addresses(void **state)
{
	const struct sockaddr_storage any = {0};
	struct sockaddr_storage to;
	struct scene s;
	int fd;

	(void)state;
	assert_int_equal(begin(&s, &any), 0);
	to = four("127.0.0.1", s.l.port);
	assert_true(is_let_in(&s, &to));
	fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	to = six_here(0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&to, sizeof(struct sockaddr_in6)) == 0) {
		to = six_here(s.l.port);
		assert_true(is_let_in(&s, &to));
	}
	close(fd);
	end(&s);
}

/* How a connection is called in the log. */
static void expect_name(struct scene *s, const struct sockaddr_storage *to)
{
	bool six = to->ss_family == AF_INET6;
	struct sockaddr_storage own;
	socklen_t length = sizeof(own);
	char expected[80];
	int fd = reach(to);

	assert_true(fd >= 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&own, &length), 0);
	snprintf(expected, sizeof(expected), six ? "[::1]:%u" : "127.0.0.1:%u",
		 ntohs(six ? ((struct sockaddr_in6 *)&own)->sin6_port
			   : ((struct sockaddr_in *)&own)->sin_port));
	for (int i = 0; i < PATIENCE_MS && held(s) < 0; i++) {
		uv_run(&s->loop, UV_RUN_NOWAIT);
		poll(NULL, 0, held(s) < 0);
	}
	assert_true(held(s) >= 0);
	for (unsigned i = 0; i < PENDING_PLACES; i++)
		if (s->peers.pending_peer[i].used && !s->peers.pending_peer[i].closing)
			assert_string_equal(s->peers.pending_peer[i].peer, expected);
	close(fd);
	leave_all(s);
}

static void names(void **state)
{
	const struct sockaddr_storage any = {0};
	struct sockaddr_storage to;
	struct scene s;
	int fd;

	(void)state;
	assert_int_equal(begin(&s, &any), 0);
	to = four("127.0.0.1", s.l.port);
	expect_name(&s, &to);
	to = six_here(s.l.port);
	fd = reach(&to);
	if (fd >= 0) {
		close(fd);
		uv_run(&s.loop, UV_RUN_NOWAIT);
		leave_all(&s);
		expect_name(&s, &to);
	}
	end(&s);
}

/* A socket that somebody else has opened, by IPv4 or IPv6. */
static void adopted(void **state)
{
	const struct sockaddr_storage at[] = {four("127.0.0.1", 0), six_here(0)};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		socklen_t length = i ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
		struct sockaddr_storage bound = at[i];
		struct scene s;
		int fd;

		assert_int_equal(begin(&s, &at[0]), 0);
		listener_close(&s.l);
		uv_run(&s.loop, UV_RUN_NOWAIT);
		fd = socket(at[i].ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0 || bind(fd, (struct sockaddr *)&bound, length) || listen(fd, 4)) {
			close(fd);
			end(&s);
			continue; /* there is no IPv6 */
		}
		assert_int_equal(getsockname(fd, (struct sockaddr *)&bound, &length), 0);
		assert_int_equal(listener_adopt(&s.l, &s.loop, &s.peers, BUFFER, fd), 0);
		assert_int_equal(s.l.port, ntohs(((struct sockaddr_in *)&bound)->sin_port));
		assert_int_equal(s.l.fd, fd);
		assert_false(s.l.paused);
		assert_true(is_let_in(&s, &bound));
		end(&s);
	}
}

/* What can't be watched is refused, and nothing is left behind. */
static void not_to_be_adopted(void **state)
{
	struct sockaddr_storage here = four("127.0.0.1", 0);
	struct scene s;

	(void)state;
	assert_int_equal(begin(&s, &here), 0);
	listener_close(&s.l);
	uv_run(&s.loop, UV_RUN_NOWAIT);
	assert_int_equal(listener_adopt(&s.l, &s.loop, &s.peers, BUFFER, 10000), -EBADF);
	s.l.fd = -1;
	end(&s);
}

/* A flood waits in the kernel up to the next tick. */
static void paused(void **state)
{
	struct sockaddr_storage here = four("127.0.0.1", 0);
	struct scene s;
	int fd = -1;

	(void)state;
	assert_int_equal(begin(&s, &here), 0);
	here = four("127.0.0.1", s.l.port);
	listener_tick(&s.l);
	assert_true(is_let_in(&s, &here));
	for (int i = 0; i < 100 && !s.l.paused; i++) { /* again if a new token came in between */
		struct pollfd comes = {.fd = s.l.fd, .events = POLLIN};

		close(fd);
		leave_all(&s);
		fd = reach(&here);
		assert_int_equal(poll(&comes, 1, PATIENCE_MS), 1);
		uv_update_time(&s.loop);
		s.peers.strangers.tokens = 0;
		s.peers.strangers.filled_ms = uv_now(&s.loop);
		uv_run(&s.loop, UV_RUN_NOWAIT);
	}
	assert_true(s.l.paused);
	assert_false(uv_is_active((uv_handle_t *)&s.l.poll));
	assert_int_equal(held(&s), -1);
	close(fd);
	s.peers.strangers = (struct strangers){0};
	listener_tick(&s.l);
	assert_true(uv_is_active((uv_handle_t *)&s.l.poll));
	for (int i = 0; i < 20; i++) /* it has gone since */
		uv_run(&s.loop, UV_RUN_NOWAIT);
	assert_true(is_let_in(&s, &here));
	end(&s);
}

/* Where --collector names a host, and where --interface names an interface. */
static void unwanted(void **state)
{
	struct sockaddr_storage here = four("127.0.0.1", 0);
	struct dialer only = {.addresses = 0};
	struct scene s;

	(void)state;
	assert_int_equal(begin(&s, &here), 0);
	here = four("127.0.0.1", s.l.port);
	s.l.only = &only;
	assert_true(is_let_in(&s, &here)); /* it names none */
	strncpy(only.list, "desk", sizeof(only.list));
	assert_false(is_let_in(&s, &here)); /* whose addresses are not known yet */
	only.address[0].at = four("127.0.0.2", 8100);
	only.addresses = 1;
	assert_false(is_let_in(&s, &here));
	only.address[0].at = four("127.0.0.1", 1);
	assert_true(is_let_in(&s, &here));
	only.address[0].at = four("127.0.0.2", 8100);
	only.address[1].at = four("127.0.0.1", 8100);
	assert_false(is_let_in(&s, &here));
	only.addresses = 2;
	assert_true(is_let_in(&s, &here));
	s.l.only = NULL;
	assert_true(is_let_in(&s, &here));
	s.l.interface = "no-such-one";
	assert_false(is_let_in(&s, &here));
	s.l.interface = "lo";
	assert_true(is_let_in(&s, &here));
	end(&s);
}

/* Why somebody was turned away is said once for each address, with its name. */
static void told_why(void **state)
{
	struct sockaddr_storage here = four("127.0.0.1", 0);
	char path[] = "/tmp/heapcast-test-XXXXXX", text[4000];
	struct dialer only = {.addresses = 0};
	int file = mkstemp(path);
	struct scene s;
	ssize_t n;

	(void)state;
	assert_true(file >= 0);
	assert_int_equal(log_open("info", path), 0);
	assert_int_equal(begin(&s, &here), 0);
	here = four("127.0.0.1", s.l.port);
	strncpy(only.list, "desk", sizeof(only.list));
	s.l.only = &only;
	assert_false(is_let_in(&s, &here));
	assert_false(is_let_in(&s, &here));
	end(&s);
	log_open("error", NULL);
	n = read(file, text, sizeof(text) - 1);
	close(file);
	unlink(path);
	assert_true(n > 0);
	text[n] = '\0';
	assert_non_null(strstr(text, "info  turned 127.0.0.1:"));
	assert_non_null(strstr(text, ": --collector names desk, and this agent serves no other\n"));
	assert_ptr_equal(strchr(text, '\n'), text + n - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_of_a_link),
		cmocka_unit_test(ports),
		cmocka_unit_test(port_range),
		cmocka_unit_test(all_addresses),
		cmocka_unit_test(names),
		cmocka_unit_test(adopted),
		cmocka_unit_test(not_to_be_adopted),
		cmocka_unit_test(told_why),
		cmocka_unit_test(paused),
		cmocka_unit_test(unwanted),
	};
	uv_loop_t first;

	own_network = own_network_enter();
	if (own_network) { /* sockets for IPv6 are for IPv6 alone, unless they say otherwise */
		int fd = open("/proc/sys/net/ipv6/bindv6only", O_WRONLY | O_CLOEXEC);

		assert_true(fd < 0 || write(fd, "1", 1) != 0);
		if (fd >= 0)
			close(fd);
	}
	uv_loop_init(&first); /* libuv keeps a pipe from here on */
	uv_loop_close(&first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
