/* What becomes of a batch: whether it is wanted, which ones are missing, and what its gaps, images
 * and accounts change. */
#include "tests/unit/store/batch.h"

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

/* Sums that went before a catch-up are in the account alone. */
static void culled(void **state)
{
	Heapcast__Ledger ledger = HEAPCAST__LEDGER__INIT;
	Heapcast__Culled nonsense = HEAPCAST__CULLED__INIT;
	Heapcast__Batch b = batch_of(1, 1);

	(void)state;
	ledger.produced = ledger.culled = 9;
	b.ledger = &ledger;
	took(&b, NULL, 0);
	assert_int_equal(r->ledger.culled_missed, 0);
	b = batch_of(1, 0);
	b.catch_up = true;
	took(&b, NULL, 0);
	assert_int_equal(r->ledger.culled_missed, 0);
	b.ledger = &ledger;
	took(&b, NULL, 0);
	assert_int_equal(r->ledger.culled_missed, 9);
	b = batch_of(1, 2);
	nonsense.count = 5;
	b.culled = &nonsense; /* five of them, and no columns */
	assert_int_equal(take(&b, NULL, 0), -EBADMSG);
	assert_int_equal(r->position.next, 2);
	ledger.produced = ledger.delivered = 1000; /* nothing of that is missed: this is a batch */
	ledger.culled = 0;
	b.culled = NULL;
	b.ledger = &ledger;
	took(&b, NULL, 0);
	assert_int_equal(r->ledger.missed, 0);
	assert_int_equal(r->definitions.gap_count, 0);
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
		TEST(culled),
		TEST(gaps),
		TEST(begins_in_a_child),
		TEST(image_without_a_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
