/* What the events and marks of a batch change: counts, references, times behind a mark, and steps.
 */
#include "tests/unit/store/batch.h"

static void counted(void **state)
{
	struct event e[] = {
		{.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC, .thread = 1, .address = A},
		{.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC, .thread = 1},
		{.kind = HEAPCAST__EVENT_KIND__EVENT_REALLOC, .thread = 2, .old_address = A},
		{.kind = HEAPCAST__EVENT_KIND__EVENT_FREE, .thread = 2, .address = A},
		{.kind = HEAPCAST__EVENT_KIND__EVENT_FREE, .thread = 2},
		{.kind = HEAPCAST__EVENT_KIND__EVENT_MMAP, .thread = 2, .address = A},
	};
	Heapcast__Batch b = batch_of(1, 1);

	(void)state;
	took(&b, e, 6);
	assert_int_equal(r->ledger.stored, 6);
	assert_int_equal(r->ledger.stored_allocations, 2);
	assert_int_equal(r->ledger.stored_reallocations, 1);
	assert_int_equal(r->ledger.stored_frees, 2);
	assert_int_equal(r->ledger.stored_apart, 1);
	assert_int_equal(r->pairing.info.failed, 2);
	assert_int_equal(r->definitions.threads[0]->stored, 2);
	assert_int_equal(r->definitions.threads[1]->stored, 4);
	assert_int_equal(r->other_events.count, 1);
	assert_int_equal(r->pairing.info.bad_references, 0);
}

/* Numbers of threads and nodes that nothing defined. */
static void references(void **state)
{
	struct event e[] = {
		{.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC, .thread = 1, .address = A, .stack = 2},
		{.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
		 .thread = THREADS_MAX + 1,
		 .address = A + 16,
		 .stack = 1},
		{.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
		 .thread = THREADS_MAX + 1,
		 .address = A + 32,
		 .stack = 9},
		{.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC, .thread = 2, .address = A + 48},
		{.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
		 .thread = 1,
		 .address = A + 64,
		 .stack = 3},
	};
	static const uint32_t threads[] = {1, 0, 0, 2, 1}, stacks[] = {1, 2, 0, 0, 0};
	Heapcast__Batch b = batch_of(1, 1);
	const struct row_block *rows;

	(void)state;
	took(&b, NULL, 0);
	/* Two numbers on the wire, the other way round here. */
	assert_int_equal(nodes_intern(&r->definitions.nodes, &(struct stack_node){.offset = 5}), 1);
	assert_int_equal(nodes_define(&r->definitions.nodes, (struct stack_node){.offset = 6}), 0);
	assert_int_equal(nodes_define(&r->definitions.nodes, (struct stack_node){.offset = 5}), 0);
	b.number = 2;
	b.watermark_ns = 1;
	took(&b, e, 5);
	assert_int_equal(r->pairing.info.bad_references, 3);
	rows = recording_block(r, 0);
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(rows->thread[i], threads[i]);
		assert_int_equal(rows->stack[i], stacks[i]);
	}
	assert_int_equal(r->definitions.threads[0]->stored, 2);
}

/* Events behind a mark of their thread are not before it, as far as the clock errs. */
static void behind_marks(void **state)
{
	Heapcast__Mark m[] = {
		mark_of(HEAPCAST__MARK_KIND__MARK_NUMBER, 50000, 1, 2),
		mark_of(HEAPCAST__MARK_KIND__MARK_TEXT, 90000, 2, 2),
		mark_of(HEAPCAST__MARK_KIND__MARK_LABEL, 60000, 2, 3),
		mark_of(HEAPCAST__MARK_KIND__MARK_LABEL, 70000, 2, 0),
		mark_of(HEAPCAST__MARK_KIND__MARK_NUMBER, 100000, 3, 9),
		mark_of(HEAPCAST__MARK_KIND__MARK_TEXT, 100000, 4, 9),
	};
	Heapcast__Mark *marks[] = {&m[0], &m[1], &m[2], &m[3], &m[4], &m[5]};
	const uint64_t window = REPAIR_NS + 1;
	const uint64_t times[] = {49999, 50000 - window, 50000, 60000 - window - 1, 60000};
	const uint64_t after[] = {49999, 50000, 50000, 60000 - window - 1, 60000};
	struct event e[5] = {{0}};
	Heapcast__Batch b = batch_of(1, 1);

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		e[i] = (struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
				      .thread = i < 3 ? 1 : 2,
				      .time_ns = times[i],
				      .address = A + 16 * i};
	b.mark = marks;
	b.n_mark = 6;
	took(&b, e, 5);
	assert_int_equal(r->pairing.window_ns, window); /* ticks of 1 ns */
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(e[i].time_ns, after[i]);
	assert_int_equal(r->definitions.threads[1]->marked_ns, 60000);
	assert_int_equal(r->definitions.thread_count, 3); /* a text says nothing of a thread */
	/* One behind the last event holds for the next batch. */
	assert_int_equal(r->definitions.threads[2]->marked_ns, 100000);
	b = batch_of(1, 2);
	e[0] = (struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
			      .thread = 3,
			      .time_ns = 99999,
			      .address = A + 1000};
	took(&b, e, 1);
	assert_int_equal(e[0].time_ns, 100000);
}

