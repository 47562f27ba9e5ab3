/*
 * The connections of pairing: what is told of each that ends, how long one may take, who gives way,
 * and that nothing of it stays open. Time is what the test says. The two sides are in one program.
 */
#include "proto/pairing_places.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/secure/pair_code.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/emulated.h"
#include "tests/unit/own_network.h"
#include "tests/unit/temporary.h"

#define START 1000000

struct side {
	char folder[128];
	struct secret code;
	struct secure *secure;
	struct pairing_options options;
	struct pairing_places places;
	char told[2000]; /* a line for each event */
};

static struct side agent, collector;
static unsigned descriptors;
static uint64_t now;

/* ---- two sides ---- */

static void note(void *context, const struct pairing_event *e)
{
	static const char *const kinds[] = {
		[PAIRING_LISTENS] = "listens", [PAIRING_MADE] = "made",
		[PAIRING_UNSURE] = "unsure",   [PAIRING_TROUBLE] = "trouble",
		[PAIRING_WAITS] = "waits",
	};
	struct side *s = context;
	size_t used = strlen(s->told);

	snprintf(s->told + used, sizeof(s->told) - used, "%s %s %s %s: %s\n", kinds[e->kind],
		 e->name ? e->name : "-", e->host ? e->host : "-", e->address ? e->address : "-",
		 e->text ? e->text : "-");
}

static void expect_told(struct side *s, const char *expected)
{
	assert_string_equal(s->told, expected);
	*s->told = '\0';
}

static void side_open(struct side *s, const char *name, const char *code)
{
	struct secure_options tls = {.secrets = &s->code, .secret_count = 1, .paired = true};
	char host[sizeof(s->places.share.host)];

	memset(s, 0, sizeof(*s));
	snprintf(s->folder, sizeof(s->folder), "%s/%s", temporary_folder, name);
	assert_int_equal(pair_code_secret(code, strlen(code), &s->code, NULL), 0);
	assert_int_equal(secure_open(&tls, &s->secure, NULL), 0);
	s->options = (struct pairing_options){.agent = s == &agent,
					      .code = &s->code,
					      .folder = s->folder,
					      .uses = 2,
					      .event = note,
					      .context = s};
	pairing_places_init(&s->places, s->secure, &s->options);
	assert_int_equal(gethostname(host, sizeof(host)), 0);
	assert_string_equal(s->places.share.host, host);
	snprintf(s->places.share.host, sizeof(s->places.share.host), "%s", name);
}

static void open_both(const char *code)
{
	now = START;
	descriptors = descriptors_open();
	side_open(&agent, "board", code);
	side_open(&collector, "desk", "ABCDEFGHIJKLMNOPQRSTUVWXYA");
}

static void close_both(void)
{
	struct side *const sides[] = {&agent, &collector};

	for (unsigned i = 0; i < 2; i++) {
		pairing_places_done(&sides[i]->places);
		secure_close(sides[i]->secure);
	}
	assert_int_equal(descriptors_open(), descriptors);
}

static unsigned in_use(const struct side *s)
{
	unsigned count = 0;

	for (unsigned i = 0; i < PAIRING_PLACES; i++)
		count += s->places.place[i].fd >= 0;
	return count;
}

/* Works on whatever is there, once. False if there was nothing. */
static bool turn(struct side *s)
{
	struct pollfd polls[PAIRING_PLACES];
	int n;

	pairing_places_poll(&s->places, polls);
	n = poll(polls, PAIRING_PLACES, 0);
	errno = EAGAIN; /* of something long ago */
	pairing_places_work(&s->places, polls, now);
	return n > 0;
}

static void turn_both(void)
{
	for (unsigned quiet = 0; quiet < 3;) {
		bool any = turn(&agent);

		any |= turn(&collector);
		quiet = any ? 0 : quiet + 1;
	}
}

static void pass(struct side *s, uint64_t ms)
{
	now += ms;
	turn(s);
}

static struct sockaddr_storage from_address(const char *text)
{
	struct sockaddr_storage at = {.ss_family = AF_INET};

	assert_int_equal(inet_pton(AF_INET, text, &((struct sockaddr_in *)&at)->sin_addr), 1);
	return at;
}

static int spare_socket(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* A stranger's end of a connection that the side has accepted from this address. */
static int stranger_at(struct side *s, const char *address)
{
	struct sockaddr_storage from = from_address(address);
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
			 0);
	pairing_places_accept(&s->places, fds[0], &from, now);
	return fds[1];
}

