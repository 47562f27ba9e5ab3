/* What becomes of items of a run: threads, counts and losses. */
#include "tests/unit/streamer/scripted.h"

#include <sys/prctl.h>

static int setup_culling(void **state)
{
	static const struct cull_settings cull = {.time_ns = UINT64_C(3600000000000)};

	(void)state;
	memset(&b, 0, sizeof(b));
	script_open_holding(&b, &cull, NULL);
	assert_int_equal(s->cull.time_ns, cull.time_ns);
	forget(script_batch(&b));
	return 0;
}

static struct thread *thread_numbered(uint32_t number)
{
	threads_each(&s->threads, t) if (t->number == number) return t;
	fail_msg("no thread %u", (unsigned)number);
	return NULL;
}

/* ---- threads ---- */

static void threads_are_named(void **state)
{
	Heapcast__Batch *batch;

	(void)state;
	prctl(PR_SET_NAME, "named by kernel");
	script_thread(0, (uint32_t)getpid(), "said");
	script_thread(1, NOBODY, "said");
	script_thread(2, NOBODY + 1, "");
	batch = script_batch(&b);
	assert_int_equal(batch->n_thread, 3);
	assert_text(batch->thread[0]->name, "named by kernel");
	assert_text(batch->thread[1]->name, "said");
	assert_text(batch->thread[2]->name, "");
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(batch->thread[i]->number, i + 1);
		assert_int_equal(batch->thread[i]->started_ns, 1000);
		assert_int_equal(batch->thread[i]->ended_ns, 0);
	}
	assert_int_equal(batch->thread[1]->tid, NOBODY);
	forget(batch);
}

/* A thread that goes on in another lane is the same; without that flag a tid is another thread. */
static void threads_go_on(void **state)
{
	(void)state;
	script_thread(0, NOBODY, "a");
	script_thread(1, NOBODY, "b")->flags = RUN_CONTINUES;
	script_thread(2, NOBODY, "c");
	script_thread(3, NOBODY + 1, "d")->flags = RUN_CONTINUES;
	bench_drain(&b, false);
	assert_int_equal(s->lane_thread[0]->number, 1);
	assert_ptr_equal(s->lane_thread[1], s->lane_thread[0]);
	assert_int_equal(s->lane_thread[0]->lanes, 2);
	assert_string_equal(s->lane_thread[0]->name, "a");
	assert_int_equal(s->lane_thread[2]->number, 2);
	assert_int_equal(s->lane_thread[3]->number, 3);
	assert_int_equal(s->lane_thread[3]->lanes, 1);

	/* Another one in a lane that was not left; the last lane of the first. */
	script_again();
	script_thread(1, NOBODY + 2, "e");
	script_put(RUN_LEFT, 0, 0);
	bench_drain(&b, false);
	assert_int_equal(s->lane_thread[1]->number, 4);
	assert_null(s->lane_thread[0]);
	assert_int_equal(thread_numbered(1)->lanes, 0);
	assert_true(thread_numbered(1)->alive);

	script_again();
	script_put(RUN_ENDED, 2, 77000);
	bench_drain(&b, false);
	assert_false(thread_numbered(2)->alive);
	assert_int_equal(thread_numbered(2)->ended_ns, 77000);
}

/* A batch has room for 64 threads: the next one goes into the next batch, and nothing is lost. */
static void threads_of_a_batch(void **state)
{
	const uint64_t first = s->spool.next;
	Heapcast__Batch *batch;

	(void)state;
	for (uint32_t i = 0; i < BATCH_THREADS_MAX; i++)
		script_thread(i % 4, NOBODY + i, "some");
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, first);
	assert_int_equal(s->threads.news, BATCH_THREADS_MAX);
	script_again();
	script_put(RUN_ENDED, 0, 5000); /* it is news already */
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, first);
	script_again();
	script_thread(0, NOBODY + 99, "one more");
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, first + 1);
	batch = bench_batch(&b, first);
	assert_int_equal(batch->n_thread, BATCH_THREADS_MAX);
	assert_int_equal(batch->thread[60]->ended_ns, 5000);
	forget(batch);
	batch = script_batch(&b);
	assert_int_equal(batch->n_thread, 1);
	assert_int_equal(batch->thread[0]->tid, NOBODY + 99);
	forget(batch);

	/* The end of a thread is news, too. */
	script_again();
	for (uint32_t i = 0; i < BATCH_THREADS_MAX; i++)
		script_thread(1, NOBODY + 100 + i, "some");
	script_put(RUN_ENDED, 0, 6000);
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, first + 3);
	batch = script_batch(&b);
	assert_int_equal(batch->n_thread, 1);
	assert_int_equal(batch->thread[0]->ended_ns, 6000);
	forget(batch);
}

