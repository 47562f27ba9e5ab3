/* A link over a socket pair: hello, subscribe, batches, acknowledge, come back, come late. */
#include "tests/unit/streamer/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <uv.h>

#include "agent/net/link.h"

struct scene {
	struct bench bench;
	uv_loop_t loop;
	struct link_host host;
	struct orphans orphans;
	struct link link;
	struct stream *streams[1];
	struct packer packer;
	struct arena arena;
	uint64_t acked, begun; /* as the agent was told last */
	unsigned acks;
	int fd; /* the collector's end */
	uint8_t in[1 << 20];
	size_t length;
	struct frame_encoder *encoder;
	struct frame_decoder *decoder;
	struct writer writer;
	uint64_t sent;
};

static uint32_t welcomed(void *context, const struct link *link,
			 const struct collector_greeting *greeting)
{
	(void)context;
	(void)link;
	(void)greeting;
	return 0;
}

static void subscribed(void *context, const struct link *link, const struct stream *stream,
		       uint64_t number)
{
	struct scene *s = context;

	(void)link;
	(void)stream;
	s->begun = number;
}

static void acknowledged(void *context, const struct link *link, const struct stream *stream,
			 uint64_t number)
{
	struct scene *s = context;

	(void)link;
	assert_ptr_equal(stream, &s->bench.stream);
	s->acked = number;
	s->acks++;
	assert_int_equal(spool_ack(&s->bench.stream.spool, number, number), 0);
}

static void link_closed(void *context, struct link *link)
{
	(void)context;
	(void)link;
}

static void turn(struct scene *s)
{
	for (int i = 0; i < 20; i++)
		uv_run(&s->loop, UV_RUN_NOWAIT);
}

static void join(struct scene *s)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
			 0);
	s->fd = pair[1];
	s->length = 0;
	assert_int_equal(link_open(&s->link, pair[0], "test"), 0);
	turn(s);
}

static void leave(struct scene *s)
{
	close(s->fd);
	turn(s);
	assert_true(link_free(&s->link));
}

static void scene_open(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	bench_open(&s->bench);
	uv_loop_init(&s->loop);
	s->streams[0] = &s->bench.stream;
	assert_int_equal(arena_open(&s->arena, 512 << 10), 0);
	assert_int_equal(packer_init(&s->packer, &s->arena, 48 << 10, 96 << 10), 0);
	s->decoder = frame_decoder_new();
	s->encoder = frame_encoder_new();
	s->host = (struct link_host){.loop = &s->loop,
				     .stream = s->streams,
				     .streams = 1,
				     .orphans = &s->orphans,
				     .links = &s->link,
				     .link_count = 1,
				     .packer = &s->packer,
				     .decoder = frame_decoder_new(),
				     .agent_id = s->bench.agent_id,
				     .window_bytes = 1000,
				     .welcomed = welcomed,
				     .subscribed = subscribed,
				     .acknowledged = acknowledged,
				     .closed = link_closed,
				     .context = s};
	assert_int_equal(link_init(&s->link, &s->host, &s->arena, &s->bench.budget), 0);
	s->writer = writer_claim(&s->bench, 0, 1000);
}

static void scene_close(struct scene *s)
{
	frame_decoder_free(s->decoder);
	frame_decoder_free(s->host.decoder);
	frame_encoder_free(s->encoder);
	packer_done(&s->packer);
	arena_close(&s->arena);
	assert_int_equal(uv_loop_close(&s->loop), 0);
	bench_close(&s->bench);
}

/* Some events, closed into one batch. */
static void make_batch(struct scene *s, unsigned events)
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

static void send_order(struct scene *s, const Heapcast__Order *order)
{
	uint8_t message[FRAME_HEADROOM + 1000], out[4000];
	size_t length = heapcast__order__pack(order, message + FRAME_HEADROOM);
	long framed = frame_encode(s->encoder, message + FRAME_HEADROOM, length, out, sizeof(out));

	assert_true(framed > 0);
	assert_int_equal(send(s->fd, out, (size_t)framed, MSG_NOSIGNAL), framed);
	turn(s);
}

static void hello(struct scene *s, uint32_t protocol)
{
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__Hello m = HEAPCAST__HELLO__INIT;

	m.protocol = protocol;
	order.hello = &m;
	send_order(s, &order);
}

static void subscribe(struct scene *s, uint32_t incarnation, uint64_t next)
{
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__Subscribe m = HEAPCAST__SUBSCRIBE__INIT;

	m.stream = (ProtobufCBinaryData){STREAM_ID_SIZE, s->bench.stream.id};
	m.incarnation = incarnation;
	m.next = next;
	order.subscribe = &m;
	send_order(s, &order);
}