static bool is_closed(int fd)
{
	char c;

	return recv(fd, &c, 1, MSG_PEEK) == 0;
}

static int listener_open(int family, struct sockaddr_storage *ret)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t length = sizeof(*ret);

	*ret = (struct sockaddr_storage){.ss_family = (sa_family_t)family};
	if (family == AF_INET)
		((struct sockaddr_in *)ret)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)ret)->sin6_addr = in6addr_loopback;
	assert_int_equal(
		bind(fd, (struct sockaddr *)ret,
		     family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)),
		0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)ret, &length), 0);
	return fd;
}

/*
 * The agent dials, and the collector accepts. A pair of sockets takes the place of the connection:
 * what one says is there for the other at once, however busy the machine is.
 */
static void dial(int family)
{
	struct sockaddr_storage at;
	int listener = listener_open(family, &at), fds[2];

	assert_int_equal(pairing_places_dial(&agent.places, &at, now), 0);
	assert_true(pairing_places_dialling(&agent.places));
	assert_false(pairing_places_busy(&agent.places));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
			 0);
	assert_int_equal(in_use(&agent), 1);
	assert_int_equal(dup3(fds[0], agent.places.place[0].fd, O_CLOEXEC),
			 agent.places.place[0].fd);
	close(fds[0]);
	pairing_places_accept(&collector.places, fds[1], &at, now);
	close(listener);
}

/* ---- pairing ---- */

static void two_are_paired(void **state)
{
	static const int families[] = {AF_INET, AF_INET6};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		char made[200];

		open_both("abcde-fghij-klmno-pqrst-uvwxy-a");
		dial(families[i]);
		assert_false(pairing_places_dialling(&collector.places));
		turn_both();
		snprintf(made, sizeof(made), "made desk%s desk %s: -\n", i ? "-2" : "",
			 i ? "::1" : "127.0.0.1");
		expect_told(&agent, made);
		snprintf(made, sizeof(made), "made board%s board %s: -\n", i ? "-2" : "",
			 i ? "::1" : "127.0.0.1");
		expect_told(&collector, made);
		assert_int_equal(in_use(&agent) + in_use(&collector), 0);
		assert_false(pairing_places_busy(&agent.places));
		assert_false(pairing_places_dialling(&agent.places));
		assert_int_equal(agent.places.share.kept, 1);
		assert_int_equal(collector.places.share.kept, 1);
		assert_int_equal(collector.places.share.uses, 1);
		assert_string_equal(agent.places.last.text, "");
		close_both();
		expect_told(&agent, "");
	}
}

static void hosts_have_names(void **state)
{
	char host[PAIRING_HOST_MAX] = "";

	(void)state;
	open_both("ABCDEFGHIJKLMNOPQRSTUVWXYA");
	gethostname(host, sizeof(host) - 1);
	pairing_places_init(&agent.places, agent.secure, &agent.options);
	assert_string_equal(agent.places.share.host, host);
	assert_int_equal(agent.places.share.uses, 2);
	assert_ptr_equal(agent.places.share.options, &agent.options);
	close_both();
}

static void another_code_is_told(void **state)
{
	(void)state;
	open_both("BBCDEFGHIJKLMNOPQRSTUVWXYA");
	dial(AF_INET);
	turn_both();
	expect_told(&agent, "trouble - - 127.0.0.1: it does not have this code\n");
	expect_told(&collector, "trouble - - 127.0.0.1: it does not have this code\n");
	assert_string_equal(collector.places.last.text, "it does not have this code");
	/* Of strangers one is told of a minute; of those that were dialled, each. */
	dial(AF_INET);
	turn_both();
	expect_told(&agent, "trouble - - 127.0.0.1: it does not have this code\n");
	expect_told(&collector, "");
	now += STRANGERS_TOLD_MS;
	dial(AF_INET);
	turn_both();
	expect_told(&collector, "trouble - - 127.0.0.1: it does not have this code\n");
	assert_int_equal(in_use(&agent) + in_use(&collector), 0);
	close_both();
}

