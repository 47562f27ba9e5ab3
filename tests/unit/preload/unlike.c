/* Programs whose stacks change completely from event to event: stacks that recur are recorded as a
 * number, and each event has the stack that it had. The reader checks every number
 * (ring_agent_read.c). */
#include "tests/unit/preload/support/run.h"

/* Way W allocates blocks of own(16 * (W + 1)) bytes, W frames deeper than way 0. */
static void assert_depths(const struct agent_result *r)
{
	uint32_t least = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct agent_event *e = &r->events[i];
		uint32_t way = (uint32_t)(e->size / 16 - 1);

		if (e->kind != 1 || e->tag != TAG_OWN || !e->depth)
			continue;
		if (!least)
			least = e->depth - way;
		assert_int_equal(e->depth, least + way);
		assert_true(e->pc > r->modules[0].start && e->pc <= r->modules[0].end);
	}
	assert_true(least >= 12);
}

static void recurring(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("unlike"), "20000", "15");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	assert_depths(&r);
	assert_int_equal(r.saves, 20); /* 15 ways to malloc, and 5 to free */
	assert_in_range(r.recalls, 39000, 40000);
	agent_result_done(&r);
}

/* 38 stacks, more than there are numbers. */
static void many(void **state)
{
	struct agent_options options = {.saved_frames_max = 100000};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("unlike"), "20000", "19");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	assert_depths(&r);
	assert_true(r.saves >= RING_SAVED_MAX);
	agent_result_done(&r);
}

/* An agent that has no room for numbered stacks. */
static void none(void **state)
{
	struct agent_options options = {.saved_frames_max = 1};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("unlike"), "20000", "15");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	assert_depths(&r);
	assert_int_equal(r.saves + r.recalls, 0);
	agent_result_done(&r);
}

/* All threads together have so many frames. */
static void threads(void **state)
{
	struct agent_options options = {.big_slices = 8, .saved_frames_max = 1000};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("unlike"), "10000", "15", "8");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	assert_depths(&r);
	/* Threads that number a stack at the same moment may exceed the limit a little. */
	assert_in_range(r.saved_frames_most, 500, 1000 + 8 * 30);
	assert_true(r.recalls > 5000);
	agent_result_done(&r);
}

/* Where events are lost, numbers are void. */
static void lost(void **state)
{
	struct agent_options options = {
		.policy = RING_COUNT, .small_slices = 2, .drain_every_ms = 2};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("unlike"), "300000", "5");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_depths(&r);
	assert_true(r.lost.events > 0);
	assert_true(r.saves > 5); /* few events fit where the reader seldom gets to run */
	assert_true(r.recalls > 100);
	agent_result_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recurring), cmocka_unit_test(many), cmocka_unit_test(none),
		cmocka_unit_test(threads),   cmocka_unit_test(lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
