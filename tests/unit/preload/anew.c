/* Another agent has taken the ring up (RING_RESTART): every thread says how far it was, and begins
 * with whole stacks, in modules that were announced again; nothing else changes for it. */
#include "tests/unit/preload/support/run.h"

#include <stdlib.h>

static void every_thread(void **state)
{
	struct agent_options options = {.anew_every = 5000, .big_slices = 4};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("churn"), "20000", "4");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	assert_true(r.restarts >= 8);
	assert_true(r.told_again >= 3 * 3); /* the program, libc, the loader; or more */
	agent_result_done(&r);
}

/* Where threads begin and end all the time. */
static void short_lived(void **state)
{
	struct agent_options options = {.anew_every = 200};
	struct agent_result r;

	(void)state;
	SKIP_EMULATED(NO_ROBUST_LISTS);
	RUN(&options, &r, target_path("short_threads"), "2000");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_true(r.told_again > 0);
	agent_result_done(&r);
}

static void losing(void **state)
{
	struct agent_options options = {
		.anew_every = 300, .policy = RING_COUNT, .drain_every_ms = 5};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("churn"), "200000", "3");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_true(r.lost.events > 0);
	assert_int_equal(r.produced, r.read + r.lost.events + r.no_slice.events);
	if (r.restarts <= 3)
		fail_msg("%lu restarts, %lu events read", (unsigned long)r.restarts,
			 (unsigned long)r.read);
	agent_result_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_thread),
		cmocka_unit_test(short_lived),
		cmocka_unit_test(losing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
