#pragma once
/*
 * Links over socket pairs, and collectors at their other ends: what these say, and what they are
 * sent.
 */
#include "tests/unit/streamer/harness.h"

#include <errno.h>
#include <stdio.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <uv.h>

#include "agent/net/link.h"

#define LINKS 3

/* A collector's end of a link. */
struct peer {
	int fd;
	size_t length;
	uint8_t in[1 << 20];
};

struct scene {
	struct bench bench, other; /* of two streams; the other one is used by some tests only */
	uv_loop_t loop;
	struct link_host host;
	struct orphans orphans;
	struct link link[LINKS];
	struct stream *streams[2];
	struct packer packer;
	struct arena arena;
	uint64_t acked, begun, taken_over; /* as the agent was told last */
	unsigned acks, orders, closed, refusals;
	uint32_t who;			    /* who says hello next */
	struct collector_greeting greeting; /* as the agent was told last */
	char host_name[64];
	uint8_t id[STREAM_ID_SIZE];
	unsigned at; /* the link in use */
	struct peer peer[LINKS];
	struct frame_encoder *encoder;
	struct frame_decoder *decoder;
	struct writer writer;
	uint64_t sent;
};

static inline uint32_t welcomed(void *context, const struct link *link,
				const struct collector_greeting *greeting)
{
	struct scene *s = context;

	assert_ptr_equal(link, &s->link[s->at]);
	s->greeting = *greeting;
	snprintf(s->host_name, sizeof(s->host_name), "%s", greeting->host);
	if (greeting->id)
		memcpy(s->id, greeting->id, sizeof(s->id));
	return s->who;
}

static inline uint64_t subscribed(void *context, const struct link *link,
				  const struct stream *stream, uint64_t number)
{
	struct scene *s = context;

	(void)link;
	(void)stream;
	s->begun = number;
	return s->taken_over;
}

static inline void acknowledged(void *context, const struct link *link, const struct stream *stream,
				uint64_t number)
{
	struct scene *s = context;

	(void)link;
	assert_true(stream == &s->bench.stream || stream == &s->other.stream);
	s->acked = number;
	s->acks++;
	assert_int_equal(spool_ack(&((struct stream *)(uintptr_t)stream)->spool, number, number),
			 0);
}

static inline void refused(void *context, const struct link *link, int refusal)
{
	struct scene *s = context;

	assert_ptr_equal(link, &s->link[s->at]);
	assert_int_equal(refusal, HEAPCAST__DISK_REFUSAL__DISK_REFUSAL_NO_ROOM);
	s->refusals++;
}

static inline void link_closed(void *context, struct link *link)
{
	struct scene *s = context;

	(void)link;
	s->closed++;
}

static inline void ordered(void *context)
{
	struct scene *s = context;

	s->orders++;
}

static inline void turn(struct scene *s)
{
	for (int i = 0; i < 20; i++)
		uv_run(&s->loop, UV_RUN_NOWAIT);
}

/* The link in use begins with this socket; `fd` is the collector's. */
static inline void join_with(struct scene *s, int own, int fd)
{
	s->peer[s->at].fd = fd;
	s->peer[s->at].length = 0;
	assert_int_equal(link_open(&s->link[s->at], own, "test"), 0);
	turn(s);
}

static inline void join(struct scene *s)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
			 0);
	join_with(s, pair[0], pair[1]);
}

static inline void leave(struct scene *s)
{
	close(s->peer[s->at].fd);
	turn(s);
	assert_true(link_free(&s->link[s->at]));
}

static inline void scene_open_with(struct scene *s, uint32_t streams)
{
	struct budget budget;

	memset(s, 0, sizeof(*s));
	bench_open(&s->bench);
	if (streams > 1)
		bench_open(&s->other);
	uv_loop_init(&s->loop);
	s->streams[0] = &s->bench.stream;
	s->streams[1] = &s->other.stream;
	assert_int_equal(arena_open(&s->arena, 1 << 20), 0);
	assert_int_equal(packer_init(&s->packer, &s->arena, 48 << 10, 96 << 10), 0);
	s->decoder = frame_decoder_new();
	s->encoder = frame_encoder_new();
	s->host = (struct link_host){.loop = &s->loop,
				     .stream = s->streams,
				     .streams = streams,
				     .orphans = &s->orphans,
				     .links = s->link,
				     .link_count = LINKS,
				     .packer = &s->packer,
				     .decoder = frame_decoder_new(),
				     .agent_id = s->bench.agent_id,
				     .window_bytes = 1000,
				     .welcomed = welcomed,
				     .subscribed = subscribed,
				     .acknowledged = acknowledged,
				     .refused = refused,
				     .closed = link_closed,
				     .ordered = ordered,
				     .context = s};
	budget = s->bench.budget;
	budget.slots = streams;
	for (unsigned i = 0; i < LINKS; i++)
		assert_int_equal(link_init(&s->link[i], &s->host, &s->arena, &budget), 0);
	s->writer = writer_claim(&s->bench, 0, 1000);
}

static inline void scene_open(struct scene *s)
{
	scene_open_with(s, 1);
}

