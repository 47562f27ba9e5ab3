/* What a program tells of its own accord: pools, labels, the older names; and what it may ask for:
 * zeroed memory. */
#include "tests/unit/preload/support/run.h"

#include <stdlib.h>
#include <unistd.h>

#include "proto/event.h"

static unsigned count(const struct agent_result *r, const char *name)
{
	unsigned n = 0;

	for (size_t i = 0; i < r->count; i++)
		n += !strcmp(event_kind_name(r->events[i].kind), name);
	return n;
}

/* Blocks of a pool inside of a block of the heap, the first at the same address. */
static void in_c(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;
	struct agent_tally t;

	(void)state;
	RUN(&options, &r, target_path("api_c"));
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_int_equal(agent_said(&r, "api"), 1);
	assert_as_said(&r);
	assert_int_equal(count(&r, "pool allocate"), 10);
	assert_int_equal(count(&r, "pool free"), 5);
	for (size_t i = 0; i < r.count; i++)
		if (!strcmp(event_kind_name(r.events[i].kind), "pool allocate")) {
			assert_int_equal(r.events[i].size, own(90));
			assert_true(r.events[i].depth >= 2);
		}
	assert_string_equal(r.last_text, "request 7");
	assert_int_equal(r.last_mark, 4711);
	assert_int_equal(r.marks, 4);
	agent_tally(&r, TAG_CHILD, &t); /* made between stop and start */
	assert_int_equal(t.allocations, 0);
	agent_result_done(&r);
}

static void in_cxx(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;

	(void)state;
	if (access(target_path("api_cxx"), X_OK)) {
		print_message("SKIPPED: there was no C++ compiler to build the target with\n");
		skip();
	}
	RUN(&options, &r, target_path("api_cxx"));
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_int_equal(count(&r, "pool allocate"), 2);
	assert_int_equal(count(&r, "pool free"), 2);
	agent_result_done(&r);
}

static void run_zeroed(const char *variable, unsigned long most)
{
	const char *environment[] = {variable, NULL};
	struct agent_options options = {.environment = environment};
	struct agent_result r;

	RUN(&options, &r, target_path("zeroed"));
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_in_range(agent_said(&r, "dirty"), most ? 1 : 0, most);
	agent_result_done(&r);
}

static void zeroed_if_asked(void **state)
{
	(void)state;
	run_zeroed("HEAPCAST_ZERO_MEMORY=1", 0);
	run_zeroed("MEMORY_PROFILER_ZERO_MEMORY=1", 0);
	run_zeroed("HEAPCAST_ZERO_MEMORY=0", 800);
}

/* The loader allocates a thread's data at its first use; eight threads at once, in a library that
 * came after they began. */
static void thread_local_data(void **state)
{
	struct agent_options options = {.big_slices = 8};
	struct agent_result r;
	char path[600];
	unsigned big = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s.so", target_path("tls_plugin"));
	RUN(&options, &r, target_path("tls_user"), path, "8");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	for (size_t i = 0; i < r.count; i++) {
		const struct agent_event *e = &r.events[i];

		if (event_class(e->kind) != EVENT_CLASS_ALLOCATION || e->size < 256 << 10)
			continue;
		big++;
		assert_true(e->depth >= 3); /* up to the function of the plugin, and the thread */
	}
	assert_true(big >= 8);
	assert_int_equal(r.truncated, 0);
	agent_result_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_c),
		cmocka_unit_test(in_cxx),
		cmocka_unit_test(zeroed_if_asked),
		cmocka_unit_test(thread_local_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
