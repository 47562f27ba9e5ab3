/*
 * A ring of the other byte order: the same program, written by hand in both, gives the same
 * batches; and what the agent tells a program through the ring is in the program's order, counters
 * that cross a byte included.
 */
#include "tests/unit/streamer/harness.h"

#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>

#include "agent/ring/ring_words.h"

#define PC(n)	 (UINT64_C(0xfff0000000) + (n))
#define PATH	 "/lib/program"
#define LONG_PCS 300
/* of an address that a 32-bit program does not have */
#define FAR UINT64_C(0xfffffffff000)

/* A program of one thread. */
struct program {
	struct bench b;
	bool swapped;
	struct ring_header *header;
	struct ring_slice *slice;
	uint64_t *data;
	uint64_t head, events;
};

static void begin(struct program *p, bool swapped)
{
	static const struct target_said said = {
		.machine = EM_MIPS, .pointer_bits = 64, .page_size = 65536, .big_endian = true};
	struct stream_settings settings = {.agent_id = p->b.agent_id, .said = said};
	struct ring_settings of_ring = {.mode = RING_SAMPLE,
					.depth_limit = 512,
					.swapped = swapped,
					.sample_interval = 70000};
	struct ring_memory *ring = p->b.ring.ring;
	struct target_info target;
	uint32_t i = 0;

	bench_open(&p->b);
	stream_close(&p->b.stream);
	assert_int_equal(target_read(getpid(), &target), 0);
	assert_int_equal(ring_stream_open(&p->b.stream, &p->b.ring, &target, &settings, &of_ring),
			 0);
	ring = p->b.ring.ring;
	p->swapped = swapped;
	p->header = ring->header;
	assert_int_equal(ring_get32(swapped, &p->header->magic), RING_MAGIC);
	ring_put32(swapped, &p->header->clock, RING_CLOCK_MONOTONIC);
	ring_put32(swapped, &p->header->machine, said.machine);
	ring_put32(swapped, &p->header->pointer_bits, said.pointer_bits);
	ring_put32(swapped, &p->header->page_size, said.page_size);
	ring_put32(swapped, &p->header->owner_word_offset, 8);
	ring_release32(swapped, &p->header->byte_order, RING_ORDER_MARK);
	while (ring_get64(swapped, &ring->slices[i].words) < RING_FIRST_WORDS)
		i++;
	p->slice = &ring->slices[i];
	p->data =
		(uint64_t *)((uint8_t *)ring->header + ring_get64(swapped, &p->slice->data_offset));
	ring_put32(swapped, &p->slice->owner_tid, 0x11223344);
	ring_put32(swapped, &p->slice->incarnation, 1);
	ring_put64(swapped, &p->slice->claim_stamp, p->b.stream.start_ns + 1000);
	ring_put64(swapped, &p->slice->not_sampled, 5);
	ring_release32(swapped, &p->slice->state, RING_SLICE_OWNED);
	ring_raise32(swapped, &p->header->claims);
}

static void word(struct program *p, uint64_t value)
{
	ring_put64(p->swapped, &p->data[p->head++ & (RING_FIRST_WORDS - 1)], value);
}

static uint64_t stamp(const struct program *p, uint64_t microseconds)
{
	return p->b.stream.start_ns + microseconds * 1000;
}

static void publish(struct program *p)
{
	ring_put64(p->swapped, &p->slice->events, p->events);
	ring_release64(p->swapped, &p->slice->head, p->head);
}

static void event(struct program *p, uint64_t word0, uint64_t address, uint64_t at)
{
	p->events++;
	word(p, word0);
	word(p, address);
	word(p, stamp(p, at));
}

static void pcs(struct program *p, uint64_t first, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		word(p, PC(first + i));
}

static void text(struct program *p, const char *said)
{
	uint64_t raw = 0;

	memcpy(&raw, said, strlen(said));
	word(p, RING_WORD0(RING_TEXT, 1, 0, 0, 0, HEAPCAST__MARK_KIND__MARK_TEXT));
	word(p, strlen(said));
	word(p, stamp(p, 9));
	p->data[p->head++] = raw; /* bytes, in no order of words */
}

