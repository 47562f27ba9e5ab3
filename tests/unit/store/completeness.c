/* What a recording lacks, loss by loss: the number, its sentence, and the bounds where one of them
 * changes its words. */
#include "collector/recording/completeness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/recording/recording.h"
#include "collector/derive/recording_parts.h"
#include "heapcast.pb-c.h"

static struct gap_info gaps[3];
static struct thread_info threads[2];
static struct thread_info *thread_list[2] = {&threads[0], &threads[1]};

/* A recording whose program has ended, and of which nothing is missing. */
static struct recording *whole(void)
{
	static struct recording r;

	memset(&r, 0, sizeof(r));
	memset(threads, 0, sizeof(threads));
	memset(gaps, 0, sizeof(gaps));
	r.flushed = true;
	r.definitions.process.ended = true;
	r.ledger = (struct ledger_info){.produced = 1000, .delivered = 1000, .stored = 1000};
	return &r;
}

static struct completeness of(const struct recording *r)
{
	struct completeness c;

	recording_completeness(r, &c);
	return c;
}

static void assert_line(const struct recording *r, const char *line)
{
	struct completeness c = of(r);

	assert_string_equal(c.line, line);
	assert_int_equal(c.complete, strncmp(line, "Incomplete", 10) != 0);
}

static void test_whole(void **state)
{
	struct recording *r = whole();
	struct completeness c = of(r);

	(void)state;
	assert_true(c.complete);
	assert_true(c.adds_up);
	assert_string_equal(c.line, "");
	assert_int_equal(c.produced_events, 1000);
	r->definitions.process.ran_before_ns = 2000000000;
	c = of(r);
	assert_true(c.complete); /* no loss */
	assert_int_equal(c.ran_before_ns, 2000000000);
	assert_non_null(strstr(c.line, "Watched since it had run for "));
	r->ledger.before_join = 5;
	assert_non_null(strstr(of(r).line, "joined. Watched since"));
}

/* Each number of the account is in its sum. */
static void test_adds_up(void **state)
{
	static const size_t parts[] = {
		offsetof(struct ledger_info, delivered), offsetof(struct ledger_info, culled),
		offsetof(struct ledger_info, not_sampled), offsetof(struct ledger_info, lost),
		offsetof(struct ledger_info, pending)};
	static const size_t of_delivered[] = {offsetof(struct ledger_info, stored),
					      offsetof(struct ledger_info, before_join),
					      offsetof(struct ledger_info, missed)};
	struct err_text reason;
	struct recording *r = whole();

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		r = whole();
		*(uint64_t *)(void *)((char *)&r->ledger + parts[i]) += 3;
		assert_false(recording_adds_up(r, &reason));
		assert_string_equal(reason.text,
				    "produced is 1000, but delivered + short-lived + not sampled + "
				    "lost + pending is 1003");
		assert_false(of(r).adds_up);
	}
	for (size_t i = 0; i < sizeof(of_delivered) / sizeof(of_delivered[0]); i++) {
		r = whole();
		*(uint64_t *)(void *)((char *)&r->ledger + of_delivered[i]) += 3;
		assert_false(recording_adds_up(r, &reason));
		assert_string_equal(reason.text, "delivered is 1000, but stored + before join + "
						 "missed is 1003");
	}
	r = whole();
	r->ledger.culled_stored = 1;
	assert_false(recording_adds_up(r, &reason));
	assert_non_null(strstr(reason.text, "short-lived is 0, but in the sums"));
	r = whole();
	r->ledger.culled_missed = 1;
	assert_false(recording_adds_up(r, &reason));
	r->ledger.culled = 1;
	r->ledger.produced = 1001;
	assert_true(recording_adds_up(r, &reason));
}

/* Of threads, only where this collector has everything. */
static void test_threads(void **state)
{
	struct recording *r = whole();
	struct err_text reason;

	(void)state;
	r->definitions.threads = thread_list;
	r->definitions.thread_count = 2;
	threads[1].delivered = 7;
	threads[1].stored = 6;
	assert_false(recording_adds_up(r, &reason));
	assert_string_equal(reason.text, "of thread 2, delivered is 7, but stored is 6");
	r->ledger.stored = 999;
	r->ledger.missed = 1;
	assert_true(recording_adds_up(r, &reason));
	r->ledger.missed = 0;
	r->ledger.before_join = 1;
	assert_true(recording_adds_up(r, &reason));
	r->ledger = whole()->ledger;
	r->definitions.threads = thread_list;
	r->definitions.thread_count = 2;
	threads[1].delivered = threads[1].stored = 6;
	assert_true(recording_adds_up(r, &reason));
	threads[0].stored = 1;
	assert_false(recording_adds_up(r, &reason));
}