static inline void scene_close(struct scene *s)
{
	frame_decoder_free(s->decoder);
	frame_decoder_free(s->host.decoder);
	frame_encoder_free(s->encoder);
	packer_done(&s->packer);
	arena_close(&s->arena);
	assert_int_equal(uv_loop_close(&s->loop), 0);
	if (s->host.streams > 1)
		bench_close(&s->other);
	bench_close(&s->bench);
}

/* Some events, closed into one batch. */
static inline void make_batch(struct scene *s, unsigned events)
{
	uint64_t before = s->bench.stream.spool.next;

	for (unsigned i = 0; i < events; i++) {
		uint64_t pcs[] = {200000 + (uint64_t)random() % 1000, 300000};

		writer_event(&s->writer, 1, (uint64_t)random() << 4, (uint32_t)random(),
			     clock_monotonic_ns(), 0, 2, pcs);
		s->sent++;
	}
	usleep(200);
	s->bench.stream.batch.opened_ns = 1; /* long ago: it is due */
	bench_drain(&s->bench, false);
	assert_int_equal(s->bench.stream.spool.next, before + 1);
}

static inline void send_order(struct scene *s, const Heapcast__Order *order)
{
	uint8_t message[FRAME_HEADROOM + 1000], out[4000];
	size_t length = heapcast__order__pack(order, message + FRAME_HEADROOM);
	long framed = frame_encode(s->encoder, message + FRAME_HEADROOM, length, out, sizeof(out));

	assert_true(framed > 0);
	assert_int_equal(send(s->peer[s->at].fd, out, (size_t)framed, MSG_NOSIGNAL), framed);
	turn(s);
}

static inline void hello(struct scene *s, uint32_t protocol)
{
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__Hello m = HEAPCAST__HELLO__INIT;

	m.protocol = protocol;
	order.hello = &m;
	send_order(s, &order);
}

static inline void subscribe(struct scene *s, uint32_t incarnation, uint64_t next)
{
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__Subscribe m = HEAPCAST__SUBSCRIBE__INIT;

	m.stream = (ProtobufCBinaryData){STREAM_ID_SIZE, s->bench.stream.id};
	m.incarnation = incarnation;
	m.next = next;
	order.subscribe = &m;
	send_order(s, &order);
}

static inline void ack_of(struct scene *s, uint32_t incarnation, uint64_t number)
{
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__Ack m = HEAPCAST__ACK__INIT;

	m.stream = (ProtobufCBinaryData){STREAM_ID_SIZE, s->bench.stream.id};
	m.incarnation = incarnation;
	m.number = number;
	order.ack = &m;
	send_order(s, &order);
}

static inline void ack(struct scene *s, uint64_t number)
{
	ack_of(s, 1, number);
}

static inline void refuse(struct scene *s, int refusal)
{
	Heapcast__Order order = HEAPCAST__ORDER__INIT;

	order.refusal = (Heapcast__DiskRefusal)refusal;
	send_order(s, &order);
}

/* The next batch that comes over the link; NULL: none. */
static inline Heapcast__Batch *receive(struct scene *s)
{
	struct peer *p = &s->peer[s->at];
	struct err_text err = {{0}};
	const uint8_t *message;
	size_t length, size;
	Heapcast__Batch *batch;
	ssize_t n;

	for (int i = 0; i < 50; i++) {
		n = recv(p->fd, p->in + p->length, sizeof(p->in) - p->length, MSG_DONTWAIT);
		p->length += n > 0 ? (size_t)n : 0;
		turn(s);
	}
	if (!p->length)
		return NULL;
	assert_int_equal(frame_length(p->in, p->length, &length, &err), 1);
	assert_int_equal(frame_decode(s->decoder, p->in, length, &message, &size, &err), 0);
	batch = heapcast__batch__unpack(NULL, size, message);
	assert_non_null(batch);
	memmove(p->in, p->in + length, p->length - length);
	p->length -= length;
	return batch;
}

static inline void expect_batch(struct scene *s, uint64_t number)
{
	Heapcast__Batch *b = receive(s);

	assert_non_null(b);
	assert_null(b->link);
	assert_int_equal(b->number, number);
	assert_int_equal(b->catch_up, number == 0);
	heapcast__batch__free_unpacked(b, NULL);
}

static inline void expect_nothing(struct scene *s)
{
	assert_null(receive(s));
}

static inline void expect_hello(struct scene *s, uint64_t first, uint64_t next)
{
	Heapcast__Batch *b = receive(s);

	assert_non_null(b);
	assert_non_null(b->link);
	assert_int_equal(b->stream.len, 0);
	assert_non_null(b->link->hello);
	assert_int_equal(b->link->hello->protocol, PROTOCOL_VERSION);
	assert_int_equal(b->link->n_stream, 1);
	assert_memory_equal(b->link->stream[0]->stream.data, s->bench.stream.id, STREAM_ID_SIZE);
	assert_int_equal(b->link->stream[0]->first, first);
	assert_int_equal(b->link->stream[0]->next, next);
	heapcast__batch__free_unpacked(b, NULL);
}