/* Threads that leave no trace but news give their places to others. */
static void threads_of_any_number(void **state)
{
	const uint32_t most = 3 * s->threads.capacity;

	(void)state;
	for (uint32_t i = 0; i < most; i++) {
		script_again();
		script_thread(0, NOBODY + i, "some");
		script_event(0, 1, 16);
		bench_drain(&b, false);
		assert_int_equal(s->lane_thread[0]->number, i + 1);
		spool_ack(&s->spool, s->spool.next - 1, s->spool.next - 1);
	}
	assert_true(s->grow_wanted);
	assert_int_equal(s->delivered.events, most);
	assert_int_equal(threads_total(&s->threads).delivered, most);
}

/* What is held of threads that have ended is sent when others need their places. */
static void threads_with_held_events(void **state)
{
	const uint32_t most = s->threads.capacity + 10;

	(void)state;
	for (uint32_t i = 0; i < most; i++) {
		script_again();
		script_thread(0, NOBODY + i, "some");
		script_event(0, 1, 16 * (i + 1));
		bench_drain(&b, false);
		assert_int_equal(s->lane_thread[0]->number, i + 1);
		spool_ack(&s->spool, s->spool.next - 1, s->spool.next - 1);
	}
	assert_true(s->delivered.events >= s->threads.capacity - 10);
	assert_int_equal(stream_taken(s), most);
}

static struct run_item *resume(uint32_t lane, uint32_t tid, uint32_t number)
{
	struct run_item *item = script_put(RUN_RESUME, lane, 0);

	item->thread.tid = tid;
	item->thread.number = number;
	item->thread.delivered = 10;
	item->thread.lost = 3;
	item->thread.produced = 20;
	item->thread.not_sampled = 4;
	return item;
}

static void threads_are_resumed(void **state)
{
	Heapcast__Batch *batch;
	struct thread *t;

	(void)state;
	prctl(PR_SET_NAME, "resumed");
	s->threads.last_number = 9; /* as the agent before has left it */
	resume(0, (uint32_t)getpid(), 7);
	resume(1, (uint32_t)getpid(), 7); /* another lane of the same */
	resume(2, (uint32_t)getpid(), 8); /* another thread, which had that tid before */
	bench_drain(&b, false);
	t = s->lane_thread[0];
	assert_int_equal(t->number, 7);
	assert_ptr_equal(s->lane_thread[1], t);
	assert_int_equal(t->lanes, 2);
	assert_string_equal(t->name, "resumed");
	assert_int_equal(t->counts.delivered, 10);
	assert_int_equal(t->counts.lost, 3);
	assert_int_equal(t->counts.produced, 40);
	assert_int_equal(t->counts.not_sampled, 8);
	assert_int_equal(s->lane_thread[2]->number, 8);
	assert_int_equal(s->lane_thread[2]->counts.produced, 20);
	assert_int_equal(s->lane_thread[2]->counts.not_sampled, 4);
	s->delivered.events = 20; /* as the agent before has left it */
	s->lost.events = 6;
	batch = script_batch(&b);
	assert_int_equal(batch->n_thread, 2);
	assert_int_equal(batch->thread[0]->earlier_delivered, 10);
	assert_int_equal(batch->thread[0]->earlier_lost, 3);
	forget(batch);
	script_again();
	script_event(0, 1, 16);
	script_gap(1, HEAPCAST__REASON__REASON_RING_FULL, 2);
	batch = script_batch(&b);
	assert_int_equal(batch->gap[0]->from, 15);
	assert_int_equal(batch->gap[0]->to, 16);
	forget(batch);
}

static void threads_resumed_of_a_batch(void **state)
{
	const uint64_t first = s->spool.next;
	Heapcast__Batch *batch;

	(void)state;
	s->threads.last_number = 100;
	for (uint32_t i = 0; i < BATCH_THREADS_MAX; i++)
		resume(i % 4, NOBODY + i, 1 + i);
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, first);
	script_again();
	resume(0, NOBODY + BATCH_THREADS_MAX - 1, BATCH_THREADS_MAX); /* is known */
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, first);
	script_again();
	resume(0, NOBODY + 90, 91);
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, first + 1);
	batch = bench_batch(&b, first);
	assert_int_equal(batch->n_thread, BATCH_THREADS_MAX);
	forget(batch);
	assert_int_equal(s->lane_thread[0]->number, 91);
}

