/* operator new and delete, with the allocator of libc and with those that have operators of their
 * own: each call is on record once. */
#include "tests/unit/preload/support/run.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "proto/event.h"

#define SKIPPED 77

static uint64_t count_kind(const struct agent_result *r, const char *name)
{
	uint64_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		count += !strcmp(event_kind_name(r->events[i].kind), name);
	return count;
}

static uint64_t count_size(const struct agent_result *r, uint64_t size)
{
	uint64_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		count += event_class(r->events[i].kind) == EVENT_CLASS_ALLOCATION &&
			 r->events[i].size == size;
	return count;
}

/* An exception that left a hook has not silenced the thread, nor taken its stacks. */
static void assert_stacks(const struct agent_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->events[i].tag == TAG_OWN)
			assert_true(r->events[i].depth > 0);
}

/* `own`: the operators are the allocator's; `throws`: one that fails does. */
static void run_cxx(const char *preload, bool own, bool throws)
{
	struct agent_options options = {.preload_more = preload};
	struct agent_result r;
	struct agent_tally t;
	uint64_t aligned, operators, entries;

	RUN(&options, &r, target_path("cxx"), throws ? NULL : "kind");
	assert_exited(&r, 3);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_stacks(&r);
	assert_int_equal(agent_said(&r, "caught"), throws ? 10 : 0);
	assert_int_equal(agent_said(&r, "nulls"), 10);
	entries = agent_said(&r, "entries");
	assert_int_equal(count_size(&r, agent_said(&r, "entry_size")), entries);
	aligned = agent_said(&r, "aligned");
	agent_tally(&r, TAG_OWN, &t);
	assert_int_equal(t.orphans, 0);
	assert_int_equal(t.twice, 0);
	assert_int_equal(t.allocations, agent_said(&r, "allocations") + (own ? aligned : 0));
	assert_int_equal(t.frees, agent_said(&r, "frees") + (own ? aligned : 0));
	assert_int_equal(count_kind(&r, "aligned_alloc"), own ? 0 : aligned);
	operators = count_kind(&r, "operator new"); /* the allocator's own use is among them */
	assert_true(own ? operators >= entries : !operators);
	operators = count_kind(&r, "operator delete");
	assert_true(own ? operators >= entries : !operators);
	agent_result_done(&r);
}

static void libc(void **state)
{
	(void)state;
	run_cxx(NULL, false, true);
}

static void run_allocator(const char *name, bool throws)
{
	static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu",
					      "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
					      "/usr/lib"};
	char path[256];

	SKIP_EMULATED(NO_ALLOCATORS);
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], name);
		if (access(path, R_OK))
			continue;
		run_cxx(path, true, throws);
		return;
	}
	print_message("SKIPPED: %s is not here\n", name);
	skip();
}

static void tcmalloc(void **state)
{
	(void)state;
	run_allocator("libtcmalloc_minimal.so.4", true);
}

/* Built as C, as Debian does, it aborts where it should throw. */
static void mimalloc(void **state)
{
	(void)state;
	run_allocator("libmimalloc.so.2.0", false);
}

static void jemalloc(void **state)
{
	(void)state;
	run_allocator("libjemalloc.so.2", true);
}

/* An allocator with some of the operators, which call it by name. */
static void by_name(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;
	char path[600];

	(void)state;
	snprintf(path, sizeof(path), "%s.so", target_path("named_alloc"));
	options.preload_more = path;
	RUN(&options, &r, target_path("cxx"));
	assert_exited(&r, 3);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	assert_stacks(&r);
	assert_true(count_kind(&r, "operator new") >= 1000);
	assert_int_equal(count_size(&r, agent_said(&r, "entry_size")), 1000);
	agent_result_done(&r);
}

/* The library of C++ is in the scope of a plugin only, but what it defines is looked for in ours
 * first. */
