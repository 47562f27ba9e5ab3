/* A ring that is damaged: what can be read is read, the rest is named, and the account balances. */
#include "tests/unit/streamer/harness.h"

/* Damage: the account names what could not be read, and the next whole stack is right again. */
static void test_damage(void **state)
{
	struct bench b = {0};
	struct writer w;
	uint64_t pcs[] = {100002, 100001};
	struct event got[4];
	Heapcast__Batch *batch;

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	writer_event(&w, 1, 16, 8, now(), 0, 2, pcs);
	w.slice->events++;
	writer_word(&w, 77); /* no kind */
	writer_word(&w, 0);
	writer_word(&w, 0);
	writer_publish(&w);
	usleep(200);
	bench_drain(&b, false);
	writer_event(&w, 1, 32, 8, now(), 1, 1, pcs);
	writer_die(&w);
	usleep(200);
	bench_drain(&b, true);
	assert_int_equal(bench_events(&b, got, 4), 2);
	batch = bench_batch(&b, 1);
	assert_int_equal(batch->n_gap, 1);
	assert_int_equal(batch->gap[0]->reason, HEAPCAST__REASON__REASON_DAMAGED);
	assert_int_equal(batch->gap[0]->events, 1);
	assert_int_equal(b.ring.records_damaged, 1);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

/* So many words of an event that is `length` words long by its count. */
static void write_part(struct writer *w, unsigned kind, unsigned length, unsigned words)
{
	unsigned head = event_class(kind) == EVENT_CLASS_REALLOCATION ? 5 : 3;

	w->slice->events++;
	writer_word(w, RING_WORD0(kind, length - head, 0, 0, 0, 8));
	writer_word(w, 16);
	writer_word(w, now());
	for (unsigned i = 3; i < words; i++)
		writer_word(w, 100000 + i);
}

#define PART_WORDS 8 /* the words of a slice are a multiple of these */

static const unsigned plain_kinds[] = {HEAPCAST__EVENT_KIND__EVENT_MALLOC,
				       HEAPCAST__EVENT_KIND__EVENT_FREE,
				       HEAPCAST__EVENT_KIND__EVENT_REALLOC};

/* Alone, or behind others that are read in one go, an event ends where what is published does,
 * or it is damage. */
static void test_beyond_head(void **state)
{
	const unsigned length = 2 * PART_WORDS;

	(void)state;
	for (unsigned i = 0; i < 3 * 2 * 2; i++) {
		unsigned kind = plain_kinds[i / 4], before = i & 2, beyond = i & 1;
		struct bench b = {0};
		struct writer w;

		bench_open(&b);
		w = writer_claim(&b, 0, 1000);
		for (unsigned k = 0; k < before; k++)
			write_part(&w, kind, PART_WORDS, PART_WORDS);
		write_part(&w, kind, length + beyond, length);
		writer_publish(&w);
		usleep(200);
		bench_drain(&b, false);
		assert_int_equal(b.ring.records_damaged, beyond);
		assert_int_equal(b.stream.delivered.events, before + !beyond);
		assert_int_equal(w.slice->tail, w.head);
		bench_close(&b);
	}
}

/* Likewise where the slice's data ends: what is published goes on at their start, an event does
 * not. */
static void test_beyond_data(void **state)
{
	const unsigned length = 2 * PART_WORDS;

	(void)state;
	for (unsigned i = 0; i < 3 * 2 * 2; i++) {
		unsigned kind = plain_kinds[i / 4], before = i & 2, beyond = i & 1, filled = 0;
		struct bench b = {0};
		struct writer w;

		bench_open(&b);
		w = writer_claim(&b, 0, 1000);
		for (; w.head < w.words - length - PART_WORDS * before; filled++)
			write_part(&w, kind, PART_WORDS, PART_WORDS);
		writer_publish(&w);
		usleep(200);
		bench_drain(&b, false);
		assert_int_equal(w.slice->tail, w.head);
		for (unsigned k = 0; k < before; k++)
			write_part(&w, kind, PART_WORDS, PART_WORDS);
		write_part(&w, kind, length + beyond, length + beyond);
		writer_publish(&w);
		usleep(200);
		bench_drain(&b, false);
		assert_int_equal(b.ring.records_damaged, beyond);
		assert_int_equal(b.stream.delivered.events, filled + before + !beyond);
		assert_int_equal(w.slice->tail, w.head);
		bench_close(&b);
	}
}

/* What was read before damage is no base for stacks that come after it: of those that count on
 * it the outer frames are missing. */
static void test_damage_stacks(void **state)
{
	uint64_t pcs[] = {100003, 100002, 100001};
	struct stack_node node;
	struct bench b = {0};
	struct event got[3];
	struct writer w;

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	writer_event(&w, 1, 16, 8, now(), 0, 3, pcs);
	w.slice->events++;
	for (unsigned i = 0; i < 3; i++)
		writer_word(&w, 77); /* no kind */
	writer_publish(&w);
	usleep(200);
	bench_drain(&b, false);
	assert_int_equal(b.ring.records_damaged, 1);
	writer_event(&w, 1, 32, 8, now(), 2, 1, pcs);
	writer_event(&w, 1, 48, 8, now(), 0, 3, pcs);
	usleep(200);
	bench_drain(&b, true);
	assert_int_equal(bench_events(&b, got, 3), 3);
	assert_int_not_equal(got[1].stack, got[0].stack);
	stacks_get(&b.stream.stacks, got[1].stack, &node);
	assert_int_equal(node.offset, pcs[0]);
	stacks_get(&b.stream.stacks, node.parent, &node);
	assert_int_equal(node.module, 0);
	assert_int_equal(node.offset, HEAPCAST__PSEUDO_FRAME__FRAME_TRUNCATED);
	assert_int_equal(got[2].stack, got[0].stack);
	bench_close(&b);
}

/* Anything at all in the ring: it ends, and what it says balances. */
static void test_noise(void **state)
{
	struct bench b = {0};

	(void)state;
	srandom(11);
	bench_open(&b);
	for (unsigned round = 0; round < 300; round++) {
		struct ring_memory *ring = b.ring.ring;
		uint8_t *bytes = (uint8_t *)ring->header;

		for (unsigned i = 0; i < 200; i++) {
			size_t at = random() % 3 ? (size_t)random() % 16384
						 : (size_t)random() % ring->size;

			bytes[at] = (uint8_t)random();
		}
		ring->header->byte_order = 0x01020304;
		for (unsigned i = 0; i < ring->slice_count; i++)
			if (random() % 4 == 0)
				ring->slices[i].state = RING_SLICE_OWNED;
		bench_drain(&b, false);
		spool_ack(&b.stream.spool, b.stream.spool.next - 1, b.stream.spool.next - 1);
	}
	bench_drain(&b, true);
	for (uint64_t i = b.stream.spool.first; i < b.stream.spool.next; i++) {
		Heapcast__Batch *batch = bench_batch(&b, i);

		assert_balanced(batch->ledger);
		heapcast__batch__free_unpacked(batch, NULL);
	}
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damage),	    cmocka_unit_test(test_beyond_head),
		cmocka_unit_test(test_beyond_data), cmocka_unit_test(test_damage_stacks),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
