/* Gaps: what was lost, by whom, and which losses are told as one. */
#include "tests/unit/streamer/harness.h"

static void test_lost_and_no_slice(void **state)
{
	struct bench b = {0};
	struct writer w;
	uint64_t pc = 100000;
	Heapcast__Batch *batch;

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	writer_event(&w, 1, 16, 8, now(), 0, 1, &pc);
	w.slice->events += 10;
	w.slice->lost =
		(struct ring_losses){.events = 10, .allocations = 6, .frees = 4, .bytes = 60};
	writer_word(&w, RING_LOST);
	writer_word(&w, now());
	writer_word(&w, 10);
	writer_word(&w, UINT64_C(6) << 32 | 4);
	writer_word(&w, 60);
	writer_event(&w, 1, 32, 8, now(), 0, 1, &pc);
	b.ring.ring->header->no_slice =
		(struct ring_losses){.events = 7, .allocations = 7, .bytes = 70};
	usleep(200);
	bench_drain(&b, true);
	batch = bench_batch(&b, 1);
	assert_int_equal(batch->n_gap, 2);
	assert_int_equal(batch->gap[0]->reason, HEAPCAST__REASON__REASON_NO_SLICE);
	assert_int_equal(batch->gap[0]->thread, 0);
	assert_int_equal(batch->gap[1]->from, 2);
	assert_int_equal(batch->gap[1]->to, 11);
	assert_int_equal(batch->ledger->produced, 19);
	assert_int_equal(batch->ledger->lost, 17);
	assert_int_equal(batch->ledger->lost_bytes, 130);
	assert_balanced(batch->ledger);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

/* Lets the stream take the items that `run` has got since the last call. */
static void take(struct bench *b)
{
	assert_true(stream_take(&b->stream));
	b->stream.run.count = b->stream.run.taken = 0;
}

static struct thread *begin_thread(struct bench *b, uint32_t lane, uint32_t tid)
{
	struct run_item *item = run_put(&b->stream.run, RUN_THREAD, lane, 1000);

	item->thread.tid = tid;
	item->thread.name[0] = 0;
	take(b);
	return b->stream.lane_thread[lane];
}

/* A thread's losses, one told after the other. What a thread was told of goes on in the gap before,
 * if nothing has come between. */
static void lose(struct bench *b, uint32_t lane, const struct run_losses *lost, int reason,
		 uint64_t from_ns, uint64_t to_ns)
{
	run_put_gap(&b->stream.run, lane, lost, reason, from_ns, to_ns);
	if (lane != RUN_NO_LANE)
		run_put_counts(&b->stream.run, lane, lost->events, 0);
	take(b);
}

static void assert_gap(const Heapcast__Gap *gap, const struct thread *t,
		       const struct run_losses *first, const struct run_losses *second)
{
	assert_int_equal(gap->thread, t ? t->number : 0);
	assert_int_equal(gap->events, first->events + second->events);
	assert_int_equal(gap->allocations, first->allocations + second->allocations);
	assert_int_equal(gap->frees, first->frees + second->frees);
	assert_int_equal(gap->bytes, first->bytes + second->bytes);
	if (t)
		assert_int_equal(gap->to, gap->from + gap->events - 1);
}

/* Two gaps that follow each other are one, which has all of both; those of another thread, of
 * another reason, or with an event between are not. */
static void test_merged_gaps(void **state)
{
	const struct run_losses some = {.events = 9, .allocations = 2, .frees = 4, .bytes = 100},
				more = {.events = 13, .allocations = 1, .frees = 8, .bytes = 1000},
				none = {0};
	struct bench b = {0};
	struct thread *t, *u;
	struct run_item *e;
	Heapcast__Batch *batch;
	uint64_t frees = 0;

	(void)state;
	bench_open(&b);
	t = begin_thread(&b, 0, 77);
	u = begin_thread(&b, 1, 78);
	lose(&b, 0, &some, HEAPCAST__REASON__REASON_RING_FULL, 10, 20);
	lose(&b, 0, &more, HEAPCAST__REASON__REASON_RING_FULL, 30, 40);
	lose(&b, 1, &some, HEAPCAST__REASON__REASON_RING_FULL, 50, 60);
	lose(&b, 0, &some, HEAPCAST__REASON__REASON_RING_FULL, 70, 80);
	lose(&b, 0, &more, HEAPCAST__REASON__REASON_DAMAGED, 90, 100);
	e = run_put(&b.stream.run, RUN_EVENT, 0, 110);
	e->event = 1;
	e->class = EVENT_CLASS_ALLOCATION;
	e->address = 16;
	e->size = 8;
	e->frames = 0;
	run_put_counts(&b.stream.run, 0, 1, 0);
	take(&b);
	lose(&b, 0, &more, HEAPCAST__REASON__REASON_DAMAGED, 120, 130);
	lose(&b, RUN_NO_LANE, &some, HEAPCAST__REASON__REASON_DAMAGED, 140, 150); /* of no thread */
	lose(&b, RUN_NO_LANE, &more, HEAPCAST__REASON__REASON_DAMAGED, 160, 170);
	run_put(&b.stream.run, RUN_LEFT, 0, 0);
	run_put(&b.stream.run, RUN_LEFT, 1, 0);
	take(&b);
	bench_drain(&b, true);

	batch = bench_batch(&b, 1);
	assert_int_equal(batch->n_gap, 6);
	assert_gap(batch->gap[0], t, &some, &more);
	assert_gap(batch->gap[1], u, &some, &none);
	assert_gap(batch->gap[2], t, &some, &none);
	assert_gap(batch->gap[3], t, &more, &none);
	assert_gap(batch->gap[4], t, &more, &none);
	assert_gap(batch->gap[5], NULL, &some, &more);
	assert_int_equal(batch->gap[0]->from, 1);
	assert_int_equal(batch->gap[0]->from_ns, 10);
	assert_int_equal(batch->gap[0]->to_ns, 40);
	assert_int_equal(batch->gap[4]->from, batch->gap[3]->to + 2);
	for (size_t i = 0; i < batch->n_gap; i++)
		frees += batch->gap[i]->frees;
	assert_int_equal(batch->ledger->lost_frees, frees);
	assert_int_equal(batch->ledger->lost_allocations,
			 4 * some.allocations + 4 * more.allocations);
	assert_int_equal(batch->ledger->lost_bytes, 4 * some.bytes + 4 * more.bytes);
	assert_int_equal(batch->ledger->lost, 4 * some.events + 4 * more.events);
	assert_balanced(batch->ledger);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost_and_no_slice),
		cmocka_unit_test(test_merged_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
