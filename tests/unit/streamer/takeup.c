/* A ring whose agent is gone, and the next one: same threads, same numbers, an exact gap. */
#include "tests/unit/streamer/takeup.h"

static void test_goes_on(void **state)
{
	struct bench b = {0};
	struct writer w[2];
	uint8_t id[STREAM_ID_SIZE];
	uint64_t start_ns;
	uint32_t control;
	Heapcast__Batch *batch;
	const Heapcast__Gap *gap;
	int fd;

	(void)state;
	begin(&b, w, 2);
	memcpy(id, b.stream.id, sizeof(id));
	start_ns = b.stream.start_ns;
	write_events(&w[0], 4, 64); /* nobody reads these */
	w[0].slice->events += 2;
	w[0].slice->lost = (struct ring_losses){.events = 2, .frees = 2};
	fd = kill_agent(&b);
	assert_int_equal(take_up(&b, fd), 0);
	assert_memory_equal(b.stream.id, id, sizeof(id));
	assert_int_equal(b.stream.start_ns, start_ns);
	assert_int_equal(b.stream.incarnation, 2);
	assert_int_equal(b.ring.ring->header->account.incarnation, 2);
	control = b.ring.ring->header->control;
	assert_int_equal(control, 2);
	writer_again(&b, &w[0], 0);
	writer_again(&b, &w[1], 1);
	write_events(&w[0], 1, 128); /* it has not seen the new one yet */
	writer_restart(&w[0], 2);
	write_events(&w[0], 2, 256);
	settle_batch(&b);
	batch = last_batch(&b);
	assert_balanced(batch->ledger);
	assert_int_equal(batch->incarnation, 2);
	assert_int_equal(batch->number, 1);
	assert_non_null(batch->process);
	assert_int_equal(batch->events->count, 2);
	assert_int_equal(batch->n_thread, 2);
	assert_int_equal(batch->thread[0]->number + batch->thread[1]->number, 3);
	assert_int_equal(batch->thread[0]->earlier_delivered, BOTH_READ);
	assert_int_equal(batch->n_gap, 1); /* of the other one nothing is missing */
	gap = gap_of(batch, 1);
	assert_int_equal(gap->reason, HEAPCAST__REASON__REASON_AGENT_GONE);
	assert_int_equal(gap->from, BOTH_READ + 1);
	assert_int_equal(gap->to, BOTH_READ + 4 + 2 + 1);
	assert_int_equal(gap->events, 7);
	assert_int_equal(gap->allocations, 5);
	assert_int_equal(gap->bytes, 5 * 8);
	assert_int_equal(batch->ledger->produced, 2 * BOTH_READ + 7 + 2);
	assert_int_equal(batch->ledger->delivered, 2 * BOTH_READ + 2);
	assert_int_equal(batch->ledger->earlier_delivered, 2 * BOTH_READ);
	assert_int_equal(batch->ledger->lost, 7);
	assert_int_equal(batch->ledger->pending, 0);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

/* A thread that does nothing has its events pending, until it goes on or ends. Twice killed. */
static void test_asleep(void **state)
{
	struct bench b = {0};
	struct writer w[2];
	Heapcast__Batch *batch;

	(void)state;
	begin(&b, w, 2);
	write_events(&w[0], 4, 64);
	write_events(&w[1], 6, 64);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(take_up(&b, kill_agent(&b)), 0);
		settle_batch(&b);
	}
	batch = last_batch(&b);
	assert_int_equal(batch->incarnation, 3);
	assert_balanced(batch->ledger);
	assert_int_equal(batch->ledger->pending, 10);
	assert_int_equal(batch->n_gap, 0);
	heapcast__batch__free_unpacked(batch, NULL);
	writer_again(&b, &w[0], 0);
	writer_again(&b, &w[1], 1);
	writer_restart(&w[0], 2); /* was meant for the one before */
	writer_restart(&w[0], 3);
	writer_die(&w[1]);
	settle_batch(&b);
	batch = last_batch(&b);
	assert_int_equal(gap_of(batch, 1)->events, 4);
	assert_int_equal(gap_of(batch, 2)->events, 6);
	assert_int_equal(batch->ledger->lost, 10);
	assert_int_equal(batch->ledger->pending, 0);
	assert_int_equal(w[1].slice->state, RING_SLICE_FREE);
	heapcast__batch__free_unpacked(batch, NULL);

	/* The dead one is in the sums that the next agent finds. */
	assert_int_equal(take_up(&b, kill_agent(&b)), 0);
	assert_int_equal(b.stream.delivered.events, 2 * BOTH_READ);
	assert_int_equal(b.stream.lost.events, 10);
	assert_int_equal(b.stream.threads.retired.produced, BOTH_READ + 6);
	bench_close(&b);
}

