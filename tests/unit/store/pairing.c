/* Births and deaths: each form of reallocation, reuse of addresses, orphans, exec, gaps, late and
 * misordered events. */
#include "tests/unit/store/pairing.h"

static void malloc_and_free(void **state)
{
	struct recording *r;
	struct builder b;
	struct row row;

	(void)state;
	builder_init(&b, 1);
	builder_malloc(&b, 10, 1, 0x1000, 32);
	builder_malloc(&b, 20, 2, 0x2000, 64);
	builder_free(&b, 30, 2, 0x1000);
	builder_malloc(&b, 40, 2, 0, 1 << 20); /* failed */
	builder_free(&b, 50, 1, 0);	       /* free(NULL) */
	builder_end(&b, 3);
	r = open_built(&b);
	assert_int_equal(recording_rows(r), 2);
	row = row_at(r, 0);
	assert_int_equal(row.address, 0x1000);
	assert_int_equal(row.size, 32);
	assert_int_equal(row.birth, 10);
	assert_int_equal(row.death, 30);
	assert_int_equal(row.thread, 1);
	assert_int_equal(row.death_thread, 2);
	assert_int_equal(row.stack, BUILDER_STACK);
	assert_int_equal(row.death_stack, 1);
	assert_int_equal(row.end, BLOCK_FREED);
	assert_int_equal(row.kind, HEAPCAST__EVENT_KIND__EVENT_MALLOC);
	assert_int_equal(row.death_kind, HEAPCAST__EVENT_KIND__EVENT_FREE);
	row = row_at(r, 1);
	assert_int_equal(row.end, BLOCK_IN_USE);
	assert_true(row.death == NO_TIME);
	assert_int_equal(recording_pairing(r)->failed, 1);
	assert_int_equal(recording_ledger(r)->stored, 5);
	assert_true(recording_process(r)->ended);
	assert_int_equal(recording_process(r)->end_status, 3);
	assert_true(recording_adds_up(r, NULL));
	recording_close(r);
	builder_done(&b);
}

/* Within one step of the clock the order of events tells whether a thread allocated in between. */
static void freed_within_a_step(void **state)
{
	static const bool at_once[] = {true, false, true, false, true, false};
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	builder_malloc(&b, 10, 1, 0x1000, 32);
	builder_free(&b, 10, 1, 0x1000);
	builder_malloc(&b, 10, 1, 0x2000, 32);
	builder_malloc(&b, 10, 1, 0x3000, 32);
	builder_free(&b, 10, 1, 0x2000);
	builder_free(&b, 10, 1, 0x3000);
	builder_malloc(&b, 10, 2, 0x4000, 32);
	builder_free(&b, 10, 1, 0x4000); /* by another thread: nobody knows */
	builder_malloc(&b, 10, 2, 0x5000, 32);
	builder_malloc(&b, 10, 1, 0x6000, 32); /* of another thread */
	builder_free(&b, 10, 2, 0x5000);
	builder_end(&b, 0);
	r = open_built(&b);
	assert_int_equal(recording_rows(r), sizeof(at_once));
	for (unsigned i = 0; i < sizeof(at_once); i++)
		assert_int_equal(row_at(r, i).at_once, at_once[i]);
	assert_int_equal(row_at(r, 0).death_kind, HEAPCAST__EVENT_KIND__EVENT_FREE);
	recording_close(r);
	builder_done(&b);
}

static void event_at(struct builder *b, unsigned kind, uint64_t time, uint64_t address,
		     uint64_t size)
{
	builder_event(b, &(struct event){.kind = (uint8_t)kind,
					 .thread = 1,
					 .time_ns = time,
					 .address = address,
					 .size = size,
					 .stack = BUILDER_STACK});
}

/* Mappings, pools and settings at addresses of blocks, between their births and deaths: the
 * recording has them, the rows of the heap know nothing of them. */