static void ack_of(struct scene *s, uint32_t incarnation, uint64_t number)
{
	Heapcast__Order order = HEAPCAST__ORDER__INIT;
	Heapcast__Ack m = HEAPCAST__ACK__INIT;

	m.stream = (ProtobufCBinaryData){STREAM_ID_SIZE, s->bench.stream.id};
	m.incarnation = incarnation;
	m.number = number;
	order.ack = &m;
	send_order(s, &order);
}

static void ack(struct scene *s, uint64_t number)
{
	ack_of(s, 1, number);
}

/* The next batch that comes over the link; NULL: none. */
static Heapcast__Batch *receive(struct scene *s)
{
	struct err_text err = {{0}};
	const uint8_t *message;
	size_t length, size;
	Heapcast__Batch *batch;
	ssize_t n;

	for (int i = 0; i < 50; i++) {
		n = recv(s->fd, s->in + s->length, sizeof(s->in) - s->length, MSG_DONTWAIT);
		s->length += n > 0 ? (size_t)n : 0;
		turn(s);
	}
	if (!s->length)
		return NULL;
	assert_int_equal(frame_length(s->in, s->length, &length, &err), 1);
	assert_int_equal(frame_decode(s->decoder, s->in, length, &message, &size, &err), 0);
	batch = heapcast__batch__unpack(NULL, size, message);
	assert_non_null(batch);
	memmove(s->in, s->in + length, s->length - length);
	s->length -= length;
	return batch;
}

static void expect_batch(struct scene *s, uint64_t number)
{
	Heapcast__Batch *b = receive(s);

	assert_non_null(b);
	assert_null(b->link);
	assert_int_equal(b->number, number);
	assert_int_equal(b->catch_up, number == 0);
	heapcast__batch__free_unpacked(b, NULL);
}

static void expect_nothing(struct scene *s)
{
	assert_null(receive(s));
}

static void expect_hello(struct scene *s, uint64_t first, uint64_t next)
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

static void test_sequence(void **state)
{
	static struct scene s;

	(void)state;
	scene_open(&s);
	make_batch(&s, 20);
	join(&s);
	expect_hello(&s, 1, 2);
	subscribe(&s, 0, 0); /* before the hello: refused by hanging up */
	assert_true(link_free(&s.link));
	leave(&s);
	join(&s);
	expect_hello(&s, 1, 2);
	hello(&s, PROTOCOL_VERSION);
	expect_nothing(&s);
	subscribe(&s, 0, 0);
	expect_batch(&s, 1);
	make_batch(&s, 20);
	link_pump(&s.link);
	expect_batch(&s, 2);
	expect_nothing(&s);
	ack(&s, s.bench.stream.spool.next); /* which is the next to be sent */
	assert_int_equal(s.acked, 0);
	ack(&s, 2); /* the last that was sent */
	assert_int_equal(s.acked, 2);
	ack(&s, 1);
	assert_int_equal(s.acked, 2);
	leave(&s);
	make_batch(&s, 20);
	join(&s);
	expect_hello(&s, 1, 4);
	hello(&s, PROTOCOL_VERSION);
	subscribe(&s, 1, 3); /* goes on where it was */
	expect_batch(&s, 3);
	expect_nothing(&s);
	leave(&s);
	scene_close(&s);
}

/* A collector may have what was sent to it, of this incarnation; it counts once, and never less. */
static void test_acks(void **state)
{
	static struct scene s;
	uint64_t sent;

	(void)state;
	scene_open(&s);
	make_batch(&s, 20);
	make_batch(&s, 20);
	make_batch(&s, 20);
	sent = s.bench.stream.spool.next - 1;
	join(&s);
	hello(&s, PROTOCOL_VERSION);
	ack(&s, 1); /* of a stream that it has not asked for */
	expect_hello(&s, 1, sent + 1);
	subscribe(&s, 0, 0);
	for (uint64_t i = 1; i <= sent; i++)
		expect_batch(&s, i);
	ack(&s, sent + 1);
	ack(&s, UINT64_MAX);
	ack(&s, 0);
	ack_of(&s, s.bench.stream.incarnation - 1, sent);
	ack_of(&s, s.bench.stream.incarnation + 1, sent);
	assert_int_equal(s.acks, 0);
	ack(&s, 1);
	assert_int_equal(s.acked, 1);
	ack(&s, sent);
	assert_int_equal(s.acked, sent);
	ack(&s, sent);
	ack(&s, sent - 1);
	assert_int_equal(s.acked, sent);
	assert_int_equal(s.acks, 2);
	make_batch(&s, 20);
	ack(&s, sent + 1); /* is there, and not sent */
	assert_int_equal(s.acks, 2);
	link_pump(&s.link);
	expect_batch(&s, sent + 1);
	ack(&s, sent + 1);
	assert_int_equal(s.acked, sent + 1);
	leave(&s);
	scene_close(&s);
}

