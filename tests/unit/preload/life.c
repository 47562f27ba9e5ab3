/* How processes begin, multiply and end: fork, exec, every kind of death, closed descriptors. */
#include "tests/unit/preload/support/run.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "proto/event.h"

static uint64_t of_tag(const struct agent_result *r, unsigned tag)
{
	uint64_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		count += event_class(r->events[i].kind) != EVENT_CLASS_FREE &&
			 r->events[i].tag == tag;
	return count;
}

static void children_are_silent(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;

	(void)state;
	SKIP_EMULATED(NO_VFORK);
	RUN(&options, &r, target_path("fork_all"));
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	assert_int_equal(agent_said(&r, "good"), 4);
	assert_int_equal(agent_said(&r, "others"), 0);
	assert_int_equal(of_tag(&r, TAG_CHILD), 0);
	agent_result_done(&r);
}

/* What a child of vfork allocates before anybody else is its own affair: it is not the process. */
static void first_in_a_vfork_child(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("first_vfork"));
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_int_equal(r.handshakes, 1);
	assert_as_said(&r);
	assert_int_equal(of_tag(&r, TAG_CHILD), 5); /* in its memory */
	agent_result_done(&r);
}

static void exec_goes_on(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("exec_self"), "5");
	assert_exited(&r, 6);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_int_equal(r.handshakes, 6);
	assert_int_equal(of_tag(&r, TAG_OWN), 60);
	agent_result_done(&r);
}

static void dies(const char *how, bool signalled, int status)
{
	struct agent_options options = {.idle = true, .big_slices = 8};
	struct agent_result r;

	RUN(&options, &r, target_path("death"), how, "100");
	assert_int_equal(WIFSIGNALED(r.status), signalled);
	assert_int_equal(signalled ? WTERMSIG(r.status) : WEXITSTATUS(r.status), status);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_int_equal(of_tag(&r, TAG_OWN), 100);
	agent_result_done(&r);
}

static void every_end(void **state)
{
	(void)state;
	dies("return", false, 7);
	dies("exit", false, 7);
	dies("_exit", false, 7);
	dies("quick_exit", false, 7);
	dies("abort", true, SIGABRT);
	dies("kill", true, SIGKILL);
	dies("segv", true, SIGSEGV);
}

/* Killed at some moment in the middle, many times: what was published makes sense, and at most one
 * event a thread was begun and not published. */
static void killed_in_the_middle(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		struct agent_options options = {.kill_after_events = 1 + i * 7919, .big_slices = 8};
		struct agent_result r;

		RUN(&options, &r, target_path("churn"), "100000000", "4", "12");
		assert_true(WIFSIGNALED(r.status));
		assert_sound(&r);
		assert_int_equal(r.lost.events, 0);
		assert_true(r.died_inside <= 5);
		assert_int_equal(r.produced, r.read + r.died_inside);
		agent_result_done(&r);
	}
}

static void no_descriptor_is_kept(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("closer"));
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	assert_int_equal(agent_said(&r, "open"), 0);
	assert_int_equal(agent_said(&r, "descriptor"), 3);
	agent_result_done(&r);
}

static void refused(void **state)
{
	struct agent_options options = {.refuse = true};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("closer"));
	assert_exited(&r, 0);
	assert_int_equal(r.count, 0);
	assert_int_equal(agent_said(&r, "open"), 0);
	agent_result_done(&r);
}

/* Tasks in the same memory: what they do is the program's, and their end is not the end of its
 * slice. */
static void clones_in_the_same_memory(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;

	(void)state;
	SKIP_EMULATED(NO_VFORK);
	RUN(&options, &r, target_path("clones"));
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	assert_int_equal(agent_said(&r, "good"), 4);
	agent_result_done(&r);
}

/* A ring of 8 KiB that is drained now and then: most allocations wait, with a cancellation
 * pending. */
static void no_point_of_cancellation(void **state)
{
	struct agent_options options = {.small_slices = 4, .drain_every_ms = 2};
	struct agent_result r;
	struct agent_tally t;

	(void)state;
	RUN(&options, &r, target_path("cancel"), "deferred");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_int_equal(agent_said(&r, "made"), 20000);
	assert_int_equal(agent_said(&r, "cancelled"), 1);
	assert_true(r.full_waits > 10);
	agent_tally(&r, TAG_OWN, &t);
	assert_int_equal(t.allocations, 20050);
	assert_int_equal(t.frees, 20050);
	agent_result_done(&r);
}

/* The agent sleeps, the ring is full, the thread is cancelled while it waits for room: it goes at
 * once, and its slice is another's. */
static void cancelled_in_a_hook(void **state)
{
	struct agent_options options = {.small_slices = 2, .asleep_until_ms = 700};
	struct agent_result r;
	struct agent_tally t;

	(void)state;
	RUN(&options, &r, target_path("cancel"), "any");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_true(agent_said(&r, "joined") < 300);
	assert_true(r.full_waits >= 1);
	assert_in_range(r.died_inside, 0, 1);
	assert_int_equal(r.produced, r.read + r.lost.events + r.died_inside);
	agent_tally(&r, TAG_OWN, &t);
	assert_int_equal(t.allocations, 50);
	assert_int_equal(t.frees, 50);
	agent_result_done(&r);
}

/* An agent that looks but now and then, few and small slices: threads end with what they did still
 * in them, and the next wait for a place. */
static void threads_end_with_full_rings(void **state)
{
	struct agent_options options = {.small_slices = 6, .drain_every_ms = 3};
	struct agent_result r;

	(void)state;
	SKIP_EMULATED(NO_ROBUST_LISTS);
	RUN(&options, &r, target_path("churn"), "3000", "3", "12");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_true(r.full_waits > 10);
	agent_result_done(&r);
	RUN(&options, &r, target_path("short_threads"), "400");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	agent_result_done(&r);
}

static void shut_in(void **state)
{
	struct agent_options options = {.big_slices = 8};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("sandbox"), "seccomp");
	if (WIFEXITED(r.status) && WEXITSTATUS(r.status) == 77) {
		print_message("no seccomp here: not tried\n");
		agent_result_done(&r);
		skip();
	}
	assert_exited(&r, 9);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	agent_result_done(&r);
}

static void in_another_root(void **state)
{
	char folder[] = "/tmp/heapcast-root-XXXXXX";
	struct agent_options options = {.big_slices = 8};
	struct agent_result r;

	(void)state;
	if (geteuid()) {
		print_message("not root: not tried\n");
		skip();
	}
	assert_non_null(mkdtemp(folder));
	RUN(&options, &r, target_path("sandbox"), "chroot", folder);
	rmdir(folder);
	assert_exited(&r, 9);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	agent_result_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_are_silent),
		cmocka_unit_test(first_in_a_vfork_child),
		cmocka_unit_test(exec_goes_on),
		cmocka_unit_test(every_end),
		cmocka_unit_test(killed_in_the_middle),
		cmocka_unit_test(no_descriptor_is_kept),
		cmocka_unit_test(refused),
		cmocka_unit_test(clones_in_the_same_memory),
		cmocka_unit_test(no_point_of_cancellation),
		cmocka_unit_test(cancelled_in_a_hook),
		cmocka_unit_test(threads_end_with_full_rings),
		cmocka_unit_test(shut_in),
		cmocka_unit_test(in_another_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
