/* What a recording's batches define, where there is more of it than is kept one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "collector/recording/definitions.h"
#include "heapcast.pb-c.h"

/* The last gap that is kept stands for all that follow: it has all that was lost in any of them. */
static void gaps_beyond_the_last(void **state)
{
	const struct gap_info first = {.thread = 1,
				       .reason = HEAPCAST__REASON__REASON_RING_FULL,
				       .from = 10,
				       .to = 18,
				       .events = 9,
				       .allocations = 2,
				       .frees = 4,
				       .bytes = 100,
				       .from_ns = 1000,
				       .to_ns = 2000},
			      second = {.thread = 2,
					.reason = HEAPCAST__REASON__REASON_RING_FULL,
					.from = 1,
					.to = 13,
					.events = 13,
					.allocations = 1,
					.frees = 8,
					.bytes = 1000,
					.from_ns = 3000,
					.to_ns = 4000};
	struct gap_info older = second;
	const struct gap_info *last;
	struct definitions d;

	(void)state;
	definitions_init(&d);
	/* As if there had been as many, but for one. */
	assert_int_equal(array_reserve(&d.gaps, &d.gap_capacity, GAPS_MAX, sizeof(*d.gaps)), 0);
	d.gap_count = GAPS_MAX - 1;
	d.gaps[GAPS_MAX - 2] = second;
	assert_int_equal(definitions_add_gap(&d, &first), 0);
	assert_int_equal(d.gap_count, GAPS_MAX);
	last = &d.gaps[GAPS_MAX - 1];
	assert_memory_equal(last, &first, sizeof(first));
	assert_int_equal(definitions_add_gap(&d, &second), 0);
	assert_int_equal(d.gap_count, GAPS_MAX);
	assert_memory_equal(last - 1, &second, sizeof(second));
	assert_int_equal(last->thread, 0);
	assert_int_equal(last->from, 0);
	assert_int_equal(last->to, 0);
	assert_int_equal(last->reason, first.reason);
	assert_int_equal(last->events, first.events + second.events);
	assert_int_equal(last->allocations, first.allocations + second.allocations);
	assert_int_equal(last->frees, first.frees + second.frees);
	assert_int_equal(last->bytes, first.bytes + second.bytes);
	assert_int_equal(last->from_ns, first.from_ns);
	assert_int_equal(last->to_ns, second.to_ns);
	/* One that is not the last to end, of another reason. */
	older.to_ns = second.to_ns - 1;
	older.reason = HEAPCAST__REASON__REASON_DAMAGED;
	assert_int_equal(definitions_add_gap(&d, &older), 0);
	assert_int_equal(last->to_ns, second.to_ns);
	assert_int_equal(last->reason, HEAPCAST__REASON__REASON_UNKNOWN);
	assert_int_equal(last->frees, first.frees + 2 * second.frees);
	definitions_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_beyond_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