/* All kinds of records, plain events and others. */
static void write_records(struct program *p)
{
	event(p, RING_WORD0(HEAPCAST__EVENT_KIND__EVENT_MALLOC, 3, 0, 0, 0, 0x01020304), FAR, 2);
	pcs(p, 0, 3);
	event(p, RING_WORD0(HEAPCAST__EVENT_KIND__EVENT_MALLOC, 1, 2, 1, 1, 0), 0x20000, 3);
	word(p, UINT64_C(0x123456789a)); /* large, and weighted */
	word(p, UINT64_C(70000));
	pcs(p, 7, 1);
	event(p, RING_WORD0(HEAPCAST__EVENT_KIND__EVENT_REALLOC, 0, 3, 0, 0, 777), 0x30000, 5);
	word(p, FAR);
	word(p, stamp(p, 4));
	event(p, RING_WORD0(HEAPCAST__EVENT_KIND__EVENT_FREE, 0, 0, 0, 0, 0), 0x20000, 6);
	word(p, RING_LOST);
	word(p, stamp(p, 7));
	word(p, 3);
	word(p, UINT64_C(2) << 32 | 1);
	word(p, UINT64_C(0x0a0b0c0d0e));
	p->events += 3;
	word(p, RING_WORD0(RING_MARK, 0, 0, 0, 0, HEAPCAST__MARK_KIND__MARK_NUMBER));
	word(p, 0x0102030405060708);
	word(p, stamp(p, 8));
	text(p, "spoken");
	event(p, RING_WORD0(HEAPCAST__EVENT_KIND__EVENT_MALLOC, LONG_PCS, 0, 0, 0, 64), 0x40000,
	      10);
	pcs(p, 100, LONG_PCS);
	p->slice->lost =
		(struct ring_losses){.events = ring_turn64(p->swapped, 3),
				     .allocations = ring_turn64(p->swapped, 2),
				     .frees = ring_turn64(p->swapped, 1),
				     .bytes = ring_turn64(p->swapped, UINT64_C(0x0a0b0c0d0e))};
	publish(p);
}

static void write_module(struct program *p)
{
	struct ring_module *m = (struct ring_module *)p->b.ring.ring->modules;
	uint32_t length = sizeof(*m) + sizeof(m->segment[0]) + 16;
	uint64_t *segment = (uint64_t *)m->segment;
	const bool swapped = p->swapped;

	ring_put32(swapped, &m->length, length);
	m->kind = swapped ? __builtin_bswap16(RING_MODULE_LOAD) : RING_MODULE_LOAD;
	m->path_length = swapped ? __builtin_bswap16(sizeof(PATH) - 1) : sizeof(PATH) - 1;
	ring_put32(swapped, &m->id, 1);
	ring_put64(swapped, &m->stamp, stamp(p, 1));
	ring_put64(swapped, &m->bias, PC(0) - 0x1000);
	ring_put64(swapped, &m->start, PC(0));
	ring_put64(swapped, &m->end, PC(0x1000));
	m->segment_count = 1;
	m->build_id_length = 3;
	memcpy(m->build_id, "\1\2\3", 3);
	ring_put64(swapped, segment, 0x1000);
	ring_put64(swapped, segment + 1, 0x1000);
	ring_put64(swapped, segment + 2, 0x2000);
	ring_put64(swapped, segment + 3, 5);
	memcpy(segment + 4, PATH, sizeof(PATH));
	ring_release64(swapped, &p->header->modules_head, length);
}

static Heapcast__Batch *batch_of(bool swapped, uint64_t *ret_released)
{
	struct program p = {0};
	Heapcast__Batch *batch;

	begin(&p, swapped);
	write_module(&p);
	write_records(&p);
	bench_drain(&p.b, true);
	assert_int_equal(p.b.stream.spool.next, 2);
	batch = bench_batch(&p.b, 1);
	*ret_released = ring_get64(swapped, &p.header->modules_tail);
	bench_close(&p.b);
	return batch;
}