static void other_spaces(void **state)
{
	static const uint8_t kinds[] = {12, 13, 16, 14, 37, 36, 40, 48, 49};
	const unsigned count = sizeof(kinds);
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	builder_malloc(&b, 10, 1, 0x1000, 32);
	for (unsigned i = 0; i < count; i++) {
		assert_true(event_space(kinds[i]) != EVENT_SPACE_HEAP);
		event_at(&b, kinds[i], 20 + i, 0x1000, 4096);
	}
	builder_free(&b, 40, 1, 0x1000);
	for (unsigned i = 0; i < count; i++)
		event_at(&b, kinds[i], 50 + i, 0x2000, 1ull << 40);
	builder_end(&b, 0);
	r = open_built(&b);
	assert_int_equal(recording_rows(r), 1);
	assert_int_equal(row_at(r, 0).size, 32);
	assert_int_equal(row_at(r, 0).death, 40);
	assert_int_equal(row_at(r, 0).end, BLOCK_FREED);
	assert_int_equal(recording_pairing(r)->orphan_frees, 0);
	assert_int_equal(recording_pairing(r)->inferred, 0);
	assert_int_equal(recording_ledger(r)->stored, 2 + 2 * count);
	assert_int_equal(recording_ledger(r)->stored_apart, 2 * count);
	assert_int_equal(recording_ledger(r)->stored_frees, 1);
	assert_true(recording_adds_up(r, NULL));
	recording_close(r);
	builder_done(&b);
}

static void reallocations(void **state)
{
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	builder_malloc(&b, 10, 1, 0x1000, 32);
	builder_realloc(&b, 20, 21, 1, 0x1000, 0x1000, 48); /* in place */
	builder_realloc(&b, 30, 35, 1, 0x1000, 0x3000, 96); /* moved */
	builder_realloc(&b, 40, 41, 1, 0x3000, 0, 1 << 30); /* failed: the old block lives */
	builder_realloc(&b, 50, 51, 1, 0, 0x4000, 8);	    /* of NULL: a birth */
	builder_realloc(&b, 60, 61, 1, 0x9000, 0x5000, 16); /* of a block that nobody knows */
	builder_event(&b, &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_REALLOC_FREE,
					  .thread = 1,
					  .time_ns = 70,
					  .address = 0x4000});
	builder_end(&b, 0);
	r = open_built(&b);
	assert_int_equal(recording_rows(r), 5);
	assert_int_equal(row_at(r, 0).end, BLOCK_REALLOCATED);
	assert_int_equal(row_at(r, 0).death, 21);
	assert_int_equal(row_at(r, 0).next, 1);
	assert_int_equal(row_at(r, 1).previous, 0);
	assert_int_equal(row_at(r, 1).end, BLOCK_REALLOCATED);
	assert_int_equal(row_at(r, 1).death, 35);
	assert_int_equal(row_at(r, 1).next, 2);
	assert_int_equal(row_at(r, 2).address, 0x3000);
	assert_int_equal(row_at(r, 2).size, 96);
	assert_int_equal(row_at(r, 2).end, BLOCK_IN_USE);
	assert_int_equal(row_at(r, 3).end, BLOCK_FREED);
	assert_int_equal(row_at(r, 3).death_kind, HEAPCAST__EVENT_KIND__EVENT_REALLOC_FREE);
	assert_true(row_at(r, 3).previous == NO_BLOCK);
	assert_true(row_at(r, 4).previous == NO_BLOCK);
	assert_int_equal(recording_pairing(r)->orphan_frees, 1);
	assert_int_equal(recording_pairing(r)->failed, 1);
	recording_close(r);
	builder_done(&b);
}

/* Another thread gets the old address while the reallocation is under way: its event comes before
 * the reallocation's. */
static void old_address_taken_meanwhile(void **state)
{
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	builder_malloc(&b, 10, 1, 0x1000, 32);
	builder_malloc(&b, 105000, 2, 0x1000, 24);
	builder_realloc(&b, 100000, 110000, 1, 0x1000, 0x2000, 64);
	builder_free(&b, 120000, 2, 0x1000);
	builder_end(&b, 0);
	r = open_built(&b);
	assert_int_equal(recording_rows(r), 3);
	assert_int_equal(row_at(r, 0).end, BLOCK_REALLOCATED);
	assert_int_equal(row_at(r, 1).end, BLOCK_FREED);
	assert_int_equal(row_at(r, 1).death, 120000);
	assert_int_equal(row_at(r, 2).address, 0x2000);
	assert_int_equal(row_at(r, 2).previous, 0);
	assert_int_equal(recording_pairing(r)->inferred, 0);
	assert_int_equal(recording_pairing(r)->orphan_frees, 0);
	recording_close(r);
	builder_done(&b);
}