/* ---- counts ---- */

static uint64_t number_at(ProtobufCBinaryData column, unsigned index)
{
	struct reader r = reader_of(column.data, column.len);
	uint64_t number = 0;

	for (unsigned i = 0; i <= index; i++)
		number = reader_varint(&r);
	assert_int_equal(r.error, 0);
	return number;
}

static void counts_grow(void **state)
{
	struct run_item *item;
	Heapcast__Batch *batch;

	(void)state;
	for (uint32_t lane = 0; lane < 3; lane++)
		script_thread(lane, NOBODY + lane, "some");
	forget(script_batch(&b));
	script_again();
	item = script_put(RUN_COUNTS, 1, 0);
	item->thread.produced = 10;
	item->thread.not_sampled = 4;
	script.count[1] = (struct capture_counts){5, 2};
	script.count[2] = (struct capture_counts){0, 0};
	script.totals = (struct capture_totals){3, 4, 5, 6, true};
	stream_count(s);
	assert_int_equal(s->samples_refused, 3);
	assert_int_equal(s->stacks_unknown, 4);
	assert_int_equal(s->namespaces, 5);
	assert_int_equal(s->before, 6);
	assert_true(s->unready);
	assert_true(thread_numbered(2)->counts_news);
	assert_false(thread_numbered(3)->counts_news);
	script.totals = (struct capture_totals){2, 3, 4, 5, false}; /* no honest program's */
	batch = script_batch(&b);
	assert_int_equal(batch->ledger->produced, 15);
	assert_int_equal(batch->ledger->not_sampled, 6);
	assert_int_equal(batch->ledger->pending, 9);
	assert_int_equal(batch->ledger->samples_refused, 3);
	assert_int_equal(batch->ledger->stacks_unknown, 4);
	assert_int_equal(batch->ledger->namespaces, 5);
	assert_int_equal(batch->ledger->before_recording, 5);
	assert_false(batch->ledger->not_begun);
	assert_int_equal(batch->ledger->thread.len, 1);
	assert_int_equal(number_at(batch->ledger->thread, 0), 2);
	assert_int_equal(number_at(batch->ledger->thread_produced, 0), 15);
	assert_int_equal(number_at(batch->ledger->thread_not_sampled, 0), 6);
	forget(batch);

	/* One of both is enough, in the last lane that there is. */
	script_again();
	script_thread(s->lane_count - 1, NOBODY + 9, "last");
	bench_drain(&b, false);
	script.count[0] = (struct capture_counts){0, 7};
	script.count[s->lane_count - 1] = (struct capture_counts){8, 0};
	batch = script_batch(&b);
	assert_int_equal(batch->ledger->thread.len, 2);
	assert_int_equal(number_at(batch->ledger->thread_not_sampled, 0), 7);
	assert_int_equal(number_at(batch->ledger->thread_produced, 1), 8);
	forget(batch);
}

/* ---- gaps ---- */

