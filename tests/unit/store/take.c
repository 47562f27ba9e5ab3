/*
 * What becomes of a batch: whether it is wanted, which ones are missing, what its events, marks,
 * gaps and accounts change. Batches are handed over as they are, without a file.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/derive/recording_parts.h"
#include "collector/recording/recording.h"
#include "proto/event.h"

#define A 0x1000

static uint8_t id[STREAM_ID_SIZE] = {7, 7, 7};
static struct recording *r;

static int begin(void **state)
{
	(void)state;
	return recording_new(&r);
}

static int end(void **state)
{
	(void)state;
	recording_close(r);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static Heapcast__Batch batch_of(uint32_t incarnation, uint64_t number)
{
	Heapcast__Batch b = HEAPCAST__BATCH__INIT;

	b.stream = (ProtobufCBinaryData){sizeof(id), id};
	b.incarnation = incarnation;
	b.number = number;
	return b;
}

/* With these events, as if they had been in its columns. */
static int take(Heapcast__Batch *b, struct event *events, uint32_t count)
{
	struct decoded d = {.item.batch = b, .events = events, .event_count = count, .tried = true};

	for (uint32_t i = 0; i < count; i++)
		events[i].class = event_class(events[i].kind);
	return recording_take(r, &d, NULL);
}

static void took(Heapcast__Batch *b, struct event *events, uint32_t count)
{
	assert_int_equal(take(b, events, count), 0);
}

/* ---- wanted ---- */

static void wanted(void **state)
{
	const struct stream_position at = {.incarnation = 3, .next = 5};
	struct stream_id own;
	Heapcast__Batch b = batch_of(3, 5);
	struct err_text err = {0};

	(void)state;
	memcpy(own.bytes, id, sizeof(id));
	assert_int_equal(batch_wanted(&at, &own, &b, NULL), 1);
	assert_int_equal(batch_wanted(&at, NULL, &b, NULL), 1);
	b.number = 4;
	assert_int_equal(batch_wanted(&at, &own, &b, NULL), 0);
	b.incarnation = 4;
	assert_int_equal(batch_wanted(&at, &own, &b, NULL), 1);
	b = batch_of(2, 9);
	assert_int_equal(batch_wanted(&at, &own, &b, NULL), 0);
	b.catch_up = true;
	b.number = 0;
	assert_int_equal(batch_wanted(&at, &own, &b, NULL), 0);
	b.incarnation = 3;
	assert_int_equal(batch_wanted(&at, &own, &b, NULL), 1);
	b.incarnation = 0;
	assert_int_equal(batch_wanted(&at, &own, &b, &err), -EBADMSG);
	assert_string_equal(err.text, "a batch without a number");
	b = batch_of(3, 0);
	assert_int_equal(batch_wanted(&at, &own, &b, NULL), -EBADMSG);
	b.number = UINT64_MAX;
	assert_int_equal(batch_wanted(&at, &own, &b, NULL), -EBADMSG);
	b.number--;
	assert_int_equal(batch_wanted(&at, &own, &b, NULL), 1);
	own.bytes[STREAM_ID_SIZE - 1] ^= 1;
	assert_int_equal(batch_wanted(&at, &own, &b, &err), -EBADMSG);
	assert_string_equal(err.text, "a batch of another stream");
	b.stream.len--;
	assert_int_equal(batch_wanted(&at, NULL, &b, &err), -EBADMSG);
	assert_string_equal(err.text, "a batch of no stream");
}

static void arrives(uint32_t incarnation, uint64_t number, uint64_t missing, uint64_t duplicates)
{
	Heapcast__Batch b = batch_of(incarnation, number);

	took(&b, NULL, 0);
	assert_int_equal(r->ledger.missing_batches, missing);
	assert_int_equal(r->ledger.duplicate_batches, duplicates);
}

static void catches_up(uint32_t incarnation, uint64_t next)
{
	Heapcast__Batch b = batch_of(incarnation, 0);

	b.catch_up = true;
	b.next = next;
	took(&b, NULL, 0);
}

