#pragma once
/*
 * Connections that have not said yet who they are: an agent's end of them, and what the other end
 * says and expects.
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
	struct link link[LINKS], beyond;
	struct pending_peers peers;
	struct secure *secure;
	struct frame_encoder *encoder;
	unsigned descriptors, welcomes;
	bool proved;
};

static struct scene s;
static struct secret key[3];

static inline uint32_t welcomed(void *context, const struct link *link,
				const struct collector_greeting *greeting)
{
	(void)context;
	(void)link;
	s.proved = greeting->proved;
	return s.welcomes++;
}

static inline void link_closed(void *context, struct link *link)
{
	(void)context;
	(void)link;
}

static inline void turn(void)
{
	for (int i = 0; i < 10; i++)
		uv_run(&s.loop, UV_RUN_NOWAIT);
}

static inline struct secure *secure_with(const struct secret *keys, size_t count)
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

static inline void begin(struct secure *secure)
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
	assert_non_null(arena_take(&s.arena, 256)); /* behind what they have */
}

static inline void end(void)
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

static inline struct sockaddr_in host_at(unsigned number)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(0x0a000000 + number)};
}

static inline struct stranger_address origin(unsigned number)
{
	struct sockaddr_in a = host_at(number);

	return stranger_address((const struct sockaddr *)&a);
}

/* A connection from this host; returns its end of it. */
static inline int come_from(unsigned number)
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

static inline int dial(unsigned link)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
			 0);
	pending_peers_dialled(&s.peers, pair[0], "a collector", &s.link[link]);
	return pair[1];
}

static inline unsigned places_taken(void)
{
	unsigned count = 0;

	for (int i = 0; i < PENDING_PLACES; i++)
		count += s.peers.pending_peer[i].used;
	return count;
}

static inline unsigned links_taken(void)
{
	unsigned count = 0;

	for (int i = 0; i < LINKS; i++)
		count += !link_free(&s.link[i]);
	return count;
}

static inline bool is_open(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN;
}

static inline void expect_closed(int fd)
{
	char byte;

	assert_int_equal(recv(fd, &byte, 1, 0), 0);
	close(fd);
}

static inline void expect_refusal(int fd)
{
	uint8_t got[sizeof(secure_refusal)];

	assert_int_equal(recv(fd, got, sizeof(got), 0), sizeof(got));
	assert_memory_equal(got, secure_refusal, sizeof(got));
	expect_closed(fd);
}

static inline size_t greeting(uint8_t out[1000])
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

static inline void greet(int fd)
{
	uint8_t out[1000];
	size_t length = greeting(out);

	assert_int_equal(send(fd, out, length, MSG_NOSIGNAL), length);
	turn();
}

static inline void expect_linked(int fd)
{
	uint8_t got[4000];

	assert_true(recv(fd, got, sizeof(got), 0) > 0); /* the agent's hello */
	assert_true(is_open(fd));
}

/* Makes the keys. To be called before the first test. */
static inline void pending_start(void)
{
	uv_loop_t first;

	for (uint8_t i = 0; i < 3; i++) {
		key[i] =
			(struct secret){.key_length = 32, .name = "test", .id = {(uint8_t)(i + 1)}};
		memset(key[i].key, i + 1, key[i].key_length);
	}
	uv_loop_init(&first); /* libuv keeps a pipe from here on */
	uv_loop_close(&first);
}
