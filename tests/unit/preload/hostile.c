/* Jumps out of hooks, signals inside of them, libraries that come and go, the program's own orders.
 */
#include "tests/unit/preload/support/run.h"

#include "proto/event.h"

static void sound_and_as_said(const struct agent_options *options, const char *program,
			      const char *first, const char *second)
{
	struct agent_result r;

	RUN(options, &r, target_path(program), first, second);
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	agent_result_done(&r);
}

/* A jump out of a hook costs no event and does not silence the thread, however deep it was and on
 * whichever stack. */
static void jumps(void **state)
{
	struct agent_options options = {.preload_more = target_path("jump_alloc.so")};

	(void)state;
	sound_and_as_said(&options, "jumper", "300", NULL);
	sound_and_as_said(&options, "jumper", "300", "alt");
}

/* What a handler allocates inside of a hook is on record, and an allocator that calls itself by
 * name is not counted twice. */
static void nested(void **state)
{
	struct agent_options options = {.preload_more = target_path("jump_alloc.so")};

	(void)state;
	sound_and_as_said(&options, "nested", "500", NULL);
	sound_and_as_said(&options, "nested", "500", "alt");
}

/* Addresses that a handler has had, or what lay aside as a hook was left, take nothing back of
 * others; nor does a handler's mremap of itself. */
static void reused(void **state)
{
	struct agent_options options = {.preload_more = target_path("jump_alloc.so")};
	struct agent_result r;
	unsigned long births = 0, ends = 0;

	(void)state;
	RUN(&options, &r, target_path("reused"), NULL);
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	for (size_t i = 0; i < r.count; i++)
		if (event_space(r.events[i].kind) == EVENT_SPACE_MAPPED &&
		    r.events[i].size % 16 == TAG_OWN)
			*(event_class(r.events[i].kind) == EVENT_CLASS_FREE ? &ends : &births) += 1;
	assert_int_equal(births, agent_said(&r, "mapped"));
	assert_int_equal(ends, agent_said(&r, "unmapped"));
	assert_int_equal(agent_said(&r, "reused"), 4);
	agent_result_done(&r);
}

/* A handler every 50 us. What it allocates while the program waits for room may be too much to
 * remember: then it is counted. */
static void signals_all_the_time(void **state)
{
	struct agent_options options = {.preload_more = target_path("jump_alloc.so"),
					.big_slices = 4};
	struct agent_result r;
	struct agent_tally t;

	(void)state;
	SKIP_EMULATED("the emulator's own code that handlers return to lies in no module");
	RUN(&options, &r, target_path("sigtimer"), "400");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_int_equal(r.no_slice.events + r.died_inside, 0);
	assert_int_equal(r.produced, r.read + r.lost.events);
	agent_tally(&r, TAG_OWN, &t);
	assert_int_equal(t.allocations + r.lost.allocations, agent_said(&r, "allocations"));
	assert_int_equal(t.twice, 0);
	assert_true(t.orphans <= r.lost.allocations);
	assert_true(agent_said(&r, "handled") > 100);
	agent_result_done(&r);
}

static void libraries_come_and_go(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;
	unsigned plugins = 0, inside = 0;

	(void)state;
	RUN(&options, &r, target_path("dlopener"), "40", target_path("plugin1.so"),
	    target_path("plugin2.so"));
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	for (size_t i = 0; i < r.module_count; i++)
		plugins += strstr(r.modules[i].path, "plugin") != NULL;
	assert_int_equal(plugins, 40);
	assert_int_equal(r.epochs >= 39, 1);
	for (size_t i = 0; i < r.module_count; i++) {
		assert_true(r.modules[i].id == i + 1);
		assert_true(!strstr(r.modules[i].path, "plugin") || !r.modules[i].live);
	}
	assert_true(r.modules[0].has_build_id && strstr(r.modules[0].path, "/targets/dlopener"));
	for (size_t i = 0; i < r.count; i++)
		inside += r.events[i].tag == TAG_OWN && r.events[i].kind == 1;
	assert_int_equal(inside, 120);
	agent_result_done(&r);
}

/* What is allocated between stop and start is not on record; frees go on. */
static void orders(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;
	struct agent_tally t;

	(void)state;
	RUN(&options, &r, target_path("marks"));
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_int_equal(agent_said(&r, "api"), 1);
	agent_tally(&r, TAG_OWN, &t);
	assert_int_equal(t.allocations, 2);
	assert_int_equal(t.frees, 1);
	assert_int_equal(r.marks, 3);
	assert_int_equal(r.last_mark, 42);
	assert_string_equal(r.last_text, "hello, ring");
	agent_result_done(&r);
}

static void mode_off(void **state)
{
	struct agent_options options = {.sample_off = true};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("churn"), "10000", "4");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_int_equal(r.handshakes, 1);
	assert_int_equal(r.produced, 0);
	assert_int_equal(r.slices_claimed, 0);
	agent_result_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jumps),
		cmocka_unit_test(nested),
		cmocka_unit_test(reused),
		cmocka_unit_test(signals_all_the_time),
		cmocka_unit_test(libraries_come_and_go),
		cmocka_unit_test(orders),
		cmocka_unit_test(mode_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