/* Where one breaks off decides what the other keeps. */
static void breaking_off_is_told(void **state)
{
	(void)state;
	for (unsigned turns = 0; turns < 20; turns++) {
		bool agent_has, collector_has;

		open_both("ABCDEFGHIJKLMNOPQRSTUVWXYA");
		dial(AF_INET);
		for (unsigned i = 0; i < turns; i++)
			turn(i % 2 ? &collector : &agent);
		agent_has = agent.places.share.kept;
		collector_has = collector.places.share.kept;
		assert_true(!agent_has || collector_has);
		pairing_places_done(&agent.places);
		if (!agent_has)
			expect_told(&agent, "trouble - - 127.0.0.1: it was stopped\n");
		else
			assert_memory_equal(agent.told, "made desk", 9);
		for (unsigned i = 0; i < 20; i++)
			turn(&collector);
		assert_int_equal(in_use(&collector), 0);
		collector_has = collector.places.share.kept;
		if (agent_has)
			assert_memory_equal(collector.told, "made board", 10);
		else if (collector_has)
			assert_memory_equal(collector.told, "unsure board", 12);
		else
			assert_memory_equal(collector.told, "trouble - - 127.0.0.1: ", 23);
		close_both();
		temporary_teardown(NULL);
		temporary_setup(NULL);
	}
}

/* ---- strangers ---- */

static void other_protocols_are_refused(void **state)
{
	int fd;

	(void)state;
	open_both("ABCDEFGHIJKLMNOPQRSTUVWXYA");
	fd = stranger_at(&collector, "10.0.0.1");
	assert_int_equal(send(fd, "GET", 3, MSG_NOSIGNAL), 3);
	turn(&collector);
	assert_true(is_closed(fd));
	close(fd);
	expect_told(&collector, "trouble - - 10.0.0.1: it speaks no TLS\n");
	/* Whatever comes later is judged by TLS. */
	fd = stranger_at(&collector, "10.0.0.2");
	assert_int_equal(send(fd, "\x16", 1, MSG_NOSIGNAL), 1);
	turn(&collector);
	assert_int_equal(in_use(&collector), 1);
	assert_int_equal(send(fd, "GET", 3, MSG_NOSIGNAL), 3);
	turn(&collector);
	close(fd);
	fd = stranger_at(&collector, "10.0.0.3");
	close(fd);
	turn(&collector);
	assert_non_null(strstr(collector.told, "trouble - - 10.0.0.3: it closed the connection\n"));
	close_both();
}

/* A record of a handshake that never ends. */
static void long_handshakes_are_refused(void **state)
{
	uint8_t bytes[SECURE_SHAKE_BYTES] = {22, 3, 1, 0x40, 0, 1, 0, 0xff, 0};
	int fd;

	(void)state;
	open_both("ABCDEFGHIJKLMNOPQRSTUVWXYA");
	fd = stranger_at(&collector, "10.0.0.1");
	for (size_t sent = 0; sent < sizeof(bytes); sent += PAIRING_RAW) {
		assert_int_equal(send(fd, bytes + sent, PAIRING_RAW, MSG_NOSIGNAL), PAIRING_RAW);
		turn(&collector);
	}
	assert_int_equal(in_use(&collector), 1);
	assert_int_equal(collector.places.place[0].came, SECURE_SHAKE_BYTES);
	expect_told(&collector, "");
	assert_int_equal(send(fd, bytes + 9, 1, MSG_NOSIGNAL), 1);
	turn(&collector);
	expect_told(&collector, "trouble - - 10.0.0.1: its handshake is too long\n");
	assert_true(is_closed(fd));
	close(fd);
	close_both();
}

static void time_is_limited(void **state)
{
	struct sockaddr_storage at;
	int fd, listener;

	(void)state;
	open_both("ABCDEFGHIJKLMNOPQRSTUVWXYA");
	fd = stranger_at(&collector, "10.0.0.1");
	pass(&collector, STRANGERS_SHAKE_MS);
	assert_int_equal(in_use(&collector), 1);
	pass(&collector, 1);
	expect_told(&collector, "trouble - - 10.0.0.1: it did not go on in time\n");
	assert_true(is_closed(fd));
	close(fd);
	/* One that does not even answer. */
	listener = listener_open(AF_INET, &at);
	assert_int_equal(pairing_places_dial(&agent.places, &at, now), 0);
	now += STRANGERS_SHAKE_MS + 1;
	pairing_places_work(&agent.places, (struct pollfd[PAIRING_PLACES]){{0}}, now);
	expect_told(&agent, "trouble - - 127.0.0.1: no answer in time\n");
	close(listener);
	/* Those who have the code get more of it. */
	dial(AF_INET);
	for (unsigned i = 0; i < 10 && !pairing_places_busy(&collector.places); i++) {
		turn(&agent);
		turn(&collector);
	}
	assert_true(pairing_places_busy(&collector.places));
	assert_int_equal(collector.places.share.kept, 0);
	pass(&collector, PAIRING_TALK_MS);
	assert_int_equal(in_use(&collector), 1);
	pass(&collector, 1);
	assert_int_equal(in_use(&collector), 0);
	close_both();
}

