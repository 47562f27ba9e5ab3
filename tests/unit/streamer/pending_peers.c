/*
 * Connections that have not said yet who they are: what lets them in, what they are told before,
 * who has to go for whom, and how long they may take. Without a key first, then with TLS.
 */
#include "tests/unit/streamer/harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <uv.h>

#include "agent/net/link.h"
#include "agent/net/pending_peers.h"
#include "tests/unit/descriptors.h"

#define LINKS 3

struct scene {
	struct bench bench;
	uv_loop_t loop;
	struct arena arena;
	struct packer packer;
	struct link_host host;
	struct orphans orphans;
	struct stream *streams[1];
	struct link link[LINKS];
	struct pending_peers peers;
	struct secure *secure;
	struct frame_encoder *encoder;
	unsigned descriptors, welcomes;
	bool proved;
};

static struct scene s;
static struct secret key[3];

static uint32_t welcomed(void *context, const struct link *link,
			 const struct collector_greeting *greeting)
{
	(void)context;
	(void)link;
	s.proved = greeting->proved;
	return s.welcomes++;
}

static void link_closed(void *context, struct link *link)
{
	(void)context;
	(void)link;
}

static void turn(void)
{
	for (int i = 0; i < 10; i++)
		uv_run(&s.loop, UV_RUN_NOWAIT);
}

static struct secure *secure_with(const struct secret *keys, size_t count)
{
	struct secure_options options = {.secrets = keys, .secret_count = count, .paired = true};
	struct secure *secure = NULL;
	struct err_text err = {{0}};
	int r = secure_open(&options, &secure, &err);

	if (r == -ENOTSUP)
		skip();
	assert_int_equal(r, 0);
	return secure;
}

static void begin(struct secure *secure)
{
	memset(&s, 0, sizeof(s));
	s.descriptors = descriptors_open();
	bench_open(&s.bench);
	uv_loop_init(&s.loop);
	s.streams[0] = &s.bench.stream;
	s.secure = secure;
	s.encoder = frame_encoder_new();
	assert_int_equal(arena_open(&s.arena, 1 << 20), 0);
	assert_int_equal(packer_init(&s.packer, &s.arena, 48 << 10, 96 << 10), 0);
	s.host = (struct link_host){.loop = &s.loop,
				    .stream = s.streams,
				    .streams = 1,
				    .orphans = &s.orphans,
				    .links = s.link,
				    .link_count = LINKS,
				    .packer = &s.packer,
				    .decoder = frame_decoder_new(),
				    .agent_id = s.bench.agent_id,
				    .window_bytes = 1000,
				    .welcomed = welcomed,
				    .closed = link_closed};
	for (int i = 0; i < LINKS; i++)
		assert_int_equal(link_init(&s.link[i], &s.host, &s.arena, &s.bench.budget), 0);
	assert_int_equal(pending_peers_init(&s.peers, &s.arena, &s.loop, secure, s.link, LINKS), 0);
}

static void end(void)
{
	pending_peers_close(&s.peers);
	for (int i = 0; i < LINKS; i++)
		link_close(&s.link[i]);
	uv_run(&s.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&s.loop), 0);
	if (s.secure)
		secure_close(s.secure);
	frame_encoder_free(s.encoder);
	frame_decoder_free(s.host.decoder);
	packer_done(&s.packer);
	arena_close(&s.arena);
	bench_close(&s.bench);
	assert_int_equal(descriptors_open(), s.descriptors);
}

static struct sockaddr_in host_at(unsigned number)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(0x0a000000 + number)};
}

static struct stranger_address origin(unsigned number)
{
	struct sockaddr_in a = host_at(number);

	return stranger_address((const struct sockaddr *)&a);
}

/* A connection from this host; returns its end of it. */
static int come_from(unsigned number)
{
	struct sockaddr_in a = host_at(number);
	char name[32];
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
			 0);
	snprintf(name, sizeof(name), "host %u", number);
	pending_peers_accept(&s.peers, pair[0], (const struct sockaddr *)&a, name);
	turn();
	return pair[1];
}

static int dial(unsigned link)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
			 0);
	pending_peers_dialled(&s.peers, pair[0], "a collector", &s.link[link]);
	return pair[1];
}