static void test_lost(void **state)
{
	struct recording *r = whole();

	(void)state;
	r->ledger.produced = 1000000;
	r->ledger.lost = 999;
	assert_line(r, "Incomplete: less than 0.1 % of the events were lost (999 of 1,000,000).");
	r->ledger.lost = 900;
	r->ledger.missed = 100;
	assert_line(r, "Incomplete: 0.1 % of the events were lost (1,000 of 1,000,000).");
	assert_int_equal(of(r).lost_events, 1000);
	r->ledger.lost_bytes = 2048;
	assert_line(r, "Incomplete: 0.1 % of the events were lost (1,000 of 1,000,000, with "
		       "allocations of 2.00 KiB).");
	r->ledger = (struct ledger_info){.lost = 3};
	assert_line(r, "Incomplete: 300.0 % of the events were lost (3 of 0).");
}

/* Calls in which threads were killed are no loss. */
static void test_unfinished(void **state)
{
	struct recording *r = whole();

	(void)state;
	r->definitions.gaps = gaps;
	r->definitions.gap_count = 3;
	gaps[0] = (struct gap_info){
		.thread = 1, .events = 1, .reason = HEAPCAST__REASON__REASON_WRITER_DIED};
	gaps[1] = gaps[0];
	gaps[1].events = 2;
	gaps[2] = gaps[0];
	gaps[2].thread = 0;
	r->ledger.lost = 3;
	assert_int_equal(of(r).unfinished_events, 1);
	assert_int_equal(of(r).lost_events, 2);
	gaps[1].events = 1;
	gaps[2].thread = 2;
	assert_int_equal(of(r).unfinished_events, 3);
	assert_int_equal(of(r).lost_events, 0);
	assert_true(of(r).complete);
	gaps[0].reason = HEAPCAST__REASON__REASON_SPOOL_FULL;
	assert_int_equal(of(r).unfinished_events, 2);
	r->ledger.lost = 1;
	assert_int_equal(of(r).unfinished_events, 1); /* no more than were lost */
	r->ledger.lost = 0;
	assert_int_equal(of(r).unfinished_events, 0);
}

/* Bytes that went while this collector was away stand in gaps of no thread. */
static void test_missed_bytes(void **state)
{
	struct recording *r = whole();

	(void)state;
	r->definitions.gaps = gaps;
	r->definitions.gap_count = 3;
	for (unsigned i = 0; i < 3; i++)
		gaps[i] = (struct gap_info){.bytes = 1u << i,
					    .reason = HEAPCAST__REASON__REASON_SPOOL_FULL};
	r->ledger.lost_bytes = 100;
	assert_int_equal(of(r).lost_bytes, 100);
	r->ledger.missed = 1;
	assert_int_equal(of(r).lost_bytes, 107);
	gaps[1].thread = 1;
	assert_int_equal(of(r).lost_bytes, 105);
	gaps[2].reason = HEAPCAST__REASON__REASON_WRITER_DIED;
	assert_int_equal(of(r).lost_bytes, 101);
	gaps[0].bytes = UINT64_MAX;
	gaps[2].reason = HEAPCAST__REASON__REASON_SPOOL_FULL;
	r->ledger.lost_bytes = 0;
	assert_true(of(r).lost_bytes == UINT64_MAX); /* and not 3 */
}

static void test_beginning(void **state)
{
	struct recording *r = whole();

	(void)state;
	r->ledger.before_join = 12;
	assert_line(r, "Incomplete: the first 12 events were before the collector joined.");
	r->ledger.before_recording = 34;
	assert_line(r, "Incomplete: the first 12 events were before the collector joined; the "
		       "first 34 events were before the agent answered.");
	r = whole();
	r->ledger.not_begun = 1;
	assert_line(r, "Incomplete: the program never had an agent that answered.");
	r->definitions.process.ended = false; /* it may answer yet */
	r->flushed = false;
	assert_line(r, "");
	assert_false(of(r).not_begun);
	r = whole();
	r->ledger.culled_missed = 5;
	assert_line(r, "Incomplete: 5 events of short-lived blocks are in no sum here.");
}

static void test_unrecorded(void **state)
{
	struct recording *r = whole();

	(void)state;
	r->ledger.unrecorded = 1;
	r->ledger.unrecorded_events = 10;
	r->ledger.unrecorded_bytes = 1024;
	assert_line(r, "Incomplete: 1 child was not recorded (10 events, 1.00 KiB).");
	r->ledger.unrecorded = 2;
	assert_line(r, "Incomplete: 2 children were not recorded (10 events, 1.00 KiB).");
	r->ledger.unrecorded_uncounted = 1;
	assert_line(r, "Incomplete: 2 children were not recorded (10 events, 1.00 KiB; 1 of them "
		       "nobody counted).");
}