/* A peer that has said everything and does not close. */
static void ends_are_waited_for(void **state)
{
	struct pairing_place *p = &agent.places.place[0];

	(void)state;
	open_both("ABCDEFGHIJKLMNOPQRSTUVWXYA");
	dial(AF_INET);
	for (unsigned i = 0; i < 20 && !p->leaving; i++) {
		turn(&collector);
		turn(&agent);
	}
	assert_true(p->leaving && p->talk.confirmed);
	expect_told(&agent, "");
	pass(&agent, PAIRING_TALK_MS + 1);
	expect_told(&agent, "made desk desk 127.0.0.1: -\n");
	close_both();
}

/* ---- room ---- */

static void an_address_has_four_places(void **state)
{
	int fd[PAIRING_PLACES + 2];

	(void)state;
	open_both("ABCDEFGHIJKLMNOPQRSTUVWXYA");
	for (unsigned i = 0; i < PAIRING_EACH; i++, now++)
		fd[i] = stranger_at(&collector, "10.0.0.1");
	assert_int_equal(in_use(&collector), PAIRING_EACH);
	fd[4] = stranger_at(&collector, "10.0.0.1");
	assert_int_equal(in_use(&collector), PAIRING_EACH);
	expect_told(&collector, "trouble - - 10.0.0.1: it has not said who it is, and others want "
				"its place\n");
	assert_true(is_closed(fd[0]));
	assert_false(is_closed(fd[1]));
	for (unsigned i = 5; i < 9; i++, now++)
		fd[i] = stranger_at(&collector, "10.0.0.2");
	assert_int_equal(in_use(&collector), PAIRING_PLACES);
	expect_told(&collector, "");
	fd[9] = stranger_at(&collector, "10.0.0.3");
	assert_int_equal(in_use(&collector), PAIRING_PLACES);
	assert_true(is_closed(fd[1]));
	assert_false(is_closed(fd[9]));
	for (unsigned i = 0; i < 10; i++)
		close(fd[i]);
	close_both();
}

/* Those who were dialled, or have the code, give way to nobody. */
static void known_ones_stay(void **state)
{
	struct sockaddr_storage at, from = from_address("10.0.0.9");
	int fd, listener;

	(void)state;
	open_both("ABCDEFGHIJKLMNOPQRSTUVWXYA");
	listener = listener_open(AF_INET, &at);
	for (unsigned i = 0; i < PAIRING_PLACES; i++) {
		assert_int_equal(in_use(&agent), i);
		assert_int_equal(pairing_places_dial(&agent.places, &at, now), 0);
	}
	assert_int_equal(pairing_places_dial(&agent.places, &at, now), -EBUSY);
	fd = spare_socket();
	pairing_places_accept(&agent.places, fd, &from, now);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(in_use(&agent), PAIRING_PLACES);
	expect_told(&agent, "");
	/* One stranger among them is let go for another. */
	agent.places.place[3].dialled = false;
	fd = spare_socket();
	pairing_places_accept(&agent.places, fd, &from, now);
	assert_int_equal(agent.places.place[3].fd, fd);
	expect_told(&agent, "trouble - - 127.0.0.1: it has not said who it is, and others want its "
			    "place\n");
	agent.places.place[3].shaken = true;
	pairing_places_accept(&agent.places, spare_socket(), &from, now);
	assert_int_equal(agent.places.place[3].fd, fd);
	assert_true(pairing_places_busy(&agent.places));
	close(listener);
	close_both();
}

