/* From a ring filled by hand to batches as a collector reads them: order, watermark, threads,
 * stacks, and a spool that is full. */
#include "tests/unit/streamer/harness.h"

static void test_order(void **state)
{
	static struct event got[400];
	struct bench b = {0};
	struct writer w[3];
	uint64_t stamp, pc = 100000;

	(void)state;
	bench_open(&b);
	for (unsigned i = 0; i < 3; i++)
		w[i] = writer_claim(&b, i, 1000 + i);
	stamp = now();
	for (unsigned i = 0; i < 300; i++)
		writer_event(&w[(i * 7 + i / 5) % 3], 1, (i + 1) * 16, 8, stamp + i * 2000, 0, 1,
			     &pc);
	usleep(1000);
	bench_drain(&b, true);
	assert_int_equal(bench_events(&b, got, 400), 300);
	for (unsigned i = 0; i < 300; i++)
		assert_int_equal(got[i].address, (i + 1) * 16);
	assert_int_equal(b.stream.state, STREAM_ENDED);
	bench_close(&b);
}

/* A thread in a hook holds back what is younger than its beginning, but for 50 ms only; the
 * watermark stays behind it. */
static void test_entered(void **state)
{
	struct bench b = {0};
	struct writer w, v;
	uint64_t stamp, pc = 100000;

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	v = writer_claim(&b, 1, 1001);
	stamp = now();
	writer_event(&w, 1, 16, 8, stamp, 0, 1, &pc);
	writer_event(&w, 1, 32, 8, stamp + 2000, 0, 1, &pc);
	__atomic_store_n(&v.slice->entered, stamp + 1000, __ATOMIC_RELEASE);
	usleep(1000);
	bench_drain(&b, false);
	assert_int_equal(b.stream.batch.events.count, 1);
	assert_int_equal(b.stream.watermark_ns, stamp + 1000 - b.stream.start_ns);
	usleep(60000);
	bench_drain(&b, false);
	assert_int_equal(b.stream.batch.events.count, 2);
	assert_int_equal(b.stream.watermark_ns, stamp + 1000 - b.stream.start_ns);
	__atomic_store_n(&v.slice->entered, 0, __ATOMIC_RELEASE);
	usleep(200);
	bench_drain(&b, false);
	assert_true(b.stream.watermark_ns > stamp + 60000000 - b.stream.start_ns);
	bench_close(&b);
}

/* Of one thread alone all is taken that is published, however young; beside another one, which may
 * have written something before that nobody sees yet, it waits. The watermark waits in both. */
static void test_alone(void **state)
{
	struct bench b = {0};
	struct writer w;
	uint64_t stamp, pc = 100000;

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	stamp = now() + 20000000; /* as young as can be, on a slow machine too */
	writer_event(&w, 1, 16, 8, stamp, 0, 1, &pc);
	bench_drain(&b, false);
	assert_int_equal(b.stream.batch.events.count, 1);
	assert_true(b.stream.watermark_ns < stamp - b.stream.start_ns);
	writer_claim(&b, 1, 1001);
	stamp = now() + 20000000;
	writer_event(&w, 1, 32, 8, stamp, 0, 1, &pc);
	bench_drain(&b, false);
	assert_true(b.stream.batch.events.count == 1 || now() > stamp);
	while (now() < stamp + RING_STAMP_SLACK_NS)
		usleep(1000);
	bench_drain(&b, false);
	assert_int_equal(b.stream.batch.events.count, 2);
	bench_close(&b);
}