static void missing(void **state)
{
	(void)state;
	arrives(1, 3, 2, 0);
	assert_true(r->has_id);
	assert_memory_equal(r->id.bytes, id, sizeof(id));
	arrives(1, 4, 2, 0);
	arrives(1, 4, 2, 1);
	arrives(1, 6, 3, 1);
	arrives(2, 1, 3, 1); /* the next agent begins anew */
	arrives(2, 3, 4, 1);
	arrives(1, 9, 4, 2);
	/* What a catch-up has announced is not missing, but what is behind it is. */
	catches_up(2, 10);
	assert_int_equal(r->position.next, 4);
	arrives(2, 12, 6, 2);
	assert_int_equal(r->announced, 0);
	arrives(2, 14, 7, 2);
	catches_up(2, 20);
	arrives(2, 20, 7, 2);
	catches_up(2, 30);
	arrives(2, 29, 15, 2); /* before what was announced: then it is */
	catches_up(2, 30);
	arrives(2, 30, 15, 2);
	catches_up(3, 1); /* all of the next agent's */
	assert_int_equal(r->announced, 0);
	arrives(3, 1, 15, 2);
	assert_int_equal(r->position.incarnation, 3);
	assert_int_equal(r->position.next, 2);
}

/* Who joins late misses nothing that the account tells of. */
static void joined_late(void **state)
{
	Heapcast__Ledger ledger = HEAPCAST__LEDGER__INIT;
	Heapcast__Batch b = batch_of(1, 50);

	(void)state;
	ledger.before_join = ledger.delivered = ledger.produced = 9;
	b.ledger = &ledger;
	took(&b, NULL, 0);
	assert_int_equal(r->ledger.missing_batches, 0);
	b.number = 52;
	took(&b, NULL, 0);
	assert_int_equal(r->ledger.missing_batches, 1);
}

static void catch_up_alone(void **state)
{
	Heapcast__Batch b = batch_of(1, 0);
	Heapcast__Events events = HEAPCAST__EVENTS__INIT;
	Heapcast__Culled culled = HEAPCAST__CULLED__INIT;

	(void)state;
	b.catch_up = true;
	b.events = &events;
	assert_int_equal(take(&b, NULL, 0), -EBADMSG);
	b.events = NULL;
	b.culled = &culled;
	assert_int_equal(take(&b, NULL, 0), -EBADMSG);
	assert_false(r->has_id);
	b.culled = NULL;
	took(&b, NULL, 0);
	assert_true(r->has_id);
	assert_int_equal(r->position.next, 0);
}