static void dialling_can_fail(void **state)
{
	struct sockaddr_storage at = from_address("10.9.9.9"), closed, unix_address = {0};

	(void)state;
	SKIP_EMULATED_IF(emulated_mistells_errors(), MISTELLS_ERRORS);
	open_both("ABCDEFGHIJKLMNOPQRSTUVWXYA");
	assert_int_equal(pairing_places_dial(&agent.places, &at, now), -ENETUNREACH);
	assert_int_equal(pairing_places_dial(&agent.places, &unix_address, now), -EAFNOSUPPORT);
	assert_int_equal(in_use(&agent), 0);
	close(listener_open(AF_INET, &closed));
	assert_int_equal(pairing_places_dial(&agent.places, &closed, now), 0);
	poll(&(struct pollfd){.fd = agent.places.place[0].fd, .events = POLLOUT}, 1, 5000);
	turn(&agent);
	expect_told(&agent, "trouble - - 127.0.0.1: Connection refused\n");
	assert_int_equal(in_use(&agent), 0);
	assert_false(pairing_places_dialling(&agent.places));
	close_both();
}

/* ---- what is waited for ---- */

static void polls_are_exact(void **state)
{
	struct pollfd polls[PAIRING_PLACES];
	struct sockaddr_storage at;
	int listener;

	(void)state;
	open_both("ABCDEFGHIJKLMNOPQRSTUVWXYA");
	listener = listener_open(AF_INET, &at);
	pairing_places_poll(&agent.places, polls);
	for (unsigned i = 0; i < PAIRING_PLACES; i++)
		assert_int_equal(polls[i].fd, -1);
	assert_int_equal(pairing_places_dial(&agent.places, &at, now), 0);
	pairing_places_poll(&agent.places, polls);
	assert_int_equal(polls[0].fd, agent.places.place[0].fd);
	assert_int_equal(polls[0].events, POLLOUT);
	assert_int_equal(polls[1].fd, -1);
	turn(&agent); /* it says its hello */
	pairing_places_poll(&agent.places, polls);
	assert_int_equal(polls[0].events, POLLIN);
	/* An answer that the descriptor's predecessor got counts for nothing. */
	polls[0].fd += 100;
	polls[0].revents = POLLERR | POLLHUP;
	pairing_places_work(&agent.places, polls, now);
	assert_int_equal(in_use(&agent), 1);
	close(listener);
	close_both();
}

/* Through a socket that takes little at a time. */
static void narrow_sockets_serve(void **state)
{
	struct sockaddr_storage at, from = {0};
	socklen_t length = sizeof(from);
	int listener, small = 1, fd;
	char filler[4096] = {0};
	struct pollfd polls[PAIRING_PLACES];

	(void)state;
	open_both("ABCDEFGHIJKLMNOPQRSTUVWXYA");
	listener = listener_open(AF_INET, &at);
	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(pairing_places_dial(&agent.places, &at, now), 0);
	setsockopt(agent.places.place[0].fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	fd = accept4(listener, (struct sockaddr *)&from, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
	while (send(agent.places.place[0].fd, filler, sizeof(filler), MSG_NOSIGNAL) > 0)
		;
	turn(&agent); /* connected, and no room for its hello */
	pairing_places_work(&agent.places,
			    (struct pollfd[PAIRING_PLACES]){
				    {.fd = agent.places.place[0].fd, .revents = POLLOUT}},
			    now);
	assert_int_equal(in_use(&agent), 1);
	pairing_places_poll(&agent.places, polls);
	assert_int_equal(polls[0].events, POLLIN | POLLOUT);
	close(fd);
	close(listener);
	close_both();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(two_are_paired),
		TEST_IN_FOLDER(hosts_have_names),
		TEST_IN_FOLDER(another_code_is_told),
		TEST_IN_FOLDER(breaking_off_is_told),
		TEST_IN_FOLDER(other_protocols_are_refused),
		TEST_IN_FOLDER(long_handshakes_are_refused),
		TEST_IN_FOLDER(time_is_limited),
		TEST_IN_FOLDER(ends_are_waited_for),
		TEST_IN_FOLDER(an_address_has_four_places),
		TEST_IN_FOLDER(known_ones_stay),
		TEST_IN_FOLDER(dialling_can_fail),
		TEST_IN_FOLDER(polls_are_exact),
		TEST_IN_FOLDER(narrow_sockets_serve),
	};
	struct secret code;

	if (pair_code_secret("ABCDEFGHIJKLMNOPQRSTUVWXYA", 26, &code, NULL) < 0) {
		puts("SKIPPED: this build has no OpenSSL");
		return 77;
	}
	if (!own_network_enter()) {
		puts("SKIPPED: this system gives no network namespace");
		return 77;
	}
	close(STDIN_FILENO); /* the first descriptor is 0, and that is one, too */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
