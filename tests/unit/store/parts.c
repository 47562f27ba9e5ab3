/*
 * Recordings of a collector that has a part of a stream: another one has the rest, because the
 * agent has moved. What that one has is not lost, and is not missed for good.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/recording/completeness.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/recording/totals.h"
#include "heapcast.pb-c.h"
#include "tests/unit/store/builder.h"

static Heapcast__Part part[3];
static Heapcast__Part *parts[3] = {&part[0], &part[1], &part[2]};
static uint8_t ids[3][STREAM_ID_SIZE] = {{0xa}, {0xb}, {0xc}};

/* The next batch is a catch-up that says so many parts. */
static void tell(struct builder *b, size_t count)
{
	b->parts = parts;
	b->part_count = count;
	b->catch_up = true;
}

static void put(size_t i, const char *host, uint64_t upto, uint64_t events)
{
	heapcast__part__init(&part[i]);
	part[i].host = (char *)(uintptr_t)host;
	part[i].collector = builder_bytes(ids[i], STREAM_ID_SIZE);
	part[i].upto = upto;
	part[i].events = events;
}

static struct completeness opened(const struct builder *b, struct recording **ret)
{
	struct err_text err = {{0}}, reason = {{0}};
	struct completeness c;

	assert_int_equal(builder_open(b, b->file.length, ret, &err), 0);
	if (!recording_adds_up(*ret, &reason))
		fail_msg("%s", reason.text);
	recording_completeness(*ret, &c);
	return c;
}

/* Begins after batch 40 with 1,000 events, of which others have so many. */
static void begin_late(struct builder *b, size_t count)
{
	builder_init(b, 1);
	b->number = 40;
	b->before_join = b->delivered = b->of_thread[1] = 1000;
	tell(b, count);
	builder_close(b, 5);
	b->before_join = 0;
	builder_malloc(b, 10, 1, 0x1000, 32);
}

static void began_elsewhere(void **state)
{
	struct completeness c;
	struct recording *r;
	struct builder b;

	(void)state;
	put(0, "desk (10.0.0.5)\x1b[31m", 12, 400);
	put(1, "rack (10.0.0.6)", 40, 600);
	begin_late(&b, 2);
	builder_end(&b, 0);
	c = opened(&b, &r);
	assert_false(c.complete);
	assert_int_equal(c.lost_events, 0);
	assert_int_equal(c.elsewhere_events, 1000);
	assert_int_equal(recording_ledger(r)->before_join, 1000);
	assert_int_equal(recording_ledger(r)->elsewhere, 1000);
	assert_int_equal(recording_ledger(r)->missing_batches, 0);
	assert_non_null(
		strstr(c.line, "Incomplete: the first 1,000 events are at desk (10.0.0.5)"));
	assert_non_null(strstr(c.line, ", then rack (10.0.0.6)."));
	assert_null(strchr(c.line, 0x1b));
	assert_int_equal(recording_parts(r), 2);
	assert_int_equal(recording_part(r, 0)->from, 1);
	assert_int_equal(recording_part(r, 1)->from, 13);
	assert_int_equal(recording_part(r, 1)->upto, 40);
	assert_memory_equal(recording_part(r, 1)->collector.bytes, ids[1], STREAM_ID_SIZE);
	assert_true(recording_part(r, 1)->lacking);
	assert_int_equal(strncmp(recording_began_on(r), "desk (10.0.0.5)", 15), 0);
	recording_close(r);
	builder_done(&b);
}

/* A part of the beginning is nowhere: an older collector did not say who has it. */
static void not_all_is_known(void **state)
{
	struct completeness c;
	struct recording *r;
	struct builder b;

	(void)state;
	put(0, "desk", 40, 300);
	begin_late(&b, 1);
	builder_end(&b, 0);
	c = opened(&b, &r);
	assert_int_equal(c.elsewhere_events, 300);
	assert_non_null(strstr(c.line, "Incomplete: 700 events were before the collector joined; "
				       "300 events are at desk."));
	recording_close(r);
	builder_done(&b);
}

/* It has the beginning, another one the middle, and it the end again. What both have counts once.
 */