static void reuse_without_a_free(void **state)
{
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	builder_malloc(&b, 10, 1, 0x1000, 32);
	builder_malloc(&b, 1000000, 1, 0x1000, 64);
	builder_free(&b, 2000000, 1, 0x1000);
	builder_free(&b, 3000000, 1, 0x1000);
	builder_end(&b, 0);
	r = open_built(&b);
	assert_int_equal(row_at(r, 0).end, BLOCK_INFERRED);
	assert_int_equal(row_at(r, 0).death, 1000000);
	assert_int_equal(row_at(r, 1).end, BLOCK_FREED);
	assert_int_equal(row_at(r, 1).death, 2000000);
	assert_int_equal(recording_pairing(r)->inferred, 1);
	assert_int_equal(recording_pairing(r)->orphan_frees, 1);
	recording_close(r);
	builder_done(&b);
}

/* The clocks of two cores differ by less than their error: alternation wins over the stamps, a
 * thread's own order over both. */
static void stamps_in_the_wrong_order(void **state)
{
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	builder_malloc(&b, 10, 1, 0x1000, 32);
	builder_malloc(&b, 1000000, 2, 0x1000, 64); /* really after... */
	builder_free(&b, 1000100, 1, 0x1000);	    /* ...this */
	builder_free(&b, 2000000, 1, 0x2000);	    /* really after... */
	builder_malloc(&b, 2000100, 2, 0x2000, 16); /* ...this */
	builder_malloc(&b, 3000000, 1, 0x3000, 16);
	builder_malloc(&b, 3000100, 1, 0x3000, 17); /* the same thread: not to be repaired */
	builder_free(&b, 3000200, 1, 0x3000);
	builder_end(&b, 0);
	r = open_built(&b);
	assert_int_equal(recording_rows(r), 5);
	assert_int_equal(row_at(r, 0).end, BLOCK_FREED);
	assert_int_equal(row_at(r, 0).death_thread, 1);
	assert_int_equal(row_at(r, 1).end, BLOCK_IN_USE);
	assert_int_equal(row_at(r, 2).end, BLOCK_FREED);
	assert_int_equal(row_at(r, 3).end, BLOCK_INFERRED);
	assert_int_equal(row_at(r, 4).end, BLOCK_FREED);
	assert_int_equal(recording_pairing(r)->repaired, 2);
	assert_int_equal(recording_pairing(r)->inferred, 1);
	assert_int_equal(recording_pairing(r)->orphan_frees, 0);
	recording_close(r);
	builder_done(&b);
}

/* Events that are newer than the watermark wait for older ones of the next batch. */
static void late_events_up_to_the_watermark(void **state)
{
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	builder_malloc(&b, 1000000, 1, 0x1000, 1);
	builder_malloc(&b, 5000000, 1, 0x1000, 2);
	builder_close(&b, 2000000);
	builder_free(&b, 3000000, 2, 0x1000);
	builder_close(&b, 5000000);
	builder_end(&b, 0);
	r = open_built(&b);
	assert_int_equal(row_at(r, 0).end, BLOCK_FREED);
	assert_int_equal(row_at(r, 0).death, 3000000);
	assert_int_equal(row_at(r, 1).end, BLOCK_IN_USE);
	recording_close(r);
	builder_done(&b);
}

static void exec_ends_all(void **state)
{
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	builder_malloc(&b, 10, 1, 0x1000, 32);
	builder_malloc(&b, 20, 1, 0x2000, 32);
	builder_free(&b, 30, 1, 0x2000);
	builder_close(&b, 30);
	process.image = 1;
	process.pid = 4711;
	b.process = &process;
	builder_malloc(&b, 100, 1, 0x1000, 8);
	builder_end(&b, 0);
	r = open_built(&b);
	assert_int_equal(row_at(r, 0).end, BLOCK_EXEC);
	assert_int_equal(row_at(r, 0).death, 100);
	assert_int_equal(row_at(r, 1).end, BLOCK_FREED);
	assert_int_equal(row_at(r, 2).end, BLOCK_IN_USE);
	assert_int_equal(recording_process(r)->images, 2);
	assert_int_equal(recording_pairing(r)->inferred, 0);
	recording_close(r);
	builder_done(&b);
}

