/*
 * The rules of pairing at their bounds, of events that are handed over by hand: what the clock's
 * error explains and what it does not, what an exec ends, what the watermark lets through, and what
 * a gap hides.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/columns/row_block.h"
#include "collector/derive/recording_parts.h"
#include "collector/derive/steps.h"
#include "collector/recording/recording.h"
#include "proto/event.h"

#define A      0x1000
#define B      0x2000
#define EDGE   REPAIR_NS
#define MALLOC HEAPCAST__EVENT_KIND__EVENT_MALLOC

static struct recording *r;
static struct pairing *p;

static int begin(void **state)
{
	(void)state;
	if (recording_new(&r) < 0)
		return -1;
	p = &r->pairing;
	return 0;
}

static int end(void **state)
{
	(void)state;
	recording_close(r);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static void add(struct event e, uint8_t kind)
{
	e.kind = kind;
	e.class = event_class(kind);
	assert_int_equal(pairing_add(p, &e), 0);
}

static void born(uint64_t time_ns, uint32_t thread, uint64_t address)
{
	add((struct event){.time_ns = time_ns,
			   .thread = thread,
			   .address = address,
			   .size = 10,
			   .weight = 10},
	    MALLOC);
}

static void died(uint64_t time_ns, uint32_t thread, uint64_t address)
{
	add((struct event){.time_ns = time_ns, .thread = thread, .address = address},
	    HEAPCAST__EVENT_KIND__EVENT_FREE);
}

static void moved(uint64_t call_ns, uint64_t time_ns, uint32_t thread, uint64_t old, uint64_t to)
{
	add((struct event){.time_ns = time_ns,
			   .call_time_ns = time_ns - call_ns,
			   .thread = thread,
			   .old_address = old,
			   .address = to,
			   .size = 20,
			   .weight = 20},
	    HEAPCAST__EVENT_KIND__EVENT_REALLOC);
}

static void flush(void)
{
	assert_int_equal(pairing_flush(p), 0);
	assert_int_equal(p->queue.count, 0);
}

static void row(uint32_t i, enum block_end how, uint64_t time_ns)
{
	const struct row_block *b = &r->rows.slots[0].open->view;

	assert_true(i < b->count);
	assert_int_equal(b->end[i], how);
	assert_int_equal(b->death_ns[i], time_ns);
}

static void in_use(uint32_t count)
{
	assert_int_equal(rows_in_use(&r->rows, 0), count);
	assert_int_equal(p->live.count, count);
}

/* ---- doubts ---- */

/* A death before its birth, as far apart as the clock may err, and a bit farther. */
static void death_first(void **state)
{
	(void)state;
	died(1000, 1, A);
	born(1000 + EDGE, 2, A);
	died(100000, 1, B);
	born(100001 + EDGE, 2, B);
	flush();
	row(0, BLOCK_FREED, 1000 + EDGE);
	row(1, BLOCK_IN_USE, NO_TIME);
	assert_int_equal(p->info.repaired, 1);
	assert_int_equal(p->info.orphan_frees, 1);
	in_use(1);
}

static void birth_first(void **state)
{
	(void)state;
	born(1000, 1, A);
	born(2000, 2, A); /* the one before has died */
	died(2000 + EDGE, 1, A);
	born(100000, 1, B);
	born(200000, 2, B);
	died(200001 + EDGE, 1, B); /* too late for that: it is the second one's */
	flush();
	row(0, BLOCK_FREED, 2000 + EDGE);
	row(1, BLOCK_IN_USE, NO_TIME);
	row(2, BLOCK_INFERRED, 200000);
	row(3, BLOCK_FREED, 200001 + EDGE);
	assert_int_equal(p->info.repaired, 1);
	assert_int_equal(p->info.inferred, 1);
	in_use(1);
}

/* Within a thread the order is right; and a doubt explains one event. */
static void not_explained(void **state)
{
	(void)state;
	died(1000, 1, A);
	born(1001, 1, A);
	died(2000, 1, B);
	born(2001, 2, B);
	born(2002, 3, B);
	flush();
	assert_int_equal(p->info.repaired, 1);
	assert_int_equal(p->info.orphan_frees, 1);
	row(0, BLOCK_IN_USE, NO_TIME);
	row(1, BLOCK_FREED, 2001);
	row(2, BLOCK_IN_USE, NO_TIME);
	in_use(2);
}