static unsigned places_taken(void)
{
	unsigned count = 0;

	for (int i = 0; i < PENDING_PLACES; i++)
		count += s.peers.pending_peer[i].used;
	return count;
}

static unsigned links_taken(void)
{
	unsigned count = 0;

	for (int i = 0; i < LINKS; i++)
		count += !link_free(&s.link[i]);
	return count;
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

static void expect_refusal(int fd)
{
	uint8_t got[sizeof(secure_refusal)];

	assert_int_equal(recv(fd, got, sizeof(got), 0), sizeof(got));
	assert_memory_equal(got, secure_refusal, sizeof(got));
	expect_closed(fd);
}

static size_t greeting(uint8_t out[1000])
{
	uint8_t message[FRAME_HEADROOM + 200], id[STREAM_ID_SIZE] = {7};
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__Hello m = HEAPCAST__HELLO__INIT;
	long n;

	m.protocol = PROTOCOL_VERSION;
	m.id = (ProtobufCBinaryData){sizeof(id), id};
	order.hello = &m;
	n = frame_encode(s.encoder, message + FRAME_HEADROOM,
			 heapcast__order__pack(&order, message + FRAME_HEADROOM), out, 1000);
	assert_true(n > 0);
	return (size_t)n;
}

static void greet(int fd)
{
	uint8_t out[1000];
	size_t length = greeting(out);

	assert_int_equal(send(fd, out, length, MSG_NOSIGNAL), length);
	turn();
}

static void expect_linked(int fd)
{
	uint8_t got[4000];

	assert_true(recv(fd, got, sizeof(got), 0) > 0); /* the agent's hello */
	assert_true(is_open(fd));
}

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

/* The other end of a TLS connection, in as many steps as it takes. Returns the result. */
static int shake(struct link_io *io)
{
	struct err_text err = {{0}};
	size_t came = 0;
	int r = 1;

	for (int i = 0; r == 1 && i < 20; i++) {
		r = link_io_shake(io, true, &came, &err);
		turn();
	}
	return r;
}

/* The agent's hello, in TLS, and the collector's. */
static void expect_linked_tls(struct link_io *io)
{
	struct err_text err = {{0}};
	uint8_t out[1000];
	ssize_t n = 0;

	for (int i = 0; !n && i < 10; i++)
		n = link_io_receive(io, out, sizeof(out), true, &err);
	assert_true(n > 0);
	assert_int_equal(s.welcomes, 0);
	n = (ssize_t)greeting(out);
	assert_int_equal(link_io_send(io, out, (size_t)n), n);
	turn();
	assert_int_equal(s.welcomes, 1);
	assert_true(s.proved);
}

static void test_tls(void **state)
{
	struct secure *secure = secure_with(key, 2), *other = secure_with(key + 2, 1);
	struct link_io io = {0};

	(void)state;
	begin(secure);
	io.fd = come_from(1);
	io.session = secure_session_new(secure, false, 1);
	assert_int_equal(places_taken(), 1);
	assert_int_equal(shake(&io), 0);
	assert_int_equal(links_taken(), 1);
	assert_int_equal(places_taken(), 0);
	expect_linked_tls(&io);
	link_io_close(&io);
	turn();
	assert_int_equal(links_taken(), 0);
	io.fd = come_from(1);
	io.session = secure_session_new(other, false, 0);
	assert_int_equal(shake(&io), -EACCES);
	assert_int_equal(places_taken(), 0);
	assert_int_equal(links_taken(), 0);
	link_io_close(&io);
	secure_close(other);
	end();
}

static void test_no_tls(void **state)
{
	struct secure *secure = secure_with(key, 2);
	static const uint8_t head[] = {0x16, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff};
	uint8_t zeros[LINK_RAW] = {0};
	size_t sent = sizeof(head);
	int fd;

	(void)state;
	begin(secure);
	fd = come_from(1);
	greet(fd);
	expect_refusal(fd);
	turn();
	assert_int_equal(places_taken(), 0);
	fd = come_from(1);
	assert_int_equal(send(fd, head, 1, MSG_NOSIGNAL), 1); /* may become anything */
	turn();
	assert_true(is_open(fd));
	close(fd);
	turn();
	assert_int_equal(places_taken(), 0);
	fd = come_from(1);
	assert_int_equal(send(fd, head, sent, MSG_NOSIGNAL), sent);
	turn();
	for (size_t most = SECURE_SHAKE_BYTES; sent < most;) {
		size_t n = most - sent < sizeof(zeros) ? most - sent : sizeof(zeros);

		assert_int_equal(send(fd, zeros, n, MSG_NOSIGNAL), n);
		sent += n;
		turn();
		assert_true(is_open(fd));
	}
	assert_int_equal(send(fd, zeros, 1, MSG_NOSIGNAL), 1);
	turn();
	expect_closed(fd);
	assert_int_equal(places_taken(), 0);
	end();
}

/* One dial with TLS. Returns what becomes of it at the other end. */
static int dial_to(struct link_io *io, struct secure *theirs)
{
	io->raw_at = io->raw_length = 0;
	io->fd = dial(0);
	assert_true(pending_peers_dialling(&s.peers));
	io->session = secure_session_new(theirs, true, 0);
	return shake(io);
}

/* Each key is offered in turn, as long as that is refused. */
static void test_dialled_tls(void **state)
{
	struct secure *secure = secure_with(key, 2), *theirs = secure_with(key + 1, 1),
		      *other = secure_with(key + 2, 1);
	struct link_io io = {0};

	(void)state;
	begin(secure);
	s.peers.paired = true;
	assert_int_equal(dial_to(&io, theirs), -EACCES);
	assert_int_equal(s.peers.key, 1);
	assert_false(pending_peers_dialling(&s.peers));
	assert_int_equal(s.peers.strangers.lines, 0); /* not worth a word yet */
	link_io_close(&io);
	assert_int_equal(dial_to(&io, theirs), 0);
	assert_int_equal(s.peers.key, 1);
	assert_int_equal(links_taken(), 1);
	assert_false(link_free(&s.link[0]));
	expect_linked_tls(&io);
	link_io_close(&io);
	turn();
	for (unsigned i = 2; i <= 5; i++) {
		assert_int_equal(dial_to(&io, other), -EACCES);
		assert_int_equal(s.peers.key, i);
		assert_int_equal(s.peers.strangers.lines, i >= 4); /* each was tried twice */
		link_io_close(&io);
	}
	s.peers.paired = false;
	assert_int_equal(dial_to(&io, other), -EACCES);
	assert_int_equal(s.peers.key, 5);
	link_io_close(&io);
	s.peers.paired = true;
	io.fd = dial(0);
	pending_peers_hang_up(&s.peers);
	turn();
	assert_false(pending_peers_dialling(&s.peers));
	close(io.fd);
	io.fd = dial(0);
	close(io.fd); /* this is no refusal of a key */
	turn();
	assert_false(pending_peers_dialling(&s.peers));
	assert_int_equal(s.peers.key, 5);
	secure_close(theirs);
	secure_close(other);
	end();
}

/* Without a key there is nobody to dial. */
static void test_no_key(void **state)
{
	struct secure *secure = secure_with(key, 0);
	uint8_t raw[100];
	int fd;

	(void)state;
	begin(secure);
	s.peers.paired = true;
	fd = dial(0);
	turn();
	assert_false(pending_peers_dialling(&s.peers));
	assert_true(recv(fd, raw, sizeof(raw), 0) <= 0);
	close(fd);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_greeting),    cmocka_unit_test(test_no_greeting),
		cmocka_unit_test(test_places),	    cmocka_unit_test(test_no_place),
		cmocka_unit_test(test_time),	    cmocka_unit_test(test_fair),
		cmocka_unit_test(test_room),	    cmocka_unit_test(test_waits),
		cmocka_unit_test(test_dialled),	    cmocka_unit_test(test_memory),
		cmocka_unit_test(test_tls),	    cmocka_unit_test(test_no_tls),
		cmocka_unit_test(test_dialled_tls), cmocka_unit_test(test_no_key),
	};
	uv_loop_t first;

	for (uint8_t i = 0; i < 3; i++) {
		key[i] =
			(struct secret){.key_length = 32, .name = "test", .id = {(uint8_t)(i + 1)}};
		memset(key[i].key, i + 1, key[i].key_length);
	}
	uv_loop_init(&first); /* libuv keeps a pipe from here on */
	uv_loop_close(&first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
