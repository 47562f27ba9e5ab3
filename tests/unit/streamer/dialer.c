/*
 * The agent dials a collector: until it answers, and again when it is gone. A collector whose name
 * has several addresses is tried at each of them.
 */
#include "tests/unit/streamer/dialer_scene.h"

#include <netinet/tcp.h>
#include <sys/resource.h>

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

/* Which of these collectors the dialer calls next, and hangs up there; its address is 127.0.0.2 and
 * so on. */
static unsigned called(const int *at, unsigned count)
{
	unsigned who = count;
	char address[64];
	int fd = -1;

	UNTIL(who < count || ({
		      for (unsigned i = 0; i < count && fd < 0; i++)
			      if ((fd = taken(at[i])) >= 0)
				      who = i;
		      who < count;
	      }));
	UNTIL(!link_free(&s.link[1]));
	snprintf(address, sizeof(address), "127.0.0.%u", 2 + who);
	assert_string_equal(s.link[1].address, address);
	close(fd);
	UNTIL(link_free(&s.link[1]));
	return who;
}

/* A name with several addresses: each attempt takes the next one, in an order of the agent's own,
 * and all count as the collector's, up to sixteen. */
static void several_addresses(void **state)
{
	enum { MOST = DIAL_ADDRESSES + 2 };
	const unsigned counts[] = {1, 3, DIAL_ADDRESSES, MOST};
	unsigned order[MOST];
	int at[MOST];
	uint16_t port = 0;

	(void)state;
	for (unsigned i = 0; i < MOST; i++)
		at[i] = desk_at(2 + i, 8, &port);
	for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		unsigned count = counts[k] < DIAL_ADDRESSES ? counts[k] : DIAL_ADDRESSES;
		uint32_t seen = 0;

		if (!name_desk(2, counts[k]))
			skip();
		begin(NULL);
		dial_to("desk", port);
		for (unsigned i = 0; i < 2 * count; i++) {
			unsigned who = called(at, MOST);

			assert_int_equal(d.addresses, count);
			assert_int_equal(dialer_chooses(&d), count > 1);
			if (i < count)
				order[i] = who;
			assert_int_equal(who, order[i % count]);
			seen |= 1u << who;
		}
		assert_int_equal(__builtin_popcount(seen), count);
		for (unsigned i = 0; i < d.addresses; i++) {
			const struct sockaddr_in *a = (const struct sockaddr_in *)&d.address[i].at;

			assert_int_equal(a->sin_family, AF_INET);
			assert_int_equal(ntohl(a->sin_addr.s_addr), 0x7f000002 + order[i]);
			assert_true(dialer_knows(&d, &d.address[i].at));
			assert_true(!i || d.address[i].weight < d.address[i - 1].weight);
		}
		dialer_end();
		umount("/etc/hosts");
	}
	for (unsigned i = 0; i < MOST; i++)
		close(at[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF_DIALER(connects),
		TEST_OF_DIALER(connects_by_six),
		TEST_OF_DIALER(refused),
		TEST_OF_DIALER(not_to_be_reached),
		TEST_OF_DIALER(no_descriptor_left),
		TEST_OF_DIALER(no_answer),
		TEST_OF_DIALER(several_addresses),
	};

	dialer_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