static void test_dead_owner(void **state)
{
	struct bench b = {0};
	struct writer w;
	uint64_t pc = 100000;
	Heapcast__Batch *batch;

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	writer_event(&w, 1, 16, 8, now(), 0, 1, &pc);
	w.slice->events++; /* began another one, and died */
	w.slice->events += 3;
	w.slice->lost =
		(struct ring_losses){.events = 3, .allocations = 2, .frees = 1, .bytes = 77};
	writer_die(&w);
	usleep(200);
	bench_drain(&b, false);
	assert_int_equal(w.slice->state, RING_SLICE_FREE);
	assert_int_equal(w.slice->head, 0);
	bench_drain(&b, true);
	batch = bench_batch(&b, 1);
	assert_int_equal(batch->n_gap, 2);
	assert_int_equal(batch->gap[0]->reason, HEAPCAST__REASON__REASON_RING_FULL);
	assert_int_equal(batch->gap[0]->events, 3);
	assert_int_equal(batch->gap[0]->from, 2);
	assert_int_equal(batch->gap[0]->to, 4);
	assert_int_equal(batch->gap[0]->bytes, 77);
	assert_int_equal(batch->gap[1]->reason, HEAPCAST__REASON__REASON_WRITER_DIED);
	assert_int_equal(batch->gap[1]->events, 1);
	assert_int_equal(batch->ledger->produced, 5);
	assert_int_equal(batch->ledger->delivered, 1);
	assert_int_equal(batch->ledger->lost, 4);
	assert_int_equal(batch->ledger->pending, 0);
	assert_int_equal(batch->n_thread, 1);
	assert_true(batch->thread[0]->ended_ns > 0);
	assert_int_equal(batch->end->kind, HEAPCAST__END_KIND__END_EXITED);
	assert_int_equal(batch->end->status, 3);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

/* The thread goes on in another slice: same number, whole stack first. */
static void test_move(void **state)
{
	struct bench b = {0};
	struct writer w, v;
	struct event got[4];
	uint64_t pcs[] = {100003, 100002, 100001};

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	writer_event(&w, 1, 16, 8, now(), 0, 3, pcs);
	v = writer_claim(&b, 5, 1000);
	v.slice->thread_first = 1;
	writer_word(&w, RING_MOVE);
	writer_word(&w, 5);
	writer_word(&w, now());
	writer_publish(&w);
	w.slice->state = RING_SLICE_LEFT;
	writer_event(&v, 1, 32, 8, now(), 0, 3, pcs);
	writer_event(&v, 32, 16, 0, now(), 2, 0, NULL);
	usleep(200);
	bench_drain(&b, true);
	assert_int_equal(bench_events(&b, got, 4), 3);
	assert_int_equal(got[0].thread, got[1].thread);
	assert_int_equal(got[0].stack, got[1].stack);
	assert_int_equal(got[2].stack, got[0].stack - 1);
	assert_int_equal(w.slice->state, RING_SLICE_FREE);
	bench_close(&b);
}

/* Many events, small batches; sampled ones carry their weight; every ledger balances and nothing is
 * twice there. */
static void test_many(void **state)
{
	static struct event got[70000];
	struct bench b = {0};
	struct writer w;
	uint64_t stamp, seen = 0;
	unsigned sent = 0, n;

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	stamp = now();
	srandom(3);
	for (unsigned round = 0; round < 600; round++) {
		for (unsigned i = 0; i < 80; i++) {
			uint64_t pcs[] = {200000 + (uint64_t)random() % 64,
					  300000 + (uint64_t)random() % 16};

			sent++;
			writer_event(&w, 1, 16 * (uint64_t)sent, 100, stamp + sent * 10, i ? 1 : 0,
				     2, pcs);
		}
		w.slice->not_sampled += 5;
		usleep(100);
		bench_drain(&b, false);
		if (round % 20 == 19) {
			n = bench_events(&b, got, 70000);
			seen += n;
			spool_ack(&b.stream.spool, b.stream.spool.next - 1,
				  b.stream.spool.next - 1);
			while (b.stream.spool.first < b.stream.spool.next)
				b.stream.spool.first++;
		}
	}
	bench_drain(&b, true);
	seen += bench_events(&b, got, 70000);
	assert_int_equal(seen, sent);
	assert_int_equal(stream_ledger(&b.stream).not_sampled, 3000);
	assert_int_equal(stream_ledger(&b.stream).pending, 0);
	bench_close(&b);
}

/* Any number of threads that leave their only slice and are never seen again: their places in the
 * table of threads are given to others, and all is delivered. */
static void test_leavers(void **state)
{
	struct bench b = {0};
	uint64_t sent = 0, pc = 100000;

	(void)state;
	bench_open(&b);
	while (sent < 2 * (uint64_t)b.stream.threads.capacity) {
		struct writer w = writer_claim(&b, 0, 1000 + (uint32_t)sent);

		w.slice->claim_stamp -= 1000000;
		writer_event(&w, 1, 16 * ++sent, 8, w.slice->claim_stamp, 0, 1, &pc);
		__atomic_store_n(&w.slice->state, RING_SLICE_LEFT, __ATOMIC_RELEASE);
		bench_drain(&b, false);
		spool_ack(&b.stream.spool, b.stream.spool.next - 1, b.stream.spool.next - 1);
	}
	bench_drain(&b, true);
	assert_int_equal(b.stream.state, STREAM_ENDED);
	assert_int_equal(stream_ledger(&b.stream).delivered, sent);
	assert_int_equal(stream_ledger(&b.stream).produced, sent);
	threads_each(&b.stream.threads, t) assert_false(t->alive || t->lanes);
	bench_close(&b);
}

/* With the spool full the drain stops; after an acknowledgement it goes on where it was. */
static void test_back_pressure(void **state)
{
	static struct event got[4096];
	struct bench b = {0};
	struct writer w;
	uint64_t stamp = now(), sent = 0, seen = 0;
	bool stalled = false;

	(void)state;
	bench_open(&b);
	w = writer_claim(&b, 0, 1000);
	srandom(5);
	for (unsigned round = 0; round < 4000; round++) {
		for (unsigned i = 0; i < 100 && w.slice->tail + w.words > w.head + 16; i++) {
			uint64_t pcs[] = {200000 + (uint64_t)random() % 50000};

			sent++;
			writer_event(&w, 1, (uint64_t)random() << 4, (uint32_t)random(),
				     stamp + sent, 0, 1, pcs);
		}
		usleep(10);
		stalled |= stream_drain(&b.stream) == STREAM_STALLED;
		if (stalled && round > 3000)
			spool_ack(&b.stream.spool, b.stream.spool.next - 1,
				  b.stream.spool.next - 1);
	}
	assert_true(stalled);
	for (int i = 0; i < 100 && b.stream.state != STREAM_ENDED; i++) {
		bench_drain(&b, true);
		spool_ack(&b.stream.spool, b.stream.spool.next - 1, b.stream.spool.next - 1);
	}
	seen = stream_ledger(&b.stream).delivered;
	assert_int_equal(seen, sent);
	assert_true(bench_events(&b, got, 4096) > 0);
	bench_close(&b);
}

/* Of a stream in which nothing else happens, a batch that ends below an order's mark is followed by
 * one that ends above it. */
static void test_mark_above_watermark(void **state)
{
	struct bench b = {0};
	struct stream *s = &b.stream;
	uint64_t marked, number;
	Heapcast__Batch *batch;

	(void)state;
	bench_open(&b);
	s->batch.opened_ns = 1; /* long ago: it is closed at once */
	bench_drain(&b, false);
	number = s->spool.next;
	marked = stream_now(s) + 20000000;
	assert_int_equal(
		stream_mark(s, HEAPCAST__MARK_KIND__MARK_SNAPSHOT, 1, marked, NULL, 0, "a test"),
		0);
	s->batch.opened_ns = 1;
	bench_drain(&b, false);
	assert_int_equal(s->spool.next, number + 1);
	batch = bench_batch(&b, number);
	assert_int_equal(batch->n_mark, 1);
	assert_true(batch->watermark_ns <= marked);
	heapcast__batch__free_unpacked(batch, NULL);

	while (stream_now(s) <= marked + 1000000)
		usleep(1000);
	for (int i = 0; i < 2; i++) { /* the second turn finds nothing to tell */
		s->batch.opened_ns = 1;
		bench_drain(&b, false);
	}
	assert_int_equal(s->spool.next, number + 2);
	batch = bench_batch(&b, number + 1);
	assert_true(batch->watermark_ns > marked);
	heapcast__batch__free_unpacked(batch, NULL);
	bench_close(&b);
}

/* The stack table has all that the other tables leave, from the next line of the cache on. */
static void test_tables(void **state)
{
	(void)state;
	for (uint32_t depth = 20; depth < 52; depth += 3) {
		struct stream s = {.state = STREAM_FREE};
		const struct stacks_path *last;
		const uint8_t *end, *tables;
		struct budget budget;
		struct packer packer;
		struct arena arena;
		struct err_text err;

		assert_int_equal(budget_divide(&budget, TEST_LIMIT, 1, &err), 0);
		assert_int_equal(arena_open(&arena, budget_private(&budget) + 65536), 0);
		assert_int_equal(packer_init(&packer, &arena, budget.message, budget.scratch), 0);
		tables = arena.memory + ((arena.used + 63) & ~(size_t)63);
		assert_int_equal(stream_init(&s, &arena, &budget, depth, &packer), 0);
		last = &s.lane[s.lane_count - 1];
		end = (const uint8_t *)(last->node + last->most);
		assert_in_range((const uint8_t *)s.stacks.cache - end, 0, 63);
		assert_int_equal((uintptr_t)s.stacks.cache % 64, 0);
		assert_true(s.batch.nodes_max <= s.stacks.nodes_max / 8);
		assert_int_equal((const uint8_t *)s.stacks.cache + s.stacks.size - tables,
				 budget.tables - budget.source);
		stream_done(&s);
		packer_done(&packer);
		arena_close(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_entered),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_dead_owner),
		cmocka_unit_test(test_move),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_leavers),
		cmocka_unit_test(test_back_pressure),
		cmocka_unit_test(test_mark_above_watermark),
		cmocka_unit_test(test_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
