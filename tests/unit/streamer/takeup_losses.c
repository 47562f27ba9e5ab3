/* What a stream that is taken up says of losses: those before, between the agents, and since. */
#include "tests/unit/streamer/takeup.h"

#include "agent/core/threads.h"

/* The program could not record these, and says so. */
static void write_lost(struct writer *w, const struct ring_losses *lost)
{
	struct ring_losses *sum = &w->slice->lost;

	w->slice->events += lost->events;
	sum->events += lost->events;
	sum->allocations += lost->allocations;
	sum->frees += lost->frees;
	sum->bytes += lost->bytes;
	writer_pad(w, 5);
	writer_word(w, RING_LOST);
	writer_word(w, now());
	writer_word(w, lost->events);
	writer_word(w, lost->allocations << 32 | lost->frees);
	writer_word(w, lost->bytes);
	writer_publish(w);
}

static void write_realloc(struct writer *w, uint64_t old_address, uint32_t size)
{
	w->slice->events++;
	writer_word(w, RING_WORD0(HEAPCAST__EVENT_KIND__EVENT_REALLOC, 0, 0, 0, 0, size));
	writer_word(w, 128);
	writer_word(w, now());
	writer_word(w, old_address);
	writer_word(w, now());
	writer_publish(w);
}

/* The thread of which the first agent has sent and lost something: it says so, and has no gap. */
static void expect_earlier(struct bench *b, const struct ring_losses *lost)
{
	Heapcast__Batch *batch = last_batch(b);
	const struct thread *t = threads_find(&b->stream.threads, 1000);

	assert_int_equal(t->counts.delivered, BOTH_READ);
	assert_int_equal(t->counts.lost, lost->events);
	for (size_t i = 0; i < batch->n_thread; i++) {
		if (batch->thread[i]->number != t->number)
			continue;
		assert_int_equal(batch->thread[i]->earlier_delivered, BOTH_READ);
		assert_int_equal(batch->thread[i]->earlier_lost, lost->events);
	}
	assert_int_equal(batch->n_gap, 0);
	assert_balanced(batch->ledger);
	assert_int_equal(batch->ledger->produced, 3 * BOTH_READ + 2 * lost->events);
	assert_int_equal(batch->ledger->delivered, 3 * BOTH_READ);
	assert_int_equal(batch->ledger->earlier_delivered, 3 * BOTH_READ);
	assert_int_equal(batch->ledger->lost, 2 * lost->events);
	assert_int_equal(batch->ledger->lost_bytes, 2 * lost->bytes);
	assert_int_equal(batch->ledger->pending, 0);
	heapcast__batch__free_unpacked(batch, NULL);
}

/* What the first agent has told as lost is lost, and what it has sent is delivered: of threads
 * that go on, of one that has ended before, and in the next agent's own account, for the one
 * after it. */
static void test_lost_before(void **state)
{
	const struct ring_losses lost = {.events = 5, .allocations = 2, .frees = 3, .bytes = 20};
	struct bench b = {0};
	struct writer w[3];

	(void)state;
	begin(&b, w, 3);
	write_lost(&w[0], &lost);
	write_lost(&w[1], &lost);
	writer_die(&w[1]);
	settle_batch(&b);
	assert_int_equal(b.stream.lost.events, 2 * lost.events);
	assert_int_equal(w[1].slice->state, RING_SLICE_FREE);
	for (unsigned round = 0; round < 2; round++) {
		assert_int_equal(take_up(&b, kill_agent(&b)), 0);
		assert_int_equal(b.stream.delivered.events, 3 * BOTH_READ);
		assert_int_equal(b.stream.lost.events, 2 * lost.events);
		assert_int_equal(b.stream.threads.retired.delivered, BOTH_READ);
		assert_int_equal(b.stream.threads.retired.lost, lost.events);
		settle_batch(&b);
		expect_earlier(&b, &lost);
	}
	bench_close(&b);
}