/* Killed between the sum and the freed slice: the thread is counted once. */
static void test_counted_once(void **state)
{
	struct bench b = {0};
	struct writer w[2];
	struct ring_slice kept;
	int fd;

	(void)state;
	begin(&b, w, 2);
	kept = *w[1].slice;
	writer_die(&w[1]);
	settle_batch(&b);
	assert_int_equal(w[1].slice->state, RING_SLICE_FREE);
	*w[1].slice = kept;
	fd = kill_agent(&b);
	assert_int_equal(take_up(&b, fd), 0);
	settle_batch(&b);
	assert_int_equal(b.stream.delivered.events, 2 * BOTH_READ);
	assert_int_equal(stream_ledger(&b.stream).produced, 2 * BOTH_READ);
	bench_close(&b);
}

/* A thread on its way to a larger slice has two; it is one thread, and has one gap. */
static void test_moved(void **state)
{
	struct bench b = {0};
	struct writer w[1], v;
	Heapcast__Batch *batch;

	(void)state;
	begin(&b, w, 1);
	write_events(&w[0], 2, 64);
	v = writer_claim(&b, 5, 1000);
	v.slice->incarnation = 1;
	v.slice->thread_first = w[0].slice->events;
	writer_word(&w[0], RING_MOVE);
	writer_word(&w[0], 5);
	writer_word(&w[0], now());
	writer_publish(&w[0]);
	w[0].slice->state = RING_SLICE_LEFT;
	write_events(&v, 4, 512);
	assert_int_equal(take_up(&b, kill_agent(&b)), 0);
	writer_again(&b, &v, 5);
	writer_restart(&v, 2);
	write_events(&v, 1, 1024);
	settle_batch(&b);
	batch = last_batch(&b);
	assert_int_equal(batch->n_thread, 1);
	assert_int_equal(batch->thread[0]->number, 1);
	assert_int_equal(b.stream.lost.events, 6);
	assert_int_equal(batch->ledger->produced, BOTH_READ + 2 + 4 + 1);
	assert_int_equal(batch->ledger->pending, 0);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

/* The same when the agent had seen both slices: what it had read of the thread counts once. */
static void test_moved_and_seen(void **state)
{
	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		struct bench b = {0};
		struct writer w[1], v;

		begin(&b, w, 1);
		v = writer_claim(&b, 5, 1000);
		v.slice->incarnation = 1;
		v.slice->thread_first = w[0].slice->events;
		v.slice->thread = w[0].slice->thread;
		v.slice->events = more;
		v.slice->thread_delivered = w[0].slice->thread_delivered + more;
		w[0].slice->state = RING_SLICE_LEFT;
		assert_int_equal(take_up(&b, kill_agent(&b)), 0);
		assert_int_equal(b.stream.delivered.events, BOTH_READ + more);
		bench_close(&b);
	}
}

/* A thread begins and ends between two batches, and is sent with the second: the next agent gives
 * its number to nobody else. */