/* Of so many doubts at once the oldest is forgotten. */
static void many_doubts(void **state)
{
	(void)state;
	for (unsigned i = 0; i <= DOUBTS; i++)
		died(1000 + i, 1, A + 16 * i);
	for (unsigned i = 0; i <= DOUBTS; i++)
		born(2000 + i, 2, A + 16 * i);
	flush();
	assert_int_equal(p->info.repaired, DOUBTS);
	assert_int_equal(p->info.orphan_frees, 1);
	row(0, BLOCK_IN_USE, NO_TIME);
	row(1, BLOCK_FREED, 2001);
	in_use(1);
}

/* ---- exec ---- */

/* An exec ends all, and nothing from before explains what comes behind it. */
static void exec_at(uint64_t time_ns)
{
	assert_int_equal(pairing_add_exec(p, time_ns), 0);
}

static void exec_ends(void **state)
{
	(void)state;
	p->forked = true;
	exec_at(20);
	born(5, 1, A);
	died(6, 1, B); /* its birth was the parent's */
	born(7, 1, 0x3000);
	born(8, 2, 0x3000); /* a doubt of births */
	died(30, 2, 0x4000);
	born(31, 2, B); /* no death of it is known any more */
	born(32, 3, 0x3000);
	died(33, 1, 0x3000); /* its own */
	flush();
	row(0, BLOCK_EXEC, 20);
	row(1, BLOCK_INFERRED, 8);
	row(2, BLOCK_EXEC, 20);
	row(3, BLOCK_IN_USE, NO_TIME);
	row(4, BLOCK_FREED, 33);
	assert_int_equal(p->info.repaired, 0);
	assert_int_equal(p->info.inferred, 1);
	assert_int_equal(p->info.inherited_frees, 1);
	assert_int_equal(p->info.orphan_frees, 1);
	in_use(1);
}

static void exec_ends_doubts_of_births(void **state)
{
	(void)state;
	exec_at(20);
	born(7, 1, A);
	born(8, 2, A);
	born(30, 2, B);
	born(31, 3, B);
	born(32, 3, A);
	died(33, 1, A);
	flush();
	row(0, BLOCK_INFERRED, 8);
	row(1, BLOCK_EXEC, 20);
	row(4, BLOCK_FREED, 33);
	assert_int_equal(p->info.repaired, 0);
	assert_int_equal(p->info.inferred, 2);
}

/* In the midst of a reallocation: what returns behind it continues nothing. And frees that were
 * lost were the old program's. */
static void exec_forgets(void **state)
{
	(void)state;
	pairing_lost(p, 5, 1, 2);
	p->thinned.told = true;
	p->thinned.law.openings = 7;
	exec_at(20);
	born(5, 1, A);
	moved(10, 30, 1, A, B);
	flush();
	assert_int_equal(p->lost_frees, 0);
	assert_int_equal(p->lost_frees_to_ns, 0);
	assert_false(p->thinned.told);
	assert_int_equal(p->thinned.law.openings, 0);
	row(0, BLOCK_REALLOCATED, 30);
	assert_int_equal(r->rows.slots[0].open->view.chain_next[0], NO_BLOCK);
	assert_int_equal(r->rows.slots[0].open->view.chain_previous[1], NO_BLOCK);
}

/* ---- what comes in ---- */

static void no_blocks(void **state)
{
	(void)state;
	born(1, 1, 0);
	born(1, 1, MAP_NO_KEY);
	died(1, 1, 0);
	died(1, 1, MAP_NO_KEY);
	moved(1, 2, 1, A, 0); /* it failed: the old one stays */
	add((struct event){.time_ns = 1, .thread = 1, .address = A, .size = 4096},
	    HEAPCAST__EVENT_KIND__EVENT_MMAP);
	assert_int_equal(p->queue.count, 0);
	moved(1, 2, 1, MAP_NO_KEY, A);
	assert_int_equal(p->queue.count, 1);
}

static void reallocations(void **state)
{
	struct event e = {.time_ns = 7,
			  .call_time_ns = 9,
			  .thread = 1,
			  .old_address = A,
			  .address = B,
			  .size = 3};

	(void)state;
	add(e, HEAPCAST__EVENT_KIND__EVENT_REALLOC);
	assert_int_equal(p->queue.count, 2);
	assert_int_equal(p->queue.list[0].time_ns, 0); /* it was called before the beginning */
	assert_int_equal(p->queue.list[0].size, 7);
	assert_int_equal(p->queue.list[1].time_ns, 7);
	moved(11, 12, 1, 0, A); /* of nothing: an allocation */
	assert_int_equal(p->queue.count, 3);
	assert_int_equal(p->queue.list[2].what, STEP_BIRTH);
	flush();
	assert_int_equal(r->rows.count, 2);
	assert_int_equal(p->info.orphan_frees, 1);
}