/* Several images in one batch: the marks say where each begins. */
static void exec_by_marks(void **state)
{
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	Heapcast__Mark mark = HEAPCAST__MARK__INIT;
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init_tick(&b, 1, 1000);
	process.image = 1;
	b.process = &process;
	mark.kind = HEAPCAST__MARK_KIND__MARK_EXEC;
	mark.time_ns = 50300;
	b.mark = &mark;
	builder_malloc(&b, 10000, 1, 0x1000, 32);
	builder_malloc(&b, 20000, 1, 0x2000, 32);
	builder_malloc(&b, 50400, 1, 0x1000, 8); /* the new image, in the same tick as the exec */
	builder_malloc(&b, 60000, 1, 0x3000, 8);
	builder_free(&b, 70000, 1, 0x1000);
	builder_end(&b, 0);
	r = open_built(&b);
	assert_int_equal(row_at(r, 0).end, BLOCK_EXEC);
	assert_int_equal(row_at(r, 0).death, 50000);
	assert_int_equal(row_at(r, 1).end, BLOCK_EXEC);
	assert_int_equal(row_at(r, 2).end, BLOCK_FREED);
	assert_int_equal(row_at(r, 3).end, BLOCK_IN_USE);
	assert_int_equal(recording_pairing(r)->inferred, 0);
	assert_int_equal(recording_pairing(r)->orphan_frees, 0);
	recording_close(r);
	builder_done(&b);
}

static uint64_t censored_of(unsigned blocks, uint64_t lost_frees)
{
	Heapcast__Gap gap = HEAPCAST__GAP__INIT;
	struct recording *r;
	struct builder b;
	uint64_t censored;

	builder_init(&b, 1);
	for (unsigned i = 0; i < blocks; i++)
		builder_malloc(&b, 10 + i, 1, 0x100000 + 64 * i, 32);
	gap.thread = 1;
	gap.from = blocks + 1;
	gap.to = blocks + lost_frees;
	gap.frees = gap.events = lost_frees;
	gap.from_ns = 100000;
	gap.to_ns = 200000;
	gap.reason = HEAPCAST__REASON__REASON_RING_FULL;
	b.gap = &gap;
	b.lost = b.lost_frees = lost_frees;
	builder_close(&b, 200000);
	builder_malloc(&b, 300000, 1, 0x10, 1); /* born after the gap: its fate is known */
	builder_end(&b, 0);
	r = open_built(&b);
	censored = recording_pairing(r)->censored;
	assert_int_equal(row_at(r, blocks).end, BLOCK_IN_USE);
	assert_int_equal(row_at(r, 0).end, censored ? BLOCK_CENSORED : BLOCK_IN_USE);
	if (censored)
		assert_int_equal(row_at(r, 0).death, 100000);
	assert_int_equal(recording_gaps(r), 1);
	assert_true(recording_adds_up(r, NULL));
	recording_close(r);
	builder_done(&b);
	return censored;
}

static void gaps_censor(void **state)
{
	(void)state;
	assert_int_equal(censored_of(50, 1), 50);  /* 1 of 50 is more than 1 in 100 */
	assert_int_equal(censored_of(1000, 9), 0); /* less: they stay */
	assert_int_equal(censored_of(1000, 10), 1000);
	assert_int_equal(censored_of(10, 0), 0);
}

/* Who was born in the nanosecond in which the gap ended may have been freed in it; who was born
 * after, not. */
static void gaps_censor_to_their_end(void **state)
{
	Heapcast__Gap gap = HEAPCAST__GAP__INIT;
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	gap.frees = gap.events = b.lost = b.lost_frees = 1;
	gap.from_ns = 150;
	gap.to_ns = 200;
	gap.reason = HEAPCAST__REASON__REASON_RING_FULL;
	builder_malloc(&b, 100, 1, 0x1000, 32);
	builder_malloc(&b, gap.to_ns, 1, 0x2000, 32);
	builder_malloc(&b, gap.to_ns + 1, 1, 0x3000, 32);
	b.gap = &gap;
	builder_end(&b, 0);
	r = open_built(&b);
	assert_int_equal(recording_pairing(r)->censored, 2);
	assert_int_equal(row_at(r, 0).end, BLOCK_CENSORED);
	assert_int_equal(row_at(r, 0).death, gap.from_ns);
	assert_int_equal(row_at(r, 1).end, BLOCK_CENSORED);
	assert_int_equal(row_at(r, 1).death, row_at(r, 1).birth);
	assert_int_equal(row_at(r, 2).end, BLOCK_IN_USE);
	recording_close(r);
	builder_done(&b);
}

