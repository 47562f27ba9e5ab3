/* One thread, many threads, all functions: what is on record is what the program did. */
#include "tests/unit/preload/support/run.h"

#include <dlfcn.h>
#include <malloc.h>

#include "proto/event.h"

static void one_thread(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;
	struct agent_tally t;

	(void)state;
	RUN(&options, &r, target_path("churn"), "200000", "1", "20");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	agent_tally(&r, TAG_OWN, &t);
	assert_int_equal(t.bytes, agent_said(&r, "bytes"));
	agent_result_done(&r);
}

/* The churn loop lies 20 frames below thread_main: every stack of it has the same depth, and begins
 * in the program. */
static void stacks(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;
	uint64_t depth = 0;

	(void)state;
	RUN(&options, &r, target_path("churn"), "2000", "1", "20");
	assert_sound(&r);
	assert_nothing_lost(&r);
	for (size_t i = 0; i < r.count; i++) {
		const struct agent_event *e = &r.events[i];

		if (e->kind != 1 || e->tag != TAG_OWN)
			continue;
		if (!depth)
			depth = e->depth;
		assert_int_equal(e->depth, depth);
		assert_true(e->pc > r.modules[0].start && e->pc <= r.modules[0].end);
	}
	assert_true(depth >= 20 + 3 && depth <= 20 + 8);
	agent_result_done(&r);
}

static void depth_is_limited(void **state)
{
	struct agent_options options = {.depth_limit = 30};
	struct agent_result r;
	uint32_t deepest = 0;

	(void)state;
	RUN(&options, &r, target_path("churn"), "500", "1", "200");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	for (size_t i = 0; i < r.count; i++)
		if (r.events[i].depth > deepest)
			deepest = r.events[i].depth;
	assert_int_equal(deepest, 31); /* and the frame that says so */
	agent_result_done(&r);
}

static void eight_threads(void **state)
{
	struct agent_options options = {.big_slices = 8};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("churn"), "50000", "8", "10");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	assert_true(r.moves > 0);
	agent_result_done(&r);
}

static void handed_over(void **state)
{
	struct agent_options options = {.big_slices = 8};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("handover"), "60000");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	agent_result_done(&r);
}

static void short_threads(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;

	(void)state;
	SKIP_EMULATED(NO_ROBUST_LISTS);
	RUN(&options, &r, target_path("short_threads"), "2000");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	assert_true(r.slices_claimed >= 2000);
	agent_result_done(&r);
}

static uint64_t count_kind(const struct agent_result *r, const char *name)
{
	uint64_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		count += !strcmp(event_kind_name(r->events[i].kind), name) &&
			 (r->events[i].tag == TAG_OWN ||
			  event_class(r->events[i].kind) == EVENT_CLASS_FREE);
	return count;
}

/* The nth event of this kind. */
static const struct agent_event *nth(const struct agent_result *r, const char *name, unsigned n)
{
	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(event_kind_name(r->events[i].kind), name) && !n--)
			return &r->events[i];
	fail_msg("no %s", name);
	return NULL;
}

static void assert_mallopt(const struct agent_event *e, int parameter, int value)
{
	assert_int_equal(event_call_parameter(e->address), parameter);
	assert_int_equal(event_call_result(e->address), 1);
	assert_int_equal((int)e->size, value);
	assert_true(e->depth >= 4);
}

static void assert_settings(const struct agent_result *r)
{
	assert_mallopt(nth(r, "mallopt", 0), M_MMAP_THRESHOLD, 262144);
	assert_mallopt(nth(r, "mallopt", 1), M_PERTURB, 0);
	assert_mallopt(nth(r, "mallopt", 2), -4711, 3);
	assert_int_equal(nth(r, "malloc_trim", 0)->size, 4096);
}

static void every_function(void **state)
{
	static const char *const once[] = {
		"malloc",	 "calloc",   "realloc", "reallocarray", "posix_memalign",
		"aligned_alloc", "memalign", "valloc",	"pvalloc",	"realloc to 0"};
	struct agent_options options = {0};
	struct agent_result r;
	uint64_t failed = 0;
	bool in_libc = dlsym(RTLD_DEFAULT, "free_sized");

	(void)state;
	RUN(&options, &r, target_path("family"));
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	for (size_t i = 0; i < sizeof(once) / sizeof(*once); i++)
		assert_int_equal(count_kind(&r, once[i]),
				 (strstr(once[i], "aligned_alloc") || !strcmp(once[i], "malloc")) &&
						 in_libc
					 ? 2
					 : 1);
	/* Who asks whether a function is there is told what is true without us. */
	assert_int_equal(agent_said(&r, "sized"), in_libc ? 2 : 0);
	assert_int_equal(count_kind(&r, "free_sized"), in_libc);
	assert_settings(&r);
	assert_true(count_kind(&r, "free") >= 6);
	for (size_t i = 0; i < r.count; i++)
		failed += event_class(r.events[i].kind) == EVENT_CLASS_REALLOCATION &&
			  !r.events[i].address;
	assert_int_equal(failed, 2);
	agent_result_done(&r);
}

/* Linked with a library that has them: taken from the words through which it calls. */
static void sized_frees(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;
	unsigned times;

	(void)state;
	RUN(&options, &r, target_path("sized"));
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	times = (unsigned)agent_said(&r, "times");
	assert_true(times > 0);
	assert_int_equal(count_kind(&r, "free_sized"), times);
	assert_int_equal(count_kind(&r, "free_aligned_sized"), times);
	assert_as_said(&r);
	for (unsigned i = 0; i < times; i++)
		assert_true(nth(&r, "free_sized", i)->depth >= 3);
	agent_result_done(&r);
}

static void frees_without_stacks(void **state)
{
	struct agent_options options = {.no_free_stacks = true, .no_verify = true};
	struct agent_result r;

	(void)state;
	RUN(&options, &r, target_path("churn"), "2000");
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	for (size_t i = 0; i < r.count; i++)
		if (event_class(r.events[i].kind) == EVENT_CLASS_FREE)
			assert_int_equal(r.events[i].depth, 0);
	agent_result_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sized_frees),
		cmocka_unit_test(one_thread),
		cmocka_unit_test(stacks),
		cmocka_unit_test(depth_is_limited),
		cmocka_unit_test(eight_threads),
		cmocka_unit_test(handed_over),
		cmocka_unit_test(short_threads),
		cmocka_unit_test(every_function),
		cmocka_unit_test(frees_without_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