static void assert_same(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
	static uint8_t as[2][65536];
	size_t length = protobuf_c_message_pack(a, as[0]);

	assert_int_equal(length, protobuf_c_message_pack(b, as[1]));
	assert_memory_equal(as[0], as[1], length);
}

static void test_same(void **state)
{
	uint64_t released[2];
	Heapcast__Batch *own = batch_of(false, &released[0]), *other = batch_of(true, &released[1]);

	(void)state;
	assert_int_equal(own->events->count, 5);
	assert_int_equal(own->n_module, 1);
	assert_int_equal(own->module[0]->segment[0]->file_offset, 0x2000);
	assert_int_equal(own->n_mark, 2);
	assert_memory_equal(own->mark[1]->text.data, "spoken", 6);
	assert_int_equal(own->n_gap, 1);
	assert_int_equal(own->gap[0]->bytes, UINT64_C(0x0a0b0c0d0e));
	assert_int_equal(own->ledger->not_sampled, 5);
	assert_balanced(own->ledger);
	assert_int_equal(own->process->page_size, 65536);
	assert_string_equal(own->process->architecture, "mips64");

	assert_same(&own->events->base, &other->events->base);
	assert_same(&own->stacks->base, &other->stacks->base);
	assert_int_equal(other->n_module, 1);
	assert_same(&own->module[0]->base, &other->module[0]->base);
	assert_int_equal(other->n_thread, own->n_thread);
	assert_int_equal(other->thread[0]->tid, own->thread[0]->tid);
	assert_int_equal(other->n_mark, own->n_mark);
	for (size_t i = 0; i < own->n_mark; i++)
		assert_same(&own->mark[i]->base, &other->mark[i]->base);
	assert_int_equal(other->n_gap, own->n_gap);
	assert_same(&own->gap[0]->base, &other->gap[0]->base);
	assert_same(&own->ledger->base, &other->ledger->base);
	assert_true(released[0] && released[0] == released[1]);
	heapcast__batch__free_unpacked(own, NULL);
	heapcast__batch__free_unpacked(other, NULL);
}

/* What the program is told. */
static void test_told(void **state)
{
	struct program p = {0};
	const struct capture_ops *ops;

	(void)state;
	begin(&p, true);
	ops = p.b.stream.source->ops;
	assert_int_equal(__builtin_bswap32(p.header->counter), p.b.clock.kind);
	assert_int_equal(__builtin_bswap64(p.header->sample_interval), 70000);
	for (unsigned i = 0; i < 300; i++)
		ops->turn(p.b.stream.source, false);
	assert_int_equal(__builtin_bswap32(p.header->heartbeat), 301);
	p.b.stream.mode = RING_OFF;
	p.b.stream.resume_mode = RING_FULL;
	stream_obey(&p.b.stream);
	assert_int_equal(__builtin_bswap32(p.header->mode), RING_OFF);
	assert_int_equal(__builtin_bswap32(p.header->resume), RING_FULL);
	assert_int_equal(__builtin_bswap32(p.header->control), 2);
	write_records(&p);
	p.slice->wanted = __builtin_bswap64(p.head);
	bench_drain(&p.b, false);
	assert_int_equal(__builtin_bswap64(p.slice->tail), p.head);
	assert_int_equal(__builtin_bswap32(p.slice->tail_futex), 1);
	p.slice->owner[8] = OWNER_DIED >> 24;
	bench_drain(&p.b, false);
	assert_int_equal(p.slice->state, RING_SLICE_FREE);
	assert_int_equal(__builtin_bswap64(p.header->settled), p.events + 5);
	ops->detach(p.b.stream.source);
	assert_int_equal(__builtin_bswap32(p.header->detached), 1);
	assert_int_equal(__builtin_bswap32(p.header->control), 3);
	bench_close(&p.b);
}