/* Losses of one thread that follow each other are one gap, if the reason is the same. */
static void gaps_are_merged(void **state)
{
	const int full = HEAPCAST__REASON__REASON_RING_FULL,
		  damaged = HEAPCAST__REASON__REASON_DAMAGED;
	const struct {
		unsigned thread, reason, from, to, events, from_ns, to_ns;
	} expected[] = {
		{1, 1, 1, 30, 30, 5003, 9004},	{1, 6, 31, 40, 10, 5005, 9005},
		{2, 6, 1, 10, 10, 5006, 9006},	{1, 6, 41, 50, 10, 5007, 9007},
		{1, 6, 52, 61, 10, 5009, 9009}, {0, 6, 0, 0, 20, 5010, 9011},
		{0, 1, 0, 0, 10, 5012, 9012},
	};
	Heapcast__Batch *batch;

	(void)state;
	script_thread(0, NOBODY, "a");
	script_thread(1, NOBODY + 1, "b");
	script_gap(0, full, 10);
	script_gap(0, full, 20);
	script_gap(0, damaged, 10);
	script_gap(1, damaged, 10);
	script_gap(0, damaged, 10);
	script_event(0, 1, 16);
	script_gap(0, damaged, 10);
	script_gap(RUN_NO_LANE, damaged, 10);
	script_gap(RUN_NO_LANE, damaged, 10);
	script_gap(RUN_NO_LANE, full, 10);
	batch = script_batch(&b);
	assert_int_equal(batch->n_gap, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < batch->n_gap; i++) {
		assert_int_equal(batch->gap[i]->thread, expected[i].thread);
		assert_int_equal(batch->gap[i]->reason, expected[i].reason);
		assert_int_equal(batch->gap[i]->from, expected[i].from);
		assert_int_equal(batch->gap[i]->to, expected[i].to);
		assert_int_equal(batch->gap[i]->events, expected[i].events);
		assert_int_equal(batch->gap[i]->from_ns, expected[i].from_ns);
		assert_int_equal(batch->gap[i]->to_ns, expected[i].to_ns);
	}
	assert_int_equal(batch->gap[0]->allocations, 11 + 21);
	assert_int_equal(batch->gap[0]->frees, 12 + 22);
	assert_int_equal(batch->gap[0]->bytes, 13 + 23);
	assert_int_equal(batch->gap[1]->allocations, 11);
	assert_int_equal(batch->ledger->lost, 100);
	assert_int_equal(batch->ledger->lost_allocations, 109);
	assert_int_equal(batch->ledger->lost_frees, 118);
	assert_int_equal(batch->ledger->lost_bytes, 127);
	assert_int_equal(batch->ledger->delivered, 1);
	assert_int_equal(s->no_thread, 30);
	assert_int_equal(thread_numbered(1)->counts.lost, 60);
	assert_int_equal(thread_numbered(2)->counts.lost, 10);
	assert_int_equal(batch->ledger->thread.len, 2);
	forget(batch);

	/* Nor are those of another thread, though the numbers would fit. */
	script_again();
	script_gap(0, full, 9);	 /* 62 to 70 */
	script_gap(1, full, 60); /* 11 to 70 */
	script_gap(0, full, 1);	 /* 71 */
	batch = script_batch(&b);
	assert_int_equal(batch->n_gap, 3);
	assert_int_equal(batch->gap[2]->thread, 1);
	assert_int_equal(batch->gap[2]->from, 71);
	forget(batch);
}

/* A thread's loss is told of it, also where nothing else is. */
static void gaps_are_counts_of_threads(void **state)
{
	Heapcast__Batch *batch;

	(void)state;
	script_thread(0, NOBODY, "a");
	forget(script_batch(&b));
	script_again();
	script_gap(0, HEAPCAST__REASON__REASON_RING_FULL, 5);
	batch = script_batch(&b);
	assert_int_equal(batch->ledger->thread.len, 1);
	assert_int_equal(number_at(batch->ledger->thread_lost, 0), 5);
	forget(batch);
}

static void gaps_of_a_batch(void **state)
{
	const uint64_t first = s->spool.next;
	Heapcast__Batch *batch;

	(void)state;
	for (int i = 0; i < BATCH_GAPS_MAX; i++)
		script_gap(RUN_NO_LANE, 1 + i % 2, 1);
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, first);
	assert_int_equal(s->batch.gaps, BATCH_GAPS_MAX);
	script_again();
	script_gap(RUN_NO_LANE, 2, 1); /* goes with the last one */
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, first);
	script_again();
	script_gap(RUN_NO_LANE, 1, 1);
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, first + 1);
	batch = bench_batch(&b, first);
	assert_int_equal(batch->n_gap, BATCH_GAPS_MAX);
	assert_int_equal(batch->gap[63]->events, 2);
	forget(batch);
	batch = script_batch(&b);
	assert_int_equal(batch->n_gap, 1);
	assert_int_equal(batch->ledger->lost, BATCH_GAPS_MAX + 2);
	forget(batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRIPTED(threads_are_named),
		SCRIPTED(threads_go_on),
		SCRIPTED(threads_of_a_batch),
		SCRIPTED(threads_of_any_number),
		cmocka_unit_test_setup_teardown(threads_with_held_events, setup_culling,
						script_teardown),
		SCRIPTED(threads_are_resumed),
		SCRIPTED(threads_resumed_of_a_batch),
		SCRIPTED(counts_grow),
		SCRIPTED(gaps_are_merged),
		SCRIPTED(gaps_are_counts_of_threads),
		SCRIPTED(gaps_of_a_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