/* The next batch has one gap, of the first thread. */
static void expect_gap(struct bench *b, Heapcast__Reason reason, const struct ring_losses *lost)
{
	Heapcast__Batch *batch;
	const Heapcast__Gap *gap;

	settle_batch(b);
	batch = last_batch(b);
	assert_int_equal(batch->n_gap, 1);
	gap = gap_of(batch, 1);
	assert_int_equal(gap->reason, reason);
	assert_int_equal(gap->events, lost->events);
	assert_int_equal(gap->allocations, lost->allocations);
	assert_int_equal(gap->frees, lost->frees);
	assert_int_equal(gap->bytes, lost->bytes);
	assert_balanced(batch->ledger);
	assert_int_equal(batch->ledger->pending, 0);
	heapcast__batch__free_unpacked(batch, NULL);
}

/* Records before the cut tell what kinds of events were lost with the agent. Behind it only what
 * is lost anew counts. */
static void test_lost_between(void **state)
{
	const struct ring_losses lost = {.events = 4, .allocations = 3, .frees = 1, .bytes = 1000},
				 all = {.events = 4 + 4,
					.allocations = 3 + 3,
					.frees = 1 + 2,
					.bytes = 1000 + 208},
				 anew = {.events = 2, .frees = 2}, begun = {.events = 1};
	struct bench b = {0};
	struct writer w[1];

	(void)state;
	begin(&b, w, 1);
	write_events(&w[0], 1, 64); /* of 8 bytes */
	writer_event(&w[0], HEAPCAST__EVENT_KIND__EVENT_FREE, 64, 0, now(), 0, 0, NULL);
	write_realloc(&w[0], 4096, 100); /* a block moves, */
	write_realloc(&w[0], 0, 100);	 /* and one is new */
	write_lost(&w[0], &lost);
	assert_int_equal(take_up(&b, kill_agent(&b)), 0);
	writer_again(&b, &w[0], 0);
	writer_restart(&w[0], 2);
	write_events(&w[0], 1, 512);
	expect_gap(&b, HEAPCAST__REASON__REASON_AGENT_GONE, &all);
	write_lost(&w[0], &anew);
	expect_gap(&b, HEAPCAST__REASON__REASON_RING_FULL, &anew);
	w[0].slice->events++; /* began one, and died */
	writer_die(&w[0]);
	expect_gap(&b, HEAPCAST__REASON__REASON_WRITER_DIED, &begun);
	assert_int_equal(stream_ledger(&b.stream).lost, 8 + 2 + 1);
	assert_int_equal(stream_ledger(&b.stream).delivered, BOTH_READ + 1);
	bench_close(&b);
}

/* Threads without a slice lost something while nobody looked: since the agent before had looked
 * last, and no longer. */
static void test_no_slice(void **state)
{
	struct bench b = {0};
	struct writer w[1];
	Heapcast__Batch *batch;
	const Heapcast__Gap *gap;
	uint64_t known_ns;

	(void)state;
	begin(&b, w, 1);
	b.ring.ring->header->no_slice = (struct ring_losses){.events = 3, .allocations = 3};
	settle_batch(&b);
	usleep(20000);
	write_events(&w[0], 1, 64);
	settle_batch(&b);
	known_ns = b.ring.ring->header->account.watermark_ns;
	assert_true(known_ns > 0);
	assert_int_equal(take_up(&b, kill_agent(&b)), 0);
	assert_int_equal(b.stream.lost.events, 3);
	b.ring.ring->header->no_slice = (struct ring_losses){.events = 10, .allocations = 10};
	settle_batch(&b);
	batch = last_batch(&b);
	gap = gap_of(batch, 0);
	assert_int_equal(gap->reason, HEAPCAST__REASON__REASON_NO_SLICE);
	assert_int_equal(gap->events, 7);
	assert_true(gap->from_ns + BATCH_TICK_NS >= known_ns && gap->from_ns <= known_ns);
	assert_true(gap->to_ns >= gap->from_ns && gap->to_ns <= stream_now(&b.stream));
	assert_balanced(batch->ledger);
	assert_int_equal(batch->ledger->lost, 10);
	assert_int_equal(batch->ledger->produced, BOTH_READ + 1 + 10);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost_before),
		cmocka_unit_test(test_lost_between),
		cmocka_unit_test(test_no_slice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