/* What an account has grown by while this collector was away. */
static void missed(void **state)
{
	Heapcast__Ledger ledger = HEAPCAST__LEDGER__INIT;
	Heapcast__Batch b = batch_of(1, 1);
	const struct gap_info *g;

	(void)state;
	ledger.produced = ledger.delivered = 10;
	ledger.delivered_allocations = 5;
	ledger.delivered_frees = 4;
	ledger.delivered_bytes = 100;
	b.ledger = &ledger;
	b.watermark_ns = b.time_ns = 70;
	took(&b, NULL, 0);
	assert_int_equal(r->watermark_ns, 70);
	assert_int_equal(r->end_ns, 70);
	b = batch_of(1, 0);
	b.catch_up = true;
	b.ledger = &ledger;
	b.next = 2;
	ledger.produced = ledger.delivered = 30;
	ledger.delivered_allocations = 15;
	ledger.delivered_frees = 12;
	ledger.delivered_bytes = 300;
	b.watermark_ns = 90;
	took(&b, NULL, 0); /* no batch is gone: what it tells of is still to come */
	assert_int_equal(r->ledger.missed, 0);
	ledger.produced = ledger.delivered = 50;
	ledger.delivered_allocations = 35;
	ledger.delivered_frees = 13;
	ledger.delivered_bytes = 340;
	b.next = 7;
	b.watermark_ns = 95;
	took(&b, NULL, 0);
	assert_int_equal(r->announced, 7);
	assert_int_equal(r->ledger.missed, 20);
	assert_int_equal(r->definitions.gap_count, 1);
	g = &r->definitions.gaps[0];
	assert_int_equal(g->reason, HEAPCAST__REASON__REASON_SPOOL_FULL);
	assert_int_equal(g->events, 20);
	assert_int_equal(g->allocations, 20);
	assert_int_equal(g->frees, 1);
	assert_int_equal(g->bytes, 40);
	assert_int_equal(g->from_ns, 90);
	assert_int_equal(g->to_ns, 95);
	assert_int_equal(r->pairing.lost_frees, 1);
	assert_int_equal(r->pairing.lost_frees_from_ns, 90);
	assert_int_equal(r->pairing.lost_frees_to_ns, 95);
	took(&b, NULL, 0); /* once more: nothing has been delivered since */
	assert_int_equal(r->definitions.gap_count, 1);
	ledger.delivered += 4;
	ledger.produced += 4;
	b.watermark_ns = 80; /* before what is known */
	took(&b, NULL, 0);
	g = &r->definitions.gaps[r->definitions.gap_count - 1];
	assert_int_equal(g->to_ns, 95);
	assert_int_equal(r->ledger.missed, 24);
	assert_int_equal(r->pairing.lost_frees, 5); /* of unknown kinds: they may be frees */
	b.ledger = NULL;
	took(&b, NULL, 0);
	assert_int_equal(r->ledger.missed, 24);
	assert_int_equal(r->watermark_ns, 95);
}

/* ---- events ---- */

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

static Heapcast__Mark mark_of(Heapcast__MarkKind kind, uint64_t time_ns, uint32_t thread,
			      uint32_t place)
{
	Heapcast__Mark m = HEAPCAST__MARK__INIT;

	m.kind = kind;
	m.time_ns = time_ns;
	m.thread = thread;
	m.place = place;
	return m;
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
	};
	Heapcast__Mark *marks[] = {&m[0], &m[1], &m[2], &m[3], &m[4]};
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
	b.n_mark = 5;
	took(&b, e, 5);
	assert_int_equal(r->pairing.window_ns, window); /* ticks of 1 ns */
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(e[i].time_ns, after[i]);
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

/* ---- gaps ---- */

static void gap(Heapcast__Reason reason, uint64_t allocations, uint64_t frees, uint64_t events,
		uint64_t from_ns, uint64_t to_ns)
{
	static uint64_t number;
	Heapcast__Gap g = HEAPCAST__GAP__INIT, *gaps[] = {&g};
	Heapcast__Batch b = batch_of(2, ++number);

	g.reason = reason;
	g.allocations = allocations;
	g.frees = frees;
	g.events = events;
	g.from_ns = from_ns;
	g.to_ns = to_ns;
	b.gap = gaps;
	b.n_gap = 1;
	b.time_ns = 500;
	r->pairing.lost_frees = r->pairing.lost_frees_from_ns = r->pairing.lost_frees_to_ns = 0;
	took(&b, NULL, 0);
}

static void lost(uint64_t frees, uint64_t from_ns, uint64_t to_ns)
{
	assert_int_equal(r->pairing.lost_frees, frees);
	assert_int_equal(r->pairing.lost_frees_from_ns, from_ns);
	assert_int_equal(r->pairing.lost_frees_to_ns, to_ns);
}

static void gaps(void **state)
{
	(void)state;
	gap(HEAPCAST__REASON__REASON_RING_FULL, 3, 4, 7, 10, 20);
	lost(4, 10, 20);
	gap(HEAPCAST__REASON__REASON_RING_FULL, 3, 4, 9, 10, 20);
	lost(6, 10, 20); /* two more that nobody could tell */
	gap(HEAPCAST__REASON__REASON_RING_FULL, 3, 4, 0, 0, 0);
	lost(4, 500, 500); /* times that are not known: now */
	gap(HEAPCAST__REASON__REASON_RING_FULL, 0, 4, 4, 600, 10);
	lost(4, 600, 600);
	gap(HEAPCAST__REASON__REASON_JOINED_LATE, 0, 4, 4, 10, 20);
	lost(0, 0, 0);
	gap(HEAPCAST__REASON__REASON_RING_FULL, UINT64_MAX, 4, UINT64_MAX, 10, 20);
	lost(4, 10, 20);
}

