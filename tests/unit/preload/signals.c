/* Start and stop by signal: only on request, only where the program leaves the signal alone, at any
 * moment. */
#include "tests/unit/preload/support/run.h"

#include <signal.h>

#include "proto/event.h"

static const char *const on_request[] = {"HEAPCAST_REGISTER_SIGUSR1=1", NULL};
static const char *const by_the_old_name[] = {"MEMORY_PROFILER_REGISTER_SIGUSR1=1", NULL};
static const char *const overruled[] = {"MEMORY_PROFILER_REGISTER_SIGUSR1=1",
					"HEAPCAST_REGISTER_SIGUSR1=0", NULL};
static const char *const the_other[] = {"HEAPCAST_REGISTER_SIGUSR2=1", NULL};
static const char *const stopped[] = {"HEAPCAST_REGISTER_SIGUSR1=1",
				      "MEMORY_PROFILER_DISABLE_BY_DEFAULT=1", NULL};

static uint64_t of_tag(const struct agent_result *r, unsigned tag)
{
	uint64_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		count += event_class(r->events[i].kind) != EVENT_CLASS_FREE &&
			 r->events[i].tag == tag;
	return count;
}

static void toggles(const char *const environment[])
{
	struct agent_options options = {.environment = environment};
	struct agent_result r;

	RUN(&options, &r, target_path("toggles"), "plain");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_int_equal(of_tag(&r, TAG_OWN), 15);
	assert_int_equal(of_tag(&r, TAG_CHILD), 0);
	assert_int_equal(r.marks, 2);
	assert_int_equal(agent_said(&r, "errno"), 4711);
	agent_result_done(&r);
}

static void stops_and_starts(void **state)
{
	(void)state;
	toggles(on_request);
	toggles(by_the_old_name);
}

/* Nothing before the first signal; then it is the other way round. */
static void stopped_at_first(void **state)
{
	struct agent_options options = {.environment = stopped};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("toggles"), "plain");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_int_equal(of_tag(&r, TAG_OWN), 0);
	assert_int_equal(of_tag(&r, TAG_CHILD), 20);
	assert_int_equal(r.marks, 2);
	agent_result_done(&r);
}

static void dies_of_it(const char *const environment[])
{
	struct agent_options options = {.environment = environment};
	struct agent_result r;

	RUN(&options, &r, target_path("toggles"), "plain");
	assert_true(WIFSIGNALED(r.status));
	assert_int_equal(WTERMSIG(r.status), SIGUSR1);
	assert_int_equal(of_tag(&r, TAG_OWN), 10);
	assert_int_equal(r.marks, 0);
	agent_result_done(&r);
}

/* The default action is what it was. */
static void only_on_request(void **state)
{
	(void)state;
	dies_of_it(NULL);
	dies_of_it(the_other);
	dies_of_it(overruled);
}

static void programs_own_handler(void **state)
{
	struct agent_options options = {.environment = on_request};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("toggles"), "own");
	assert_exited(&r, 0);
	assert_nothing_lost(&r);
	assert_int_equal(agent_said(&r, "handled"), 1);
	assert_int_equal(of_tag(&r, TAG_OWN), 15);
	assert_int_equal(r.marks, 0);
	agent_result_done(&r);
}

static void calls_go_on(void **state)
{
	struct agent_options options = {.environment = on_request};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("toggles"), "read");
	assert_exited(&r, 0);
	assert_int_equal(agent_said(&r, "read"), 1);
	assert_int_equal(r.marks, 1);
	agent_result_done(&r);
}

/* Five hundred, wherever they come: signals of one kind that wait are one signal, so only their
 * upper limit is known, and that there were many. Blocks made before a stop are freed on record. */
static void in_the_middle(void **state)
{
	struct agent_options options = {.environment = on_request, .big_slices = 8};
	struct agent_result r;
	struct agent_tally t;

	(void)state;
	RUN(&options, &r, target_path("toggles"), "storm");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	agent_tally(&r, TAG_OWN, &t);
	assert_true(t.live <= 1);
	assert_in_range(r.marks, 250, 500);
	agent_result_done(&r);
}

/* Off from the start, on and off by one of several threads: what that thread does next is on record
 * or not, to the event, and what it has recorded ends on record though recording is off by then. */
static void switched_by_threads(const char *how)
{
	struct agent_options options = {.environment = stopped, .big_slices = 8};
	struct agent_result r;
	struct agent_tally t;

	RUN(&options, &r, target_path("switches"), how);
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	agent_tally(&r, TAG_OWN, &t);
	assert_int_equal(t.allocations, agent_said(&r, "allocations"));
	assert_int_equal(t.live, 0);
	assert_int_equal(t.twice, 0);
	assert_int_equal(of_tag(&r, TAG_CHILD), 0);
	agent_result_done(&r);
}

static void at_once(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		switched_by_threads("api");
		switched_by_threads("signal");
	}
}

/* A hook that handlers interrupt is under way to its end and is on record; of theirs, what does not
 * fit into the queue is counted as lost, and nothing else is missing. */
static void stepped(const char *how, unsigned long left_most)
{
	struct agent_options options = {.big_slices = 8};
	struct agent_result r;
	/* Of handlers, and of the hooks that they interrupt. */
	unsigned long births[2] = {0}, ends[2] = {0};

	RUN(&options, &r, target_path("stepped"), how);
	assert_exited(&r, 0);
	if (!left_most)
		assert_sound(&r);
	assert_true(r.faults <= 1); /* what was begun as the hook was left */
	for (size_t i = 0; i < r.count; i++) {
		const struct agent_event *event = &r.events[i];
		bool own = event->size % 16 == TAG_OWN;

		if (event_space(event->kind) != EVENT_SPACE_MAPPED || (!own && event->size != 4096))
			continue;
		(event_class(event->kind) == EVENT_CLASS_FREE ? ends : births)[own]++;
	}
	assert_int_equal(births[1], agent_said(&r, "mapped"));
	assert_int_equal(ends[1], agent_said(&r, "unmapped"));
	assert_true(r.lost.events > 0);
	assert_in_range(births[0] + r.lost.allocations, agent_said(&r, "handlers"),
			agent_said(&r, "handlers") + left_most);
	assert_in_range(ends[0] + r.lost.frees, agent_said(&r, "handlers"),
			agent_said(&r, "handlers") + left_most);
	assert_in_range(r.produced, r.read + r.lost.events, r.read + r.lost.events + left_most);
	agent_result_done(&r);
}

static void at_any_instruction(void **state)
{
	(void)state;
#ifndef __x86_64__
	print_message("SKIPPED: steps by the trap flag of x86\n");
	skip();
#endif
	stepped(NULL, 0);
}

/* If a jump ends a hook while it puts on record what has waited, no more than the one event is told
 * twice. */
static void left_at_any_instruction(void **state)
{
	(void)state;
#ifndef __x86_64__
	print_message("SKIPPED: steps by the trap flag of x86\n");
	skip();
#endif
	stepped("jump", 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stops_and_starts),
		cmocka_unit_test(stopped_at_first),
		cmocka_unit_test(only_on_request),
		cmocka_unit_test(programs_own_handler),
		cmocka_unit_test(calls_go_on),
		cmocka_unit_test(in_the_middle),
		cmocka_unit_test(at_once),
		cmocka_unit_test(at_any_instruction),
		cmocka_unit_test(left_at_any_instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