static void came_back(void **state)
{
	struct completeness c;
	struct recording *r;
	struct builder b;

	(void)state;
	for (unsigned twice = 0; twice < 2; twice++) {
		builder_init(&b, 1);
		builder_malloc(&b, 10, 1, 0x1000, 32);
		builder_close(&b, 10); /* batch 1 */
		builder_malloc(&b, 20, 1, 0x2000, 32);
		builder_close(&b, 20); /* batch 2 */
		/* Another one has 2 to 5, or 3 to 5; ours are 1, or 1 and 2. */
		put(0, "here", twice ? 1 : 2, twice ? 1 : 2);
		put(1, "rack", 5, twice ? 31 : 30);
		b.delivered += 30;
		b.of_thread[1] += 30;
		b.number = 5;
		tell(&b, 2);
		builder_close(&b, 50);
		builder_malloc(&b, 60, 1, 0x3000, 32);
		builder_end(&b, 0);
		c = opened(&b, &r);
		assert_false(c.complete);
		assert_int_equal(c.lost_events, 0);
		assert_int_equal(recording_ledger(r)->missed, 30);
		assert_int_equal(recording_ledger(r)->elsewhere, 30);
		assert_int_equal(recording_ledger(r)->missing_batches, 0);
		assert_string_equal(c.line, "Incomplete: 30 events are at rack.");
		assert_false(recording_part(r, 0)->lacking);
		assert_true(recording_part(r, 1)->lacking);
		assert_int_equal(recording_gaps(r), 1);
		assert_int_equal(recording_gap(r, 0)->reason, HEAPCAST__REASON__REASON_ELSEWHERE);
		assert_string_equal(recording_began_on(r), "");
		recording_close(r);
		builder_done(&b);
	}
}

/* A collector that was too slow lost that, whoever has other parts. */
static void missed_for_good(void **state)
{
	struct completeness c;
	struct recording *r;
	struct builder b;

	(void)state;
	put(0, "desk", 40, 1000);
	begin_late(&b, 1);
	builder_close(&b, 10); /* 41 */
	b.delivered += 7;
	b.of_thread[1] += 7;
	b.number = 50;
	tell(&b, 1); /* told again, and it is no news */
	builder_close(&b, 50);
	builder_malloc(&b, 60, 1, 0x3000, 32);
	builder_end(&b, 0);
	c = opened(&b, &r);
	assert_int_equal(c.lost_events, 7);
	assert_int_equal(c.elsewhere_events, 1000);
	assert_int_equal(recording_parts(r), 1);
	assert_int_equal(recording_gap(r, recording_gaps(r) - 1)->reason,
			 HEAPCAST__REASON__REASON_SPOOL_FULL);
	recording_close(r);
	builder_done(&b);
}

/* Parts that can't be: they do not ascend, reach beyond what follows, or say impossible counts. */
static void nonsense(void **state)
{
	struct recording *r;
	struct builder b;

	(void)state;
	put(0, "a", 12, UINT64_MAX);
	put(1, "b", 12, UINT64_MAX);
	put(2, "c", 13, 1);
	begin_late(&b, 3);
	builder_end(&b, 0);
	opened(&b, &r);
	assert_int_equal(recording_parts(r), 1);
	assert_int_equal(recording_ledger(r)->elsewhere, 1000);
	recording_close(r);
	builder_done(&b);
	put(0, "a", 41, 5);
	begin_late(&b, 1);
	builder_end(&b, 0);
	opened(&b, &r);
	assert_int_equal(recording_parts(r), 0);
	assert_int_equal(recording_ledger(r)->elsewhere, 0);
	recording_close(r);
	builder_done(&b);
}

/* What the catalogue takes of it. */
static void in_the_list(void **state)
{
	const struct stream_id id = {{1}};
	struct totals t = {0}, copy;
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;

	(void)state;
	put(0, "desk", 40, 1000);
	put(1, "rack", 41, 1000);
	batch.stream = builder_bytes(id.bytes, sizeof(id.bytes));
	batch.incarnation = 1;
	batch.catch_up = true;
	batch.next = 41;
	batch.part = parts;
	batch.n_part = 1;
	assert_int_equal(totals_add(&t, &id, &batch, NULL), 0);
	assert_string_equal(t.began_on, "desk");
	put(0, "other", 40, 1000);
	assert_int_equal(totals_add(&t, &id, &batch, NULL), 0);
	assert_string_equal(t.began_on, "desk");
	assert_int_equal(totals_copy(&t, &copy), 0);
	assert_string_equal(copy.began_on, "desk");
	totals_done(&copy);
	totals_done(&t);
	/* One that has the beginning. */
	batch.catch_up = false;
	batch.n_part = 0;
	batch.number = 1;
	assert_int_equal(totals_add(&t, &id, &batch, NULL), 0);
	batch.catch_up = true;
	batch.number = 0;
	batch.n_part = 2;
	assert_int_equal(totals_add(&t, &id, &batch, NULL), 0);
	assert_null(t.began_on);
	totals_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(began_elsewhere), cmocka_unit_test(not_all_is_known),
		cmocka_unit_test(came_back),	   cmocka_unit_test(missed_for_good),
		cmocka_unit_test(nonsense),	   cmocka_unit_test(in_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