static void number_beyond(void **state)
{
	struct event e = {.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC, .thread = 1, .address = A};
	Heapcast__Mark m = mark_of(HEAPCAST__MARK_KIND__MARK_NUMBER, 5, THREADS_MAX + 1, 1),
		       *marks[] = {&m};
	Heapcast__Batch b = batch_of(1, 1);

	(void)state;
	b.mark = marks;
	b.n_mark = 1;
	took(&b, &e, 1); /* of no thread that there could be */
	assert_int_equal(r->definitions.thread_count, 1);
	assert_int_equal(r->definitions.threads[0]->marked_ns, 0);
}

/* Marks that are steps, and ticks. */
static void ticks(void **state)
{
	Heapcast__Events events = HEAPCAST__EVENTS__INIT;
	Heapcast__Mark m[] = {mark_of(HEAPCAST__MARK_KIND__MARK_EXEC, 5999, 0, 0),
			      mark_of(HEAPCAST__MARK_KIND__MARK_POLICY, 7, 1, 0),
			      mark_of(HEAPCAST__MARK_KIND__MARK_MODE, 7, 1, 0),
			      mark_of(HEAPCAST__MARK_KIND__MARK_POLICY, 8, 2, 0),
			      mark_of(HEAPCAST__MARK_KIND__MARK_POLICY, 9, 1, 0)};
	Heapcast__Mark *marks[] = {&m[0], &m[1], &m[2], &m[3], &m[4]};
	Heapcast__Batch b = batch_of(1, 1);

	(void)state;
	m[0].value = 1 << 20;
	m[1].value = 4096;
	m[2].value = 1 << 20;
	m[3].value = 3072;
	m[4].value = 2048; /* less than before */
	events.tick_ns = 1000;
	b.events = &events;
	b.mark = marks;
	b.n_mark = 5;
	b.time_ns = 80;
	took(&b, NULL, 0);
	assert_int_equal(r->pairing.window_ns, REPAIR_NS + 1000);
	assert_true(recording_thinned_interval(r) == 5120); /* the root of 4096^2 + 3072^2 */
	assert_int_equal(r->pairing.thinned.info.from_ns, 7);
	assert_int_equal(r->pairing.queue.count, 1);
	assert_int_equal(r->pairing.queue.list[0].what, STEP_EXEC);
	assert_int_equal(r->pairing.queue.list[0].time_ns, 5000);
	/* Without events, times are as they are; what is known stays. */
	b = batch_of(1, 2);
	m[0].time_ns = 7999;
	b.mark = marks;
	b.n_mark = 1;
	b.time_ns = 70;
	took(&b, NULL, 0);
	assert_int_equal(r->pairing.queue.list[1].time_ns, 7999);
	assert_int_equal(r->pairing.window_ns, REPAIR_NS + 1000);
	assert_int_equal(r->end_ns, 80);
}

static void thinned(void **state)
{
	const struct thinning law = {.seed = 3, .level = 1, .keep = 2, .openings = 1};
	uint8_t text[THINNING_BYTES];
	Heapcast__Mark m = mark_of(HEAPCAST__MARK_KIND__MARK_THINNED, 9, 0, 0), *marks[] = {&m};
	Heapcast__Batch b = batch_of(1, 1);

	(void)state;
	thinning_put(&law, text);
	b.mark = marks;
	b.n_mark = 1;
	for (unsigned i = 0; i < 3; i++, b.number++) {
		m.kind =
			i == 2 ? HEAPCAST__MARK_KIND__MARK_TEXT : HEAPCAST__MARK_KIND__MARK_THINNED;
		m.text = (ProtobufCBinaryData){i == 1 ? 3 : sizeof(text), text};
		took(&b, NULL, 0);
		assert_int_equal(r->pairing.queue.count, 1); /* the first one's */
	}
	assert_int_equal(r->pairing.queue.list[0].what, STEP_THINNED);
	assert_int_equal(r->pairing.queue.list[0].time_ns, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counted),	     TEST(references), TEST(behind_marks),
		TEST(number_beyond), TEST(ticks),      TEST(thinned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
