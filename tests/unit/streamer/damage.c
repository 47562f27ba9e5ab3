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
	assert_int_equal(b.stream.source.records_damaged, 1);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

static void put_record(struct writer *w, uint32_t said, uint32_t count, const uint64_t *pcs)
{
	w->slice->events++;
	writer_word(w, RING_WORD0(1, said, 0, 0, 0, 8));
	writer_word(w, 48);
	writer_word(w, now());
	for (uint32_t i = 0; i < count; i++)
		writer_word(w, pcs[i]);
}

/* What a run of plain records takes lies within what the program has published: a record that ends
 * with the head is taken, one whose count reaches a word beyond it is damaged. */
static void test_count_at_the_head(void **state)
{
	uint64_t pcs[] = {100003, 100002, 100001};
	uint32_t count = sizeof(pcs) / sizeof(pcs[0]);

	(void)state;
	for (uint32_t beyond = 0; beyond < 2; beyond++) {
		struct bench b = {0};
		struct event got[4];
		struct writer w;

		bench_open(&b);
		w = writer_claim(&b, 0, 1000);
		writer_event(&w, 1, 16, 8, now(), 0, count, pcs);
		put_record(&w, count + beyond, count, pcs);
		writer_publish(&w);
		writer_die(&w);
		usleep(200);
		bench_drain(&b, true);
		assert_int_equal(bench_events(&b, got, 4), 2 - beyond);
		assert_int_equal(b.stream.source.records_damaged, beyond);
		bench_close(&b);
	}
}

/* Likewise one that would go on behind the end of the slice's memory. */
static void test_count_at_the_end(void **state)
{
	uint64_t pcs[] = {100003, 100002, 100001};
	uint32_t count = sizeof(pcs) / sizeof(pcs[0]);

	(void)state;
	for (uint32_t beyond = 0; beyond < 2; beyond++) {
		struct bench b = {0};
		uint64_t last;
		struct writer w;

		bench_open(&b);
		w = writer_claim(&b, 0, 1000);
		last = w.words - (3 + count) + beyond; /* where it begins */
		writer_event(&w, 1, 16, 8, now(), 0, (uint32_t)(last % 3), pcs);
		while (w.head < last - 3)
			writer_event(&w, 1, 16, 8, now(), 0, 0, pcs);
		usleep(200);
		bench_drain(&b, false);
		writer_event(&w, 1, 16, 8, now(), 0, 0, pcs);
		assert_int_equal(w.head, last);
		put_record(&w, count, count, pcs);
		writer_event(&w, 1, 16, 8, now(), 0, 0, pcs);
		writer_die(&w);
		usleep(200);
		bench_drain(&b, true);
		assert_int_equal(b.stream.source.records_damaged, beyond);
		assert_int_equal(stream_ledger(&b.stream).lost, 2 * beyond);
		bench_close(&b);
	}
}

/* Anything at all in the ring: it ends, and what it says balances. */
static void test_noise(void **state)
{
	struct bench b = {0};

	(void)state;
	srandom(11);
	bench_open(&b);
	for (unsigned round = 0; round < 300; round++) {
		struct ring_memory *ring = b.stream.source.ring;
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
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_count_at_the_head),
		cmocka_unit_test(test_count_at_the_end),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
