/* Allocators under names of their own: what a program does through each function is on record, and
 * who asks whether such a function is there hears the truth. */
#include "tests/unit/preload/support/run.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "proto/event.h"

static void assert_stacks(const struct agent_result *r)
{
	const struct agent_module *program = &r->modules[0];
	uint64_t own_frames = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct agent_event *e = &r->events[i];

		if (e->tag != TAG_OWN || event_class(e->kind) != EVENT_CLASS_ALLOCATION)
			continue;
		assert_true(e->depth >= 2);
		own_frames += e->pc > program->start && e->pc <= program->end;
	}
	assert_true(own_frames > 0);
}

static void run_named(const char *name)
{
	struct agent_options options = {0};
	struct agent_result r;

	if (access(target_path(name), X_OK)) {
		print_message("SKIPPED: %s was not built, its library is not here\n", name);
		skip();
	}
	RUN(&options, &r, target_path(name));
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	assert_stacks(&r);
	agent_result_done(&r);
}

static void jemalloc(void **state)
{
	(void)state;
	run_named("named_jemalloc");
}

static void tcmalloc(void **state)
{
	(void)state;
	run_named("named_tcmalloc");
}

static void mimalloc(void **state)
{
	(void)state;
	run_named("named_mimalloc");
}

/* Sizes after xallocx: only what it could do. */
static void assert_resized(const struct agent_result *r)
{
	uint64_t in_place = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct agent_event *e = &r->events[i];

		if (event_class(e->kind) != EVENT_CLASS_REALLOCATION ||
		    e->address != e->old_address)
			continue;
		assert_true(e->size == own(48) || e->size == own(160));
		in_place++;
	}
	assert_int_equal(in_place, agent_said(r, "allocations") / 8);
}

static void run_prefixed(const char *name, const char *plugin)
{
	struct agent_options options = {0};
	struct agent_result r;
	struct agent_tally t;
	char path[600];

	snprintf(path, sizeof(path), "%s.so", target_path("prefixed_plugin"));
	RUN(&options, &r, target_path(name), "50", plugin ? path : NULL);
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	assert_stacks(&r);
	assert_resized(&r);
	agent_tally(&r, TAG_CHILD, &t);
	assert_int_equal(t.allocations, plugin ? 1 : 0);
	for (size_t i = 0; i < r.count; i++) /* the allocator's own mapping */
		assert_true(event_space(r.events[i].kind) == EVENT_SPACE_HEAP);
	agent_result_done(&r);
}

static void resolved_at_the_start(void **state)
{
	(void)state;
	run_prefixed("prefixed_now", NULL);
}

static void resolved_at_the_first_call(void **state)
{
	(void)state;
	run_prefixed("prefixed_lazy", NULL);
}

static void in_a_plugin(void **state)
{
	(void)state;
	run_prefixed("prefixed_lazy", "plugin");
}

/* An exception of the allocator passes the hook. */
static void that_throws(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;

	(void)state;
	if (access(target_path("thrown"), X_OK)) {
		print_message("SKIPPED: no C++ compiler was there at build time\n");
		skip();
	}
	RUN(&options, &r, target_path("thrown"));
	assert_exited(&r, 0);
	assert_int_equal(agent_said(&r, "caught"), 10);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	agent_result_done(&r);
}

static void not_there(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("absent"));
	assert_exited(&r, 0);
	assert_int_equal(agent_said(&r, "there"), 0);
	agent_result_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jemalloc),
		cmocka_unit_test(tcmalloc),
		cmocka_unit_test(mimalloc),
		cmocka_unit_test(resolved_at_the_start),
		cmocka_unit_test(resolved_at_the_first_call),
		cmocka_unit_test(in_a_plugin),
		cmocka_unit_test(that_throws),
		cmocka_unit_test(not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
