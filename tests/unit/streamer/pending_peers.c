/*
 * Connections that have not said yet who they are: what lets them in, what they are told before,
 * who has to go for whom, and how long they may take. Without a key; pending_tls.c has those with
 * one.
 */
#include "tests/unit/streamer/pending.h"
#include "tests/unit/logged.h"

/* Whoever has said a whole hello gets a link, and is told nothing before. */
static void test_greeting(void **state)
{
	struct stranger_address from;
	uint8_t out[1000];
	uint64_t before;
	size_t length;
	int fd;

	(void)state;
	begin(NULL);
	before = uv_now(&s.loop);
	fd = come_from(1);
	length = greeting(out);
	for (size_t i = 0; i < length; i++) {
		assert_int_equal(places_taken(), 1);
		assert_int_equal(links_taken(), 0);
		assert_true(is_open(fd));
		assert_int_equal(send(fd, out + i, 1, MSG_NOSIGNAL), 1);
		turn();
	}
	assert_int_equal(places_taken(), 0);
	assert_int_equal(links_taken(), 1);
	assert_int_equal(s.welcomes, 1);
	assert_false(s.proved);
	assert_string_equal(s.link[0].peer, "host 1");
	from = origin(1);
	assert_memory_equal(&s.peers.holder[0].from, &from, sizeof(from));
	assert_true(s.peers.holder[0].since_ms >= before);
	assert_true(s.peers.holder[0].since_ms <= uv_now(&s.loop));
	expect_linked(fd);
	close(fd);
	turn();
	assert_int_equal(links_taken(), 0);
	fd = come_from(2);
	close(fd); /* before it has said anything */
	turn();
	assert_int_equal(places_taken(), 0);
	fd = come_from(2);
	greet(fd);
	expect_linked(fd);
	close(fd);
	end();
}

/* A frame's head that promises `content` bytes of a block that is stored as it is. */
static void promise(int fd, uint32_t content)
{
	uint8_t out[1000], head[19];
	uint32_t block = 0x80000000u | content;

	greeting(out);
	memcpy(head, out, 15); /* the checksum of the head is not looked at before the end */
	for (int i = 0; i < 4; i++)
		head[15 + i] = (uint8_t)(block >> 8 * i);
	assert_int_equal(send(fd, head, sizeof(head), MSG_NOSIGNAL), sizeof(head));
	turn();
}