static void watermark(void **state)
{
	(void)state;
	born(10, 1, A);
	born(11, 1, B);
	assert_int_equal(pairing_advance(p, 10), 0);
	assert_int_equal(r->rows.count, 0); /* there may be another one at 10 */
	assert_int_equal(pairing_advance(p, 11), 0);
	assert_int_equal(r->rows.count, 1);
	assert_int_equal(p->last_ns, 10);
	assert_int_equal(pairing_advance(p, 12), 0);
	assert_int_equal(p->last_ns, 11);
	born(3, 1, 0x3000); /* older than that, all the same */
	flush();
	assert_int_equal(r->rows.count, 3);
	assert_int_equal(p->last_ns, 11);
}

/* So many wait at most; above that the oldest are taken. */
static void queue_full(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < QUEUE_MAX + 3; i++)
		born(100 + i, 1, A + 16 * i);
	assert_int_equal(pairing_advance(p, 0), 0);
	assert_int_equal(p->queue.count, QUEUE_MAX);
	assert_int_equal(r->rows.count, 3);
	assert_int_equal(p->last_ns, 102);
}

/* ---- what a gap hides ---- */

static void lost(void **state)
{
	(void)state;
	pairing_lost(p, 0, 50, 60);
	assert_int_equal(p->lost_frees_to_ns, 0);
	pairing_lost(p, 3, 10, 20);
	pairing_lost(p, 4, 5, 19); /* before the last one's end */
	assert_int_equal(p->lost_frees, 7);
	assert_int_equal(p->lost_frees_from_ns, 10);
	assert_int_equal(p->lost_frees_to_ns, 20);
	pairing_lost(p, 1, 15, 20);
	assert_int_equal(p->lost_frees_from_ns, 15);
	pairing_lost(p, UINT64_MAX, 15, 20);
	assert_int_equal(p->lost_frees, UINT64_MAX);
}

static void censor(uint64_t frees, uint64_t to_ns, bool censored, uint64_t count)
{
	struct block_limits limits = recording_limits(r);

	p->lost_frees = frees;
	p->lost_frees_from_ns = to_ns ? to_ns - 1 : 0;
	p->lost_frees_to_ns = to_ns;
	p->info.censored = 77;
	assert_int_equal(pairing_censor(p, &limits), 0);
	assert_int_equal(p->censored, censored);
	assert_int_equal(p->info.censored, frees ? count : 77);
}

/* One free in CENSOR_SHARE candidates, rounded up, is enough. */
static void share(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 2 * CENSOR_SHARE + 1; i++)
		born(100 + i, 1, A + 16 * i);
	flush();
	censor(0, 99, false, 77);
	censor(1, 99, true, 0); /* nothing could have died: nothing is hidden */
	censor(1, 100 + CENSOR_SHARE - 1, true, CENSOR_SHARE);
	censor(1, 100 + CENSOR_SHARE, false, 0);
	censor(2, 100 + CENSOR_SHARE, true, CENSOR_SHARE + 1);
	censor(2, 1000, false, 0);
	censor(3, 1000, true, 2 * CENSOR_SHARE + 1);
	died(1000, 1, A);
	flush();
	censor(2, 1000, true, 2 * CENSOR_SHARE);
	p->censored = true;
	censor(0, 1000, false, 0);
}

/* An end that was inferred, and is known better once the block is sealed: the zone has both. */
static void sealed_again(void **state)
{
	const struct row_death inferred = {.time_ns = 200000, .end = BLOCK_INFERRED};

	(void)state;
	for (uint64_t i = 0; i < ROWS_PER_BLOCK; i++)
		born(100 + i, 1, A + 16 * i);
	assert_int_equal(pairing_flush(p), 0);
	for (uint32_t i = 0; i < ROWS_PER_BLOCK; i++)
		assert_int_equal(rows_end(&r->rows, i, &inferred), 0);
	assert_int_equal(rows_seal(&r->rows, 0), 0);
	assert_int_equal(rows_settle(&r->rows), 0);
	assert_int_equal(r->rows.first_open, 1);
	assert_int_equal(r->rows.slots[0].zone.max.death_ns, 200000);
	for (uint64_t time = 199999; time <= 200001; time++) {
		assert_int_equal(rows_end(&r->rows, 5,
					  &(struct row_death){.time_ns = time,
							      .end = BLOCK_FREED,
							      .again = true}),
				 0);
		assert_int_equal(r->rows.slots[0].zone.min.death_ns, 199999);
		assert_int_equal(r->rows.slots[0].zone.max.death_ns, time > 200000 ? time : 200000);
	}
}

