/* A ring without room: each policy, slow agents, dead agents, more threads than slices. */
#include "tests/unit/preload/support/run.h"

static void balanced(const struct agent_result *r)
{
	assert_int_equal(r->produced, r->read + r->lost.events + r->not_sampled + r->died_inside);
	assert_int_equal(r->lost.allocations + r->lost.frees, r->lost.events);
}

static void blocks(void **state)
{
	struct agent_options options = {
		.policy = RING_BLOCK, .small_slices = 2, .drain_every_ms = 5};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("churn"), "20000", "1", "20");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	assert_true(r.full_waits > 0);
	agent_result_done(&r);
}

/* Nobody drains, but the heart beats: one stall of block_max_ms, then events are counted. */
static void blocks_for_a_time(void **state)
{
	struct agent_options options = {
		.policy = RING_BLOCK, .small_slices = 2, .idle = true, .block_max_ms = 200};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("churn"), "20000", "1", "20");
	assert_exited(&r, 0);
	assert_sound(&r);
	balanced(&r);
	assert_true(r.lost.events > 10000);
	assert_int_equal(r.full_waits, 1);
	assert_true(r.seconds > 0.15 && r.seconds < 2);
	agent_result_done(&r);
}

static void counts(uint32_t policy)
{
	struct agent_options options = {.policy = policy, .small_slices = 2, .drain_every_ms = 5};
	struct agent_result r;

	RUN(&options, &r, target_path("churn"), "3000000", "1", "20");
	assert_exited(&r, 0);
	assert_sound(&r);
	balanced(&r);
	assert_true(policy == RING_THIN || !r.full_waits);
	assert_true(r.lost.events > 0);
	assert_true(r.lost_records > 0);
	assert_true(r.read > 200);
	agent_result_done(&r);
}

static void counts_what_is_lost(void **state)
{
	(void)state;
	counts(RING_COUNT);
}

/* The agent's heart stands still: after a second and a little the program goes on, its events
 * counted. */
static void agent_dies(void **state)
{
	struct agent_options options = {
		.policy = RING_BLOCK, .small_slices = 2, .idle = true, .no_heart = true};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("churn"), "20000", "2", "20");
	assert_exited(&r, 0);
	assert_sound(&r);
	balanced(&r);
	assert_true(r.seconds > 1 && r.seconds < 4);
	agent_result_done(&r);
}

/* A machine with too much to do: the agent gets no time for longer than that, and the program
 * little. It waits for what it asked to wait for. */
static void both_are_starved(void **state)
{
	struct agent_options options = {.policy = RING_BLOCK,
					.small_slices = 2,
					.asleep_until_ms = 2400,
					.both_starved = true};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("churn"), "20000", "1", "20");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	assert_true(r.full_waits > 0);
	agent_result_done(&r);
}

static void agent_returns(void **state)
{
	struct agent_options options = {.policy = RING_BLOCK,
					.small_slices = 2,
					.asleep_until_ms = 1600,
					.kill_after_events = 20000};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("churn"), "1000000000", "1", "20");
	assert_true(WIFSIGNALED(r.status));
	assert_sound(&r);
	balanced(&r);
	assert_true(r.lost.events > 0);
	assert_true(r.lost_records >= 1);
	assert_true(r.read >= 20000);
	agent_result_done(&r);
}

static void more_threads_than_slices(void **state)
{
	struct agent_options options = {.small_slices = 3, .policy = RING_BLOCK};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("churn"), "5000", "8", "5");
	assert_exited(&r, 0);
	assert_sound(&r);
	balanced(&r);
	assert_true(r.no_slice.events > 0);
	assert_int_equal(r.no_slice.allocations + r.no_slice.frees, r.no_slice.events);
	agent_result_done(&r);
}

/* Each mark of the program's is recorded or counted as lost. */
static void marks_are_told_or_counted(uint32_t policy)
{
	struct agent_options options = {.policy = policy, .small_slices = 2, .idle = true};
	struct agent_result r;

	RUN(&options, &r, target_path("marker_order"), "20");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_true(r.lost.events > 0);
	assert_int_equal(r.marks - r.thinned + r.lost.events - r.lost.allocations - r.lost.frees,
			 20 * 500);
	agent_result_done(&r);
}

static void marks(void **state)
{
	(void)state;
	marks_are_told_or_counted(RING_COUNT);
	marks_are_told_or_counted(RING_THIN);
}

/* A stack of a thousand frames in a slice that holds a thousand words: cut, not lost. */
static void deep_in_a_small_slice(void **state)
{
	struct agent_options options = {.small_slices = 2, .depth_limit = 1000};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("churn"), "200", "1", "3000");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	agent_result_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks),
		cmocka_unit_test(blocks_for_a_time),
		cmocka_unit_test(counts_what_is_lost),
		cmocka_unit_test(agent_dies),
		cmocka_unit_test(both_are_starved),
		cmocka_unit_test(agent_returns),
		cmocka_unit_test(more_threads_than_slices),
		cmocka_unit_test(marks),
		cmocka_unit_test(deep_in_a_small_slice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