static void test_tail(void **state)
{
	struct recording *r = whole();

	(void)state;
	r->end_ns = 3000000000;
	r->definitions.process.ended = false;
	assert_line(r, "Incomplete: it breaks off at 3.00 s without an end, and what followed is "
		       "not known.");
	r->ledger.pending = 8;
	assert_int_equal(of(r).tail_events, 8);
	assert_line(r, "Incomplete: it breaks off at 3.00 s without an end, and what followed is "
		       "not known (8 events at least).");
	r->flushed = false;
	assert_false(of(r).tail_unknown);
	assert_int_equal(of(r).tail_events, 0);
}

static void test_damage(void **state)
{
	struct recording *r = whole();

	(void)state;
	r->ledger.skipped_bytes = 1234;
	r->ledger.damaged_places = 1;
	r->ledger.first_damage = 56;
	assert_line(r, "Incomplete: 1,234 bytes of the recording are damaged, in 1 place, the "
		       "first at 56.");
	r->ledger.damaged_places = 2;
	r->ledger.stored = 990;
	assert_int_equal(of(r).missing_events, 10);
	assert_line(r, "Incomplete: 1,234 bytes of the recording are damaged, in 2 places, the "
		       "first at 56 (with 10 events).");
	r->ledger.damaged_places = 0;
	assert_line(r, ""); /* nothing says that a batch is missing */
	r->ledger.missing_batches = 1;
	assert_line(r, "Incomplete: 1 batch is missing (with 10 events).");
	r->ledger.missing_batches = 2;
	r->ledger.before_join = 4;
	r->ledger.missed = 6;
	assert_int_equal(of(r).missing_events, 0);
	r = whole();
	r->ledger.missing_batches = 2;
	r->ledger.stored = 1001; /* more than were delivered */
	assert_int_equal(of(r).missing_events, 0);
	assert_line(r, "Incomplete: 2 batches are missing.");
	r = whole();
	r->ledger.cut_bytes = 77;
	assert_line(r, "Incomplete: the file is cut off: its last 77 bytes are left out.");
	r->flushed = false; /* it may become whole yet */
	assert_line(r, "");
	assert_int_equal(of(r).cut_bytes, 0);
}

static void test_others(void **state)
{
	struct recording *r = whole();

	(void)state;
	r->ledger.namespaces = 1;
	assert_line(r, "Incomplete: what was allocated in 1 namespace of the loader (dlmopen) was "
		       "not recorded.");
	r->ledger.namespaces = 2;
	assert_line(r, "Incomplete: what was allocated in 2 namespaces of the loader (dlmopen) was "
		       "not recorded.");
	r = whole();
	r->pairing.info.rowless = 9;
	r->pairing.info.rowless_bytes = 1024;
	r->pairing.info.rowless_from_ns = 5000000000;
	assert_line(r, "Incomplete: the last 9 allocations (1.00 KiB), from 5.00 s on, are counted "
		       "here alone: more than there are numbers for.");
	assert_int_equal(of(r).rowless_allocations, 9);
	assert_int_equal(of(r).rowless_bytes, 1024);
}

/* The line of a recording that grew when it was told. */
static void test_broken_off(void **state)
{
	char out[COMPLETENESS_LINE];

	(void)state;
#define BREAKS "Incomplete: it breaks off at 3.00 s without an end, and what followed is not known"
	assert_true(completeness_broken_off(NULL, 3000000000, out));
	assert_string_equal(out, BREAKS ".");
	assert_true(completeness_broken_off("", 3000000000, out));
	assert_string_equal(out, BREAKS ".");
	assert_true(completeness_broken_off("Incomplete: more.", 3000000000, out));
	assert_string_equal(out, BREAKS "; more.");
	assert_true(completeness_broken_off("Watched.", 3000000000, out));
	assert_string_equal(out, BREAKS ". Watched.");
	assert_false(completeness_broken_off(BREAKS ".", 3000000000, out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),	   cmocka_unit_test(test_adds_up),
		cmocka_unit_test(test_threads),	   cmocka_unit_test(test_lost),
		cmocka_unit_test(test_unfinished), cmocka_unit_test(test_missed_bytes),
		cmocka_unit_test(test_beginning),  cmocka_unit_test(test_unrecorded),
		cmocka_unit_test(test_tail),	   cmocka_unit_test(test_damage),
		cmocka_unit_test(test_others),	   cmocka_unit_test(test_broken_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