static int kill_agent(struct program *p)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->b.ring.ring->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	stream_close(&p->b.stream);
	assert_int_equal(ring_memory_lock(fd), 0);
	return fd;
}

/* The program's memory, where it is mapped now. */
static void mapped_again(struct program *p, size_t slice_at, size_t data_at)
{
	p->header = p->b.ring.ring->header;
	p->slice = (struct ring_slice *)((uint8_t *)p->header + slice_at);
	p->data = (uint64_t *)((uint8_t *)p->header + data_at);
}

static void cut(struct program *p)
{
	word(p, RING_CUT);
	word(p, 2);
	word(p, clock_monotonic_ns());
	word(p, p->events);
	word(p, 3);
	word(p, 2);
	word(p, 1);
	word(p, UINT64_C(0x0a0b0c0d0e));
}

/* Another agent takes the ring up: it finds out the order by itself. */
static void test_taken_up(void **state)
{
	struct program p = {0};
	struct target_info target;
	size_t slice_at, data_at;
	Heapcast__Batch *batch;
	int fd;

	(void)state;
	begin(&p, true);
	write_module(&p);
	write_records(&p);
	usleep(1000);
	bench_drain(&p.b, false);
	p.b.stream.batch.opened_ns = 1;
	bench_drain(&p.b, false);
	assert_int_equal(p.b.stream.delivered.events, 5);
	event(&p, RING_WORD0(HEAPCAST__EVENT_KIND__EVENT_MALLOC, 0, 0, 0, 0, 0x0d0e0f), 0x50000,
	      11);
	publish(&p);
	slice_at = (size_t)((uint8_t *)p.slice - (uint8_t *)p.header);
	data_at = (size_t)((uint8_t *)p.data - (uint8_t *)p.header);
	fd = kill_agent(&p);
	assert_int_equal(target_read(getpid(), &target), 0);
	assert_int_equal(ring_stream_take_up(&p.b.stream, &p.b.ring, &target, fd,
					     (const uint8_t[RING_MARK_SIZE]){0}, p.b.agent_id),
			 0);
	mapped_again(&p, slice_at, data_at);
	assert_string_equal(p.b.stream.target.architecture, "mips64");
	assert_int_equal(p.b.stream.target.page_size, 65536);
	assert_true(p.b.stream.target.big_endian);
	assert_int_equal(p.b.stream.sample_interval, 70000);
	assert_int_equal(__builtin_bswap32(p.header->account.incarnation), 2);
	cut(&p);
	p.events++;
	word(&p, RING_WORD0(HEAPCAST__EVENT_KIND__EVENT_MALLOC, 0, 0, 0, 0, 8));
	word(&p, 0x60000);
	word(&p, clock_monotonic_ns());
	publish(&p);
	bench_drain(&p.b, true);
	batch = bench_batch(&p.b, p.b.stream.spool.next - 1);
	assert_int_equal(batch->events->count, 1);
	assert_int_equal(batch->n_gap, 1);
	assert_int_equal(batch->gap[0]->reason, HEAPCAST__REASON__REASON_AGENT_GONE);
	assert_int_equal(batch->gap[0]->allocations, 1);
	assert_int_equal(batch->gap[0]->bytes, 0x0d0e0f);
	assert_int_equal(batch->ledger->produced, p.events + 5);
	assert_balanced(batch->ledger);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&p.b);
}

#define RAISES 100000

static void *raise_often(void *shared)
{
	for (unsigned i = 0; i < RAISES; i++)
		ring_raise32(true, shared);
	return NULL;
}

/* Both sides raise a counter at once, and none of it is lost. */
static void test_raised_by_two(void **state)
{
	uint32_t shared = 0;
	pthread_t other;

	(void)state;
	assert_int_equal(pthread_create(&other, NULL, raise_often, &shared), 0);
	raise_often(&shared);
	pthread_join(other, NULL);
	assert_int_equal(__builtin_bswap32(shared), 2 * RAISES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_taken_up),
		cmocka_unit_test(test_raised_by_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