static void test_no_greeting(void **state)
{
	int fd;

	(void)state;
	begin(NULL);
	fd = come_from(1);
	assert_int_equal(send(fd, "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL), 16);
	turn();
	expect_closed(fd);
	fd = come_from(1);
	assert_int_equal(send(fd, "\x16\x03\x01\x02\x00\x01", 6, MSG_NOSIGNAL), 6); /* TLS */
	turn();
	expect_refusal(fd);
	assert_int_equal(places_taken(), 0);
	fd = come_from(1); /* 8 more bytes are behind a block: its successor's, and a checksum */
	promise(fd, LINK_RAW - 19 - 4);
	assert_true(is_open(fd));
	close(fd);
	turn();
	fd = come_from(1);
	promise(fd, LINK_RAW - 19 + 1);
	expect_closed(fd);
	assert_int_equal(places_taken(), 0);
	assert_int_equal(links_taken(), 0);
	end();
}

/* There are few places, and few for one address: the oldest goes. */
static void test_places(void **state)
{
	int fd[PENDING_PEERS_MAX + 2];

	(void)state;
	begin(NULL);
	for (unsigned i = 0; i < PENDING_PEERS_EACH; i++) {
		fd[i] = come_from(1);
		s.peers.pending_peer[i].who.since_ms = 100 - i;
	}
	for (unsigned i = 0; i < PENDING_PEERS_EACH; i++)
		assert_true(is_open(fd[i]));
	fd[4] = come_from(1);
	expect_closed(fd[3]); /* the one that has been there longest */
	assert_int_equal(places_taken(), PENDING_PEERS_EACH);
	fd[3] = come_from(2);
	for (unsigned i = 5; i < PENDING_PEERS_MAX; i++)
		fd[i] = come_from(i);
	assert_int_equal(places_taken(), PENDING_PEERS_MAX);
	for (unsigned i = 0; i < PENDING_PEERS_MAX; i++)
		assert_true(is_open(fd[i]));
	fd[8] = come_from(9);
	expect_closed(fd[2]);
	assert_int_equal(places_taken(), PENDING_PEERS_MAX);
	fd[2] = come_from(10);
	expect_closed(fd[1]);
	close(fd[0]);
	for (unsigned i = 2; i < 9; i++)
		close(fd[i]);
	turn();
	assert_int_equal(places_taken(), 0);
	end();
}

/* While none of those that go is gone yet, nobody else can come. */
static void test_no_place(void **state)
{
	struct sockaddr_in a = host_at(1);
	unsigned came = 0;
	int pair[PENDING_PLACES + 2][2];

	(void)state;
	begin(NULL);
	for (unsigned i = 0; i < PENDING_PLACES + 2; i++) {
		assert_int_equal(
			socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair[i]),
			0);
		pending_peers_accept(&s.peers, pair[i][0], (const struct sockaddr *)&a, "host");
	}
	assert_int_equal(places_taken(), PENDING_PLACES - 1);
	assert_false(s.peers.pending_peer[PENDING_DIALLED].used);
	turn();
	for (unsigned i = 0; i < PENDING_PLACES + 2; i++) {
		came += is_open(pair[i][1]);
		close(pair[i][1]);
	}
	assert_int_equal(came, places_taken());
	assert_true(came > 0 && came <= PENDING_PEERS_EACH);
	turn();
	assert_int_equal(places_taken(), 0);
	end();
}

static void test_time(void **state)
{
	uint64_t now;
	int fd;

	(void)state;
	begin(NULL);
	pending_peers_tick(&s.peers);
	fd = come_from(1);
	now = uv_now(&s.loop);
	assert_true(now - s.peers.pending_peer[0].who.since_ms < STRANGERS_SHAKE_MS);
	s.peers.pending_peer[0].who.since_ms = now - STRANGERS_SHAKE_MS;
	pending_peers_tick(&s.peers);
	assert_true(is_open(fd));
	s.peers.pending_peer[0].who.since_ms = now - STRANGERS_SHAKE_MS - 1;
	pending_peers_tick(&s.peers);
	pending_peers_tick(&s.peers); /* it is being closed */
	expect_closed(fd);
	turn();
	assert_int_equal(places_taken(), 0);
	fd = come_from(2);
	pending_peers_close(&s.peers); /* who is still there in the end is let go */
	expect_closed(fd);
	end();
}

/* Three links of these hosts, of these ages. */
static void take_links(int fd[LINKS], const unsigned host[LINKS], const uint64_t since_ms[LINKS])
{
	for (int i = 0; i < LINKS; i++) {
		fd[i] = come_from(host[i]);
		greet(fd[i]);
		expect_linked(fd[i]);
		s.peers.holder[i].since_ms = since_ms[i];
	}
	assert_int_equal(links_taken(), LINKS);
}

static void leave_links(int fd[LINKS])
{
	for (int i = 0; i < LINKS; i++)
		close(fd[i]);
	turn();
	assert_int_equal(links_taken(), 0);
	assert_int_equal(places_taken(), 0);
}

/* Links that are shared fairly stay, and who has most of them gives one away. */
static void test_fair(void **state)
{
	static const uint64_t age[LINKS] = {1, 2, 3};
	int fd[LINKS], late;

	(void)state;
	begin(NULL);
	take_links(fd, (const unsigned[]){1, 2, 3}, age);
	late = come_from(4);
	greet(late);
	expect_closed(late);
	leave_links(fd);
	take_links(fd, (const unsigned[]){1, 1, 2}, age);
	late = come_from(2); /* would have as many as 1 then */
	greet(late);
	expect_closed(late);
	late = come_from(1);
	greet(late);
	expect_closed(late);
	for (int i = 0; i < LINKS; i++)
		assert_true(is_open(fd[i]));
	leave_links(fd);
	end();
}

/* The youngest link of who has most is closed for a newcomer, which gets it before all others. */
static void test_room(void **state)
{
	static const struct {
		unsigned host[LINKS];
		uint64_t age[LINKS];
		int closed;
	} given[] = {
		{{1, 1, 2}, {10, 20, 30}, 1}, {{1, 1, 2}, {20, 10, 30}, 0},
		{{2, 1, 1}, {30, 10, 20}, 2}, {{1, 1, 1}, {10, 30, 20}, 1},
		{{1, 2, 1}, {20, 99, 10}, 0}, {{1, 1, 1}, {10, 10, 10}, 2},
	};

	(void)state;
	begin(NULL);
	memset(&s.beyond, 0, sizeof(s.beyond)); /* there is no such link, whatever it looks like */
	s.beyond.fd = 1000;
	s.peers.holder[LINKS] = (struct stranger){origin(1), UINT64_MAX};
	for (unsigned i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		int fd[LINKS], late, other;

		take_links(fd, given[i].host, given[i].age);
		late = come_from(5);
		greet(late);
		expect_closed(fd[given[i].closed]);
		assert_true(is_open(late));
		assert_int_equal(links_taken(), LINKS - 1);
		other = come_from(6);
		greet(other); /* that one is promised; those that have two still give one away */
		assert_int_equal(links_taken(), LINKS - (i == 3 || i == 5 ? 2 : 1));
		pending_peers_tick(&s.peers);
		turn();
		pending_peers_tick(&s.peers);
		turn();
		expect_linked(late);
		assert_int_equal(links_taken(), LINKS);
		fd[given[i].closed] = late;
		if (i == 3 || i == 5)
			expect_linked(other);
		close(other);
		leave_links(fd);
	}
	end();
}

static struct pending_peer *waiting_one(void)
{
	for (int i = 0; i < PENDING_PLACES; i++)
		if (s.peers.pending_peer[i].used && s.peers.pending_peer[i].waits)
			return &s.peers.pending_peer[i];
	fail();
	return NULL;
}

/* Who waits for a link that does not become free is let go in the end. */
static void test_waits(void **state)
{
	static const uint64_t age[LINKS] = {1, 2, 3};
	struct pending_peer *waits;
	int fd[LINKS], late;

	(void)state;
	begin(NULL);
	take_links(fd, (const unsigned[]){1, 1, 2}, age);
	late = come_from(5);
	greet(late);
	close(fd[1]);
	turn();
	waits = waiting_one();
	s.link[1].fd = 0; /* somebody else has got it */
	waits->who.since_ms = uv_now(&s.loop) - STRANGERS_SHAKE_MS;
	pending_peers_tick(&s.peers);
	assert_true(is_open(late));
	waits->who.since_ms--;
	pending_peers_tick(&s.peers);
	s.link[1].fd = -1;
	expect_closed(late);
	close(fd[0]);
	close(fd[2]);
	turn();
	assert_int_equal(places_taken(), 0);
	end();
}

/* Whom we dial gets its link at once where there is no key. */
static void test_dialled(void **state)
{
	int fd, second;

	(void)state;
	begin(NULL);
	assert_false(pending_peers_dialling(&s.peers));
	fd = dial(1);
	assert_true(pending_peers_dialling(&s.peers)); /* until the place is free */
	second = dial(2);
	expect_closed(second);
	turn();
	assert_false(pending_peers_dialling(&s.peers));
	assert_int_equal(links_taken(), 1);
	assert_false(link_free(&s.link[1]));
	assert_int_equal(s.peers.holder[1].since_ms, 0); /* that one was not given away */
	expect_linked(fd);
	second = dial(1); /* has one already */
	expect_closed(second);
	pending_peers_hang_up(&s.peers); /* is being closed */
	turn();
	pending_peers_hang_up(&s.peers);
	assert_false(pending_peers_dialling(&s.peers));
	close(fd);
	end();
}

/* Somebody who speaks something else comes from there. */
static void knock(unsigned number)
{
	int fd = come_from(number);

	assert_int_equal(send(fd, "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL), 16);
	turn();
	close(fd);
	turn();
}

/* Of each address once a minute, for those who look at the log; the others for who looks closer. */
static void test_told(void **state)
{
	(void)state;
	logged_begin();
	begin(NULL);
	knock(1);
	assert_int_equal(logged("info  refused host 1: "), 1);
	assert_int_equal(logged("refused"), 1);
	knock(1);
	assert_int_equal(logged("info  refused host 1: "), 1);
	assert_int_equal(logged("debug refused host 1: "), 1);
	knock(2);
	assert_int_equal(logged("info  refused host 2: "), 1);
	assert_int_equal(logged("refused"), 3);
	end();
	logged_end();
}

static void test_memory(void **state)
{
	struct pending_peers peers;
	struct arena whole;
	int r = -ENOMEM;

	(void)state;
	assert_int_equal(arena_open(&whole, 64 << 10), 0);
	for (size_t size = 0; r < 0; size += 64) {
		struct arena a = {.memory = whole.memory, .size = size};

		r = pending_peers_init(&peers, &a, NULL, NULL, NULL, LINKS);
		assert_true(r == 0 || r == -ENOMEM);
		assert_int_equal(!r, peers.pending_peer && peers.holder);
	}
	for (int i = 0; i < PENDING_PLACES; i++)
		assert_int_equal(peers.pending_peer[i].io.fd, -1);
	memset(&peers, 0, sizeof(peers));
	pending_peers_close(&peers);
	arena_close(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_greeting), cmocka_unit_test(test_no_greeting),
		cmocka_unit_test(test_places),	 cmocka_unit_test(test_no_place),
		cmocka_unit_test(test_time),	 cmocka_unit_test(test_fair),
		cmocka_unit_test(test_room),	 cmocka_unit_test(test_waits),
		cmocka_unit_test(test_dialled),	 cmocka_unit_test(test_told),
		cmocka_unit_test(test_memory),
	};

	pending_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
