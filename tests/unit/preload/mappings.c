/* Mappings of the program: each one is on record as the range that it is, apart from the heap, and
 * those of an allocator are not. */
#include "tests/unit/preload/support/run.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "proto/event.h"

#define PAGE  4096u
#define HUGE_ ((size_t)1 << (sizeof(size_t) == 8 ? 40 : 30)) /* as in targets/mappings */

static bool is(const struct agent_event *e, const char *name, uint64_t size)
{
	return !strcmp(event_kind_name(e->kind), name) && e->size == size;
}

static const struct agent_event *find(const struct agent_result *r, const char *name, uint64_t size)
{
	for (size_t i = 0; i < r->count; i++)
		if (is(&r->events[i], name, size))
			return &r->events[i];
	fail_msg("no %s of %lu bytes", name, (unsigned long)size);
	return NULL;
}

static unsigned count(const struct agent_result *r, const char *name)
{
	unsigned n = 0;

	for (size_t i = 0; i < r->count; i++)
		n += !strcmp(event_kind_name(r->events[i].kind), name);
	return n;
}

static void assert_moves(const struct agent_result *r, uint64_t bytes)
{
	const struct agent_event *e = find(r, "mremap", 2 * bytes);

	assert_true(e->old_address && e->old_address != e->address);
	assert_true(e->call_stamp && e->call_stamp < e->stamp);
	assert_int_equal(e[-1].address, e->old_address);
	assert_int_equal(e[-1].size, bytes);
	assert_int_equal(e[-1].stamp, e->call_stamp);
	assert_string_equal(event_kind_name(e[-1].kind), "munmap");
	e = find(r, "mremap", bytes);
	assert_int_equal(e->address, e->old_address);
}

static void assert_ranges(const struct agent_result *r, uint64_t bytes)
{
	const struct agent_event *whole = find(r, "mmap", bytes),
				 *fixed = find(r, "mmap", 2 * PAGE),
				 *hole = find(r, "munmap", 3 * PAGE);

	assert_int_equal(fixed->address, whole->address + 20 * PAGE);
	assert_int_equal(hole->address, whole->address + 4 * PAGE);
	assert_true(whole->stamp < hole->stamp && hole->stamp < fixed->stamp);
	assert_true(whole->depth >= 3);
}

static void every_mapping(void **state)
{
	struct agent_options options = {0};
	struct agent_result r;
	uint64_t bytes;

	(void)state;
	RUN(&options, &r, target_path("mappings"));
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	bytes = agent_said(&r, "bytes");
	assert_ranges(&r, bytes);
	assert_moves(&r, bytes);
	assert_int_equal(find(&r, "munmap", HUGE_)->address, find(&r, "mmap", HUGE_)->address);
	assert_int_equal(find(&r, "sbrk", 3 * PAGE)->address + PAGE,
			 find(&r, "sbrk back", 2 * PAGE)->address);
	assert_int_equal(find(&r, "sbrk", 4 * PAGE)->address + 4 * PAGE,
			 find(&r, "sbrk back", 5 * PAGE)->address + 5 * PAGE);
	/* Neither what failed nor what libc and the loader did is among them. */
	assert_int_equal(count(&r, "mmap"), 5);
	assert_int_equal(count(&r, "mremap"), 2);
	assert_int_equal(count(&r, "munmap"), 4 + 2);
	assert_int_equal(count(&r, "sbrk"), 2);
	assert_int_equal(count(&r, "sbrk back"), 2);
	agent_result_done(&r);
}

/* An allocator that maps by name is not taken for the program. */
static void run_allocator(const char *name)
{
	char path[256];
	struct agent_options options = {.preload_more = path};
	struct agent_result r;

	SKIP_EMULATED(NO_ALLOCATORS);
	snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/%s", name);
	if (access(path, R_OK)) {
		print_message("SKIPPED: %s is not here\n", path);
		skip();
	}
	RUN(&options, &r, target_path("churn"), "2000", "4", "5");
	assert_exited(&r, 0);
	assert_sound(&r);
	assert_nothing_lost(&r);
	assert_as_said(&r);
	assert_int_equal(count(&r, "mmap"), 0);
	assert_int_equal(count(&r, "munmap"), 0);
	assert_int_equal(count(&r, "sbrk"), 0);
	agent_result_done(&r);
}

static void jemalloc(void **state)
{
	(void)state;
	run_allocator("libjemalloc.so.2");
}

static void mimalloc(void **state)
{
	(void)state;
	run_allocator("libmimalloc.so.2.0");
}

static void tcmalloc(void **state)
{
	(void)state;
	run_allocator("libtcmalloc_minimal.so.4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mapping),
		cmocka_unit_test(jemalloc),
		cmocka_unit_test(mimalloc),
		cmocka_unit_test(tcmalloc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