/* Candidates in sealed blocks: all of a block, some of it, none. */
static void sealed(void **state)
{
	const uint64_t n = ROWS_PER_BLOCK;

	(void)state;
	for (uint64_t i = 0; i < 2 * n + 10; i++)
		born(100 + i, 1, A + 16 * i);
	for (uint64_t i = 0; i < 50; i++)
		died(100 + n, 1, A + 16 * i);
	assert_int_equal(pairing_flush(p), 0);
	assert_int_equal(rows_seal(&r->rows, 0), 0);
	assert_int_equal(rows_settle(&r->rows), 0);
	assert_int_equal(r->rows.first_open, 2);
	censor(n, 100 + 59, true, 10);	      /* some of the first */
	censor(n, 100 + n - 2, true, n - 51); /* all but one of it */
	censor(n, 100 + n - 1, true, n - 50); /* all of it */
	censor(n, 100 + n, true, n - 49);     /* and the first of the second */
	censor(n, 100 + n + n / 2, true, n - 50 + n / 2 + 1);
	censor(n, 100 + 2 * n, true, 2 * n - 50 + 1); /* and of the open one */
	censor(n, UINT64_MAX, true, 2 * n - 50 + 10);
	/* A block that can't be read: no answer. */
	r->rows.slots[1].length = 3;
	p->lost_frees_to_ns = 100 + n;
	assert_true(pairing_censor(p, &(struct block_limits){.rows = r->rows.count}) < 0);
}

static void shown(void **state)
{
	struct rows_block *b;

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		born(100 + i, 1, A + 16 * i);
	died(200, 1, A);
	flush();
	b = r->rows.slots[0].open;
	p->lost_frees_from_ns = 102;
	p->lost_frees_to_ns = 102;
	pairing_show_censored(p, b);
	row(0, BLOCK_FREED, 200);
	row(1, BLOCK_CENSORED, 102);
	row(2, BLOCK_CENSORED, 102);
	row(3, BLOCK_IN_USE, NO_TIME);
	p->lost_frees_from_ns = 5; /* before it was born */
	p->lost_frees_to_ns = UINT64_MAX;
	pairing_show_censored(p, b);
	row(3, BLOCK_CENSORED, 103);
	b->end[3] = BLOCK_IN_USE;
	p->lost_frees_from_ns = UINT64_MAX; /* later than a row can tell */
	pairing_show_censored(p, b);
	row(3, BLOCK_CENSORED, ROWS_TIME_MAX);
}

/* ---- no numbers left ---- */

static void rowless(void **state)
{
	(void)state;
	rows_set_numbers(1);
	born(1, 1, A);
	add((struct event){.time_ns = 2, .thread = 1, .address = B, .size = 10, .weight = 300},
	    MALLOC);
	add((struct event){.time_ns = 3, .thread = 1, .address = A, .size = 40, .weight = 4},
	    MALLOC);
	died(4, 1, B);
	flush();
	rows_set_numbers(0);
	assert_int_equal(p->info.rowless, 2);
	assert_int_equal(p->info.rowless_bytes, 340);
	assert_int_equal(p->info.rowless_from_ns, 2);
	assert_int_equal(p->info.rowless_frees, 1);
	row(0, BLOCK_INFERRED, 3);
	in_use(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(death_first),  TEST(birth_first), TEST(not_explained),
		TEST(many_doubts),  TEST(exec_ends),   TEST(exec_ends_doubts_of_births),
		TEST(exec_forgets), TEST(no_blocks),   TEST(reallocations),
		TEST(watermark),    TEST(queue_full),  TEST(lost),
		TEST(share),	    TEST(sealed),      TEST(shown),
		TEST(share),	    TEST(sealed),      TEST(shown),
		TEST(sealed_again), TEST(rowless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