static void test_short_thread(void **state)
{
	struct bench b = {0};
	struct writer w[1], brief;
	Heapcast__Batch *batch;

	(void)state;
	begin(&b, w, 1);
	brief = writer_claim(&b, 1, 1001);
	brief.slice->incarnation = 1;
	write_events(&brief, 2, 8192);
	writer_die(&brief);
	settle_batch(&b);
	assert_int_equal(brief.slice->state, RING_SLICE_FREE);
	assert_int_equal(b.stream.delivered.events, BOTH_READ + 2);
	assert_int_equal(take_up(&b, kill_agent(&b)), 0);
	brief = writer_claim(&b, 1, 1002);
	brief.slice->incarnation = 2;
	write_events(&brief, 1, 16384);
	settle_batch(&b);
	batch = last_batch(&b);
	assert_balanced(batch->ledger);
	assert_int_equal(batch->n_thread, 2);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(batch->thread[i]->number, batch->thread[i]->tid == 1000 ? 1 : 3);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

/* What was ordered holds on; of what nobody orders, the nearest that somebody could. */
static void test_orders(void **state)
{
	const struct {
		uint32_t mode, resume;
		uint64_t interval;
		uint32_t frees;
		struct {
			int mode, resume;
			uint64_t interval;
			bool frees;
		} expected;
	} cases[] = {
		{RING_FULL, RING_OFF, 0, 0, {RING_FULL, RING_FULL, 0, false}},
		{RING_SAMPLE, RING_FULL, 1000, 1, {RING_SAMPLE, RING_SAMPLE, 1000, true}},
		{RING_OFF, RING_FULL, 1, 7, {RING_OFF, RING_FULL, 1, true}},
		{RING_OFF, RING_SAMPLE, 1, 0, {RING_OFF, RING_SAMPLE, 1, false}},
		{RING_OFF, RING_OFF, 1, 0, {RING_OFF, RING_FULL, 1, false}},
		{RING_OFF, 99, 1, 0, {RING_OFF, RING_FULL, 1, false}},
		{99, RING_SAMPLE, 1, 0, {RING_FULL, RING_FULL, 1, false}},
		{RING_SAMPLE,
		 RING_OFF,
		 RING_INTERVAL_MAX + 1,
		 0,
		 {RING_SAMPLE, RING_SAMPLE, RING_INTERVAL_MAX, false}},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench b = {0};
		struct ring_header *h;
		uint8_t parent[STREAM_ID_SIZE] = {9, 8, 7};

		bench_open(&b);
		h = b.ring.ring->header;
		h->mode = cases[i].mode;
		h->resume = cases[i].resume;
		h->sample_interval = cases[i].interval;
		h->frees_have_stacks = cases[i].frees;
		h->machine = 62 + i;
		h->pointer_bits = 64;
		h->page_size = 4096;
		h->account.has_parent = i % 2;
		h->account.parent_event = 100 + i;
		memcpy(h->account.parent_stream, parent, sizeof(parent));
		h->account.start_wall_ns = 5000 + i;
		h->account.image = 3;
		h->account.gone[0] = (struct ring_gone){
			.produced = 10, .not_sampled = 1, .delivered = 5, .lost = 4};
		h->account.no_slice.events = 2;
		assert_int_equal(take_up(&b, kill_agent(&b)), 0);
		assert_int_equal(b.stream.mode, cases[i].expected.mode);
		assert_int_equal(b.stream.resume_mode, cases[i].expected.resume);
		assert_int_equal(b.stream.sample_interval, cases[i].expected.interval);
		assert_int_equal(b.stream.frees_have_stacks, cases[i].expected.frees);
		assert_int_equal(b.stream.has_parent, i % 2);
		assert_int_equal(b.stream.parent_event, 100 + i);
		assert_memory_equal(b.stream.parent_stream, parent, sizeof(parent));
		assert_int_equal(b.stream.start_wall_ns, 5000 + i);
		assert_int_equal(b.stream.image, 3);
		assert_int_equal(b.stream.threads.retired.produced, 10);
		assert_int_equal(b.stream.threads.retired.not_sampled, 1);
		assert_int_equal(b.stream.threads.retired.delivered, 5);
		assert_int_equal(b.stream.threads.retired.lost, 4);
		assert_int_equal(b.stream.no_thread, 2);
		assert_int_equal(b.stream.earlier_delivered, 5);
		bench_close(&b);
	}
}

/* A flight recorder begins anew: of what was before, it has nothing. What was delivered counts. */
static void test_recorder(void **state)
{
	const struct flight_settings flight = {.window_ns = 1000000000};
	struct bench b = {0};
	struct ring_account *a;

	(void)state;
	bench_open_holding(&b, NULL, &flight);
	a = &b.ring.ring->header->account;
	a->delivered[0] = 11;
	a->delivered[1] = 12;
	a->delivered[2] = 13;
	a->lost = (struct ring_losses){14, 15, 16, 17};
	a->stacks_cut = 18;
	a->watermark_ns = 19;
	b.stream.flight.head = b.stream.flight.first = 3;
	assert_int_equal(take_up(&b, kill_agent(&b)), 0);
	assert_in_range(b.stream.flight.whole_ns, 1, stream_now(&b.stream));
	assert_int_equal(b.stream.flight.head, 0);
	assert_int_equal(b.stream.delivered.allocations, 11);
	assert_int_equal(b.stream.delivered.frees, 12);
	assert_int_equal(b.stream.delivered.bytes, 13);
	assert_int_equal(b.stream.delivered.time_ns, 19);
	assert_int_equal(b.stream.lost.allocations, 15);
	assert_int_equal(b.stream.lost.frees, 16);
	assert_int_equal(b.stream.lost.bytes, 17);
	assert_int_equal(b.stream.stacks_cut, 18);
	assert_int_equal(b.stream.watermark_ns, 19);
	assert_int_equal(b.stream.spool.evicted.allocations, 11);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goes_on),	       cmocka_unit_test(test_asleep),
		cmocka_unit_test(test_counted_once),   cmocka_unit_test(test_moved),
		cmocka_unit_test(test_moved_and_seen), cmocka_unit_test(test_short_thread),
		cmocka_unit_test(test_orders),	       cmocka_unit_test(test_recorder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