static void weights(void **state)
{
	struct recording *r;
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	builder_malloc(&b, 10, 1, 0x1000, 32);
	builder_close(&b, 10);
	builder_event(&b, &(struct event){.kind = 1,
					  .thread = 1,
					  .time_ns = 20,
					  .address = 0x2000,
					  .size = 100,
					  .weight = 524288});
	builder_malloc(&b, 30, 1, 0x3000, 64);
	builder_end(&b, 0);
	r = open_built(&b);
	assert_int_equal(row_at(r, 0).weight, 32);
	assert_int_equal(row_at(r, 1).weight, 524288);
	assert_int_equal(row_at(r, 2).weight, 64);
	recording_close(r);
	builder_done(&b);
}

/* When the numbers of rows are used up the stream goes on: what has a row gets its end, and
 * answers; the rest is counted. */
static void more_than_there_are_numbers_for(void **state)
{
	struct completeness completeness;
	struct recording *r;
	struct builder b;

	(void)state;
	rows_set_numbers(3);
	builder_init(&b, 1);
	builder_malloc(&b, 10, 1, 0x1000, 32);
	builder_malloc(&b, 20, 1, 0x2000, 64);
	builder_malloc(&b, 30, 1, 0x3000, 96);
	builder_malloc(&b, 40, 1, 0x4000, 1000); /* none */
	builder_free(&b, 50, 1, 0x4000);
	builder_free(&b, 60, 1, 0x1000);
	builder_realloc(&b, 70, 71, 1, 0x2000, 0x5000, 2000); /* none for the new block */
	builder_malloc(&b, 80, 1, 0x3000,
		       4000); /* none; the end of the old block is not on record */
	builder_free(&b, 90, 1, 0x5000);
	builder_end(&b, 0);
	r = open_built(&b);
	assert_int_equal(recording_rows(r), 3);
	assert_int_equal(row_at(r, 0).death, 60);
	assert_int_equal(row_at(r, 1).end, BLOCK_REALLOCATED);
	assert_true(row_at(r, 1).next == NO_BLOCK);
	assert_int_equal(row_at(r, 2).end, BLOCK_INFERRED);
	assert_int_equal(recording_pairing(r)->rowless, 3);
	assert_int_equal(recording_pairing(r)->rowless_bytes, 7000);
	assert_int_equal(recording_pairing(r)->rowless_from_ns, 40);
	assert_int_equal(recording_pairing(r)->rowless_frees, 2);
	assert_int_equal(recording_pairing(r)->orphan_frees, 0);
	assert_int_equal(recording_ledger(r)->stored, 9);
	recording_completeness(r, &completeness);
	assert_true(completeness.adds_up && !completeness.complete);
	assert_string_equal(completeness.line, "Incomplete: the last 3 allocations (6.84 KiB), "
					       "from 40 ns on, are counted here alone: more than "
					       "there are numbers for.");
	recording_close(r);
	builder_done(&b);
	rows_set_numbers(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_than_there_are_numbers_for),
		cmocka_unit_test(malloc_and_free),
		cmocka_unit_test(freed_within_a_step),
		cmocka_unit_test(reallocations),
		cmocka_unit_test(other_spaces),
		cmocka_unit_test(old_address_taken_meanwhile),
		cmocka_unit_test(reuse_without_a_free),
		cmocka_unit_test(stamps_in_the_wrong_order),
		cmocka_unit_test(late_events_up_to_the_watermark),
		cmocka_unit_test(exec_ends_all),
		cmocka_unit_test(exec_by_marks),
		cmocka_unit_test(gaps_censor),
		cmocka_unit_test(gaps_censor_to_their_end),
		cmocka_unit_test(weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