/* Where a collector says to be: it goes on there if that can be, and begins anew if not. */
static void test_subscribe(void **state)
{
	static struct scene s;
	uint32_t is;
	uint64_t next;

	(void)state;
	scene_open(&s);
	make_batch(&s, 20);
	make_batch(&s, 20);
	next = s.bench.stream.spool.next;
	is = s.bench.stream.incarnation;
	const struct {
		uint32_t incarnation;
		uint64_t next, from;
	} cases[] = {
		{is, 1, 1},	     {is, 2, 2}, {is, next, next}, {is, next + 1, 1},
		{is, UINT64_MAX, 1}, {is, 0, 1}, {is - 1, 2, 1},   {is + 1, 2, 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		join(&s);
		hello(&s, PROTOCOL_VERSION);
		expect_hello(&s, 1, next);
		s.begun = UINT64_MAX;
		subscribe(&s, cases[i].incarnation, cases[i].next);
		assert_int_equal(s.begun, cases[i].from - 1);
		for (uint64_t k = cases[i].from; k < next; k++)
			expect_batch(&s, k);
		expect_nothing(&s);
		leave(&s);
	}
	scene_close(&s);
}

/* Somebody comes when the first batches are gone: definitions first, and what it missed is a
 * gap. */
static void test_late(void **state)
{
	static struct scene s;
	Heapcast__Batch *b;
	uint64_t first, nodes = 0, threads = 0;

	(void)state;
	scene_open(&s);
	for (unsigned i = 0; i < 400 && s.bench.stream.spool.first < 4; i++) {
		make_batch(&s, 90);
		spool_ack(&s.bench.stream.spool, s.bench.stream.spool.next - 1,
			  s.bench.stream.spool.next - 1);
	}
	first = s.bench.stream.spool.first;
	assert_true(first >= 4);
	join(&s);
	expect_hello(&s, first, s.bench.stream.spool.next);
	hello(&s, PROTOCOL_VERSION);
	subscribe(&s, 0, 0);
	b = receive(&s);
	assert_true(b->catch_up);
	assert_non_null(b->process);
	assert_int_equal(b->next, first);
	assert_int_equal(b->n_gap, 1);
	assert_int_equal(b->gap[0]->reason, HEAPCAST__REASON__REASON_JOINED_LATE);
	assert_int_equal(b->gap[0]->events, 90 * (first - 1));
	assert_int_equal(b->ledger->before_join, 90 * (first - 1));
	assert_balanced(b->ledger);
	while (b->catch_up) {
		heapcast__batch__free_unpacked(b, NULL);
		b = receive(&s);
		assert_non_null(b);
		threads += b->n_thread;
		if (b->stacks && b->catch_up) {
			struct stacks_decoder d;
			struct stack_node node;
			uint32_t number;
			struct err_text err;

			assert_int_equal(stacks_decoder_init(&d, b->stacks, &err), 0);
			while (stacks_decoder_next(&d, &number, &node, &err) == 1)
				assert_int_equal(number, ++nodes);
		}
	}
	assert_int_equal(threads, 1);
	assert_int_equal(nodes, s.bench.stream.spool.evicted.nodes);
	assert_int_equal(b->number, first);
	heapcast__batch__free_unpacked(b, NULL);
	leave(&s);
	/* One that was here before is given definitions, too, but its own account says what it
	 * lacks. */
	join(&s);
	hello(&s, PROTOCOL_VERSION);
	expect_hello(&s, first, s.bench.stream.spool.next);
	subscribe(&s, 1, 2);
	b = receive(&s);
	assert_true(b->catch_up);
	assert_int_equal(b->n_gap, 0);
	assert_int_equal(b->ledger->before_join, 0);
	assert_int_equal(b->ledger->delivered, 90 * (first - 1));
	heapcast__batch__free_unpacked(b, NULL);
	leave(&s);
	scene_close(&s);
}

static void test_hostile(void **state)
{
	static struct scene s;
	uint8_t noise[20000];

	(void)state;
	scene_open(&s);
	make_batch(&s, 20);
	join(&s);
	hello(&s, PROTOCOL_VERSION + 1);
	assert_true(link_free(&s.link));
	leave(&s);
	for (unsigned round = 0; round < 50; round++) {
		join(&s);
		for (unsigned i = 0; i < sizeof(noise); i++)
			noise[i] = (uint8_t)random();
		if (round % 2)
			memcpy(noise, "\x04\x22\x4d\x18\x6c\x70", 6);
		send(s.fd, noise, round % 3 ? sizeof(noise) : 30, MSG_NOSIGNAL);
		turn(&s);
		leave(&s);
	}
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sequence),  cmocka_unit_test(test_acks),
		cmocka_unit_test(test_subscribe), cmocka_unit_test(test_late),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