/* ---- images ---- */

static void with_process(Heapcast__Batch *b, Heapcast__Process *p, uint32_t images, bool child)
{
	heapcast__process__init(p);
	p->pid = 7;
	p->image = images - 1;
	if (child)
		p->parent_stream = (ProtobufCBinaryData){sizeof(id), id};
	b->process = p;
}

static void images(uint32_t first, uint32_t execs, bool child, bool forked)
{
	Heapcast__Mark m = mark_of(HEAPCAST__MARK_KIND__MARK_EXEC, 5, 0, 0), *marks[] = {&m, &m};
	Heapcast__Process process;
	Heapcast__Batch b = batch_of(1, 1);

	assert_int_equal(begin(NULL), 0);
	with_process(&b, &process, first, child);
	b.mark = marks;
	b.n_mark = execs;
	took(&b, NULL, 0);
	assert_int_equal(r->definitions.process.forked, child);
	assert_int_equal(r->pairing.forked, forked);
	end(NULL);
}

/* Blocks are the parent's from a fork to the first exec. */
static void begins_in_a_child(void **state)
{
	(void)state;
	end(NULL);
	images(1, 0, false, false);
	images(1, 0, true, true);
	images(2, 0, true, false);
	images(2, 1, true, true);
	images(1, 1, true, false);
	images(3, 2, true, true);
	assert_int_equal(begin(NULL), 0);
}

/* Another image without a mark of its exec: all that lived ends, with the batch. */
static void image_without_a_mark(void **state)
{
	struct event e = {.kind = HEAPCAST__EVENT_KIND__EVENT_MALLOC,
			  .thread = 1,
			  .time_ns = 40,
			  .address = A};
	Heapcast__Mark m = mark_of(HEAPCAST__MARK_KIND__MARK_EXEC, 90, 0, 0), *marks[] = {&m};
	Heapcast__Process process;
	Heapcast__Batch b = batch_of(1, 1);

	(void)state;
	with_process(&b, &process, 1, false);
	took(&b, &e, 1);
	assert_int_equal(r->rows.count, 0);
	b = batch_of(1, 2);
	with_process(&b, &process, 1, false); /* the same image, told again */
	b.time_ns = 60;
	took(&b, NULL, 0);
	assert_int_equal(r->rows.count, 0);
	b = batch_of(1, 3);
	with_process(&b, &process, 2, false);
	b.time_ns = 70;
	took(&b, NULL, 0);
	assert_int_equal(r->rows.count, 1);
	assert_int_equal(recording_block(r, 0)->end[0], BLOCK_EXEC);
	assert_int_equal(recording_block(r, 0)->death_ns[0], 70);
	/* With its mark, it ends at that time, when the watermark is there. */
	e.time_ns = 80;
	b = batch_of(1, 4);
	took(&b, &e, 1);
	b = batch_of(1, 5);
	with_process(&b, &process, 3, false);
	b.mark = marks;
	b.n_mark = 1;
	b.time_ns = 100;
	took(&b, NULL, 0);
	assert_int_equal(r->rows.count, 1);
	b = batch_of(1, 6);
	b.watermark_ns = 91;
	took(&b, NULL, 0);
	assert_int_equal(r->rows.count, 2);
	assert_int_equal(recording_block(r, 0)->death_ns[1], 90);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wanted),
		TEST(missing),
		TEST(joined_late),
		TEST(catch_up_alone),
		TEST(missed),
		TEST(counted),
		TEST(references),
		TEST(behind_marks),
		TEST(gaps),
		TEST(begins_in_a_child),
		TEST(image_without_a_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