static void plugin_of_a_c_program(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;
	char path[600];

	(void)state;
	snprintf(path, sizeof(path), "%s.so", target_path("cxx_plugin"));
	RUN(&options, &r, target_path("cxx_loader"), path, "500");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_int_equal(count_size(&r, own(200)), agent_said(&r, "allocations"));
	assert_true(count_kind(&r, "free") >= agent_said(&r, "frees"));
	assert_int_equal(agent_said(&r, "caught"), 3);
	agent_result_done(&r);
}

/* Operators of the program's own. Over malloc, malloc's record is the truth, whoever sees them;
 * over a pool nobody but the program knows of its blocks. */
static void run_own(const char *name, bool over_malloc)
{
	struct agent_options options = {0};
	struct agent_result r;
	struct agent_tally t;

	RUN(&options, &r, target_path(name));
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	agent_tally(&r, TAG_OWN, &t);
	assert_int_equal(t.orphans, 0);
	assert_int_equal(t.twice, 0);
	assert_int_equal(t.allocations, over_malloc ? agent_said(&r, "allocations") : 0);
	assert_int_equal(t.frees, over_malloc ? agent_said(&r, "frees") : 0);
	assert_int_equal(count_kind(&r, "operator new"), 0);
	assert_int_equal(count_kind(&r, "operator delete"), 0);
	agent_result_done(&r);
}

static void of_the_program(void **state)
{
	(void)state;
	run_own("own_malloc_hidden", true);
	run_own("own_malloc_shown", true);
	run_own("own_pool_hidden", false);
	run_own("own_pool_shown", false);
}

/* Opened and closed three times. libstdc++ stays loaded, and its operators are then the first that
 * there are: all modules of a process have the same. They round up sizes that are aligned. */
static void of_a_plugin(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;
	struct agent_tally t;
	char path[600];

	(void)state;
	snprintf(path, sizeof(path), "%s.so", target_path("own_plugin"));
	RUN(&options, &r, target_path("cxx_loader"), path, "20");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_int_equal(count_size(&r, own(200)) + count_size(&r, 256),
			 10 * agent_said(&r, "allocations"));
	agent_tally(&r, TAG_OWN, &t);
	assert_int_equal(t.allocations, t.frees);
	assert_int_equal(t.orphans, 0);
	assert_int_equal(t.twice, 0);
	assert_int_equal(count_kind(&r, "operator new"), 0);
	agent_result_done(&r);
}

/* What sampling passes over does not go through libstdc++, but a failure does, and so does all
 * where an operator is the program's. */
static void run_sampled(const char *name, int status)
{
	struct agent_options options = {
		.mode = RING_SAMPLE, .sample_interval = 4096, .big_slices = 4, .set_lines = 4096};
	struct agent_result r;
	struct agent_tally t;

	RUN(&options, &r, target_path(name));
	assert_exited(&r, status);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_stacks(&r);
	agent_tally(&r, TAG_OWN, &t);
	assert_int_equal(t.orphans, 0);
	assert_int_equal(t.twice, 0);
	if (status) {
		assert_int_equal(agent_said(&r, "caught"), 10);
		assert_int_equal(agent_said(&r, "nulls"), 10);
		assert_in_range(t.allocations, 1, agent_said(&r, "allocations") - 1);
	}
	agent_result_done(&r);
}

static void passed_over(void **state)
{
	(void)state;
	run_sampled("cxx", 3);
	run_sampled("own_malloc_shown", 0);
	run_sampled("own_malloc_hidden", 0);
	run_sampled("own_pool_shown", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libc),		  cmocka_unit_test(tcmalloc),
		cmocka_unit_test(mimalloc),	  cmocka_unit_test(jemalloc),
		cmocka_unit_test(by_name),	  cmocka_unit_test(plugin_of_a_c_program),
		cmocka_unit_test(of_the_program), cmocka_unit_test(of_a_plugin),
		cmocka_unit_test(passed_over),
	};

	if (access(target_path("cxx"), X_OK)) {
		puts("SKIPPED: there was no C++ compiler to build the target with");
		return SKIPPED;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
