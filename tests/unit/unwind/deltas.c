/* What a delta promises: keep and count rebuild the same stack at a consumer, outer frames survive
 * the depth limit, stacks deeper than what is remembered, forgetting, generations, suspension; and
 * frames of code that no module holds. */
#include "tests/unit/unwind/host.h"

#include "agent/unwind/thread.h"

#pragma GCC diagnostic ignored "-Winfinite-recursion"

static struct unwind_thread *incremental, *full;
static struct consumer seen, whole;
static struct unwind_delta last;
static uint32_t limit = UNWIND_MAX_DEPTH;
static volatile unsigned sink;

static NOINLINE void hook(void)
{
	struct unwind_regs regs;
	struct unwind_delta other;

	unwind_regs_here(&regs);
	unwind_capture(incremental, &regs, limit, &last);
	consume(&seen, &last);
	unwind_capture_full(full, &regs, limit, &other);
	assert_int_equal(other.keep, 0);
	consume(&whole, &other);
	assert_int_equal(last.flags, other.flags);
	assert_same_stack(&seen, &whole, "incremental and full walk differ");
	__asm__ volatile("");
}

static NOINLINE void recurse(unsigned depth)
{
	if (depth)
		recurse(depth - 1);
	else
		hook();
	sink++;
}

/* Captures on the way down, as a recursive program allocates. */
static NOINLINE void descend(unsigned depth)
{
	if (depth % 500 < 2)
		hook();
	if (depth)
		descend(depth - 1);
	sink++;
}

/* Twice from the same place: only then are the outer frames the same. */
static NOINLINE void recurse_twice(unsigned first, unsigned second)
{
	for (volatile int i = 0; i < 2; i++)
		recurse(i ? second : first);
}

/* Inlined however it is built: of the frames that it counts, none is its own. */
static inline __attribute__((always_inline)) uint32_t plain_depth(void)
{
	limit = UNWIND_MAX_DEPTH;
	recurse(0);
	return last.depth;
}

static void test_keep(void **state)
{
	uint32_t base = plain_depth();

	(void)state;
	recurse_twice(10, 10);
	assert_int_equal(last.depth, base + 11);
	assert_int_equal(last.keep, last.depth); /* to the last frame */
	recurse_twice(10, 8);
	assert_int_equal(last.depth, base + 9);
	assert_int_equal(last.count,
			 1); /* the call of the hook; recursion lies at the same places */
}

static void test_limit_keeps_outer_frames(void **state)
{
	uint32_t base = plain_depth();
	struct consumer all;

	(void)state;
	recurse(20);
	all = seen;
	limit = 7;
	recurse(20);
	assert_int_equal(last.depth, 7);
	assert_true(last.flags & UNWIND_DEPTH_LIMIT);
	assert_memory_equal(seen.pcs, all.pcs, 6 * sizeof(all.pcs[0]));
	limit = base + 5;
	for (unsigned i = 0; i < 40; i++)
		recurse(i % 2 ? i : 40 - i);
	limit = base;
	recurse(0);
	assert_int_equal(last.flags, 0);
	assert_int_equal(last.depth, base);
	for (limit = 1; limit < 50; limit++)
		recurse(limit * 7 % 43);
	limit = 0; /* taken as 1 */
	recurse(0);
	assert_int_equal(last.depth, 1);
	limit = UINT32_MAX;
	recurse(3);
	assert_int_equal(last.depth, base + 3);
}

static void test_deep(void **state)
{
	struct consumer all;

	(void)state;
	plain_depth();
	all = seen;
	limit = 256;
	recurse_twice(3000, 3000);
	assert_int_equal(last.keep, 256); /* remembered, though far beyond the limit */
	assert_int_equal(last.count, 0);
	recurse_twice(TRACK_MAX + 90, TRACK_MAX + 100);
	assert_int_equal(last.depth, 256);
	assert_int_equal(last.flags, UNWIND_DEPTH_LIMIT);
	assert_memory_equal(seen.pcs, all.pcs, 6 * sizeof(all.pcs[0]));
	assert_int_equal(last.keep, 256); /* walked in full, yet nothing is told twice */
	recurse(DEPTH_HARD + 1000);
	assert_int_equal(last.flags, UNWIND_DEPTH_LIMIT | UNWIND_TRUNCATED);
	assert_int_equal(last.depth, 256);
	plain_depth();
	assert_memory_equal(seen.pcs, all.pcs, 6 * sizeof(all.pcs[0]));
	limit = UNWIND_MAX_DEPTH;
	descend(9000);
	limit = 64;
	descend(6000);
}

static void test_forget(void **state)
{
	(void)state;
	plain_depth();
	recurse(4);
	unwind_forget(incremental);
	recurse(4);
	assert_int_equal(last.keep, 0);
	recurse(4);
	assert_true(last.keep > 0);
}

static void test_generations(void **state)
{
	struct unwind_counters before, after;

	(void)state;
	limit = UNWIND_MAX_DEPTH;
	recurse(4);
	unwind_modules_changed();
	unwind_counters(incremental, &before);
	recurse(4);
	unwind_counters(incremental, &after);
	assert_int_equal(last.keep, 0);
	assert_true(after.rows_decoded > before.rows_decoded);

	unwind_suspend_cache();
	unwind_suspend_cache();
	recurse(4);
	unwind_counters(incremental, &before);
	recurse(4);
	unwind_counters(incremental, &after);
	assert_int_equal(last.keep, 0);
	assert_true(after.rows_decoded - before.rows_decoded >= last.depth);
	unwind_resume_cache();
	recurse(4);
	assert_int_equal(last.keep, 0);
	unwind_resume_cache();
	recurse(4);
	assert_int_equal(last.keep, 0);
	recurse(4);
	assert_true(last.keep > 0);
}

#ifdef __x86_64__
typedef void (*code)(void (*)(void));

static NOINLINE void call_code(code made, void (*call)(void))
{
	made(call);
	sink++;
}

static void through_code(void)
{
	recurse(2);
}

/* Code made at run time: with a frame record it is stepped over, without one the stack is cut, and
 * says so. */
static void test_code_in_no_module(void **state)
{
	static const uint8_t with_record[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
	static const uint8_t without[] = {0x55, 0x48, 0x31, 0xed,
					  0xff, 0xd7, 0x5d, 0xc3}; /* rbp = 0 */
	uint8_t *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t base = plain_depth();

	(void)state;
	if (memory == MAP_FAILED)
		skip();
	memcpy(memory, with_record, sizeof(with_record));
	memcpy(memory + 64, without, sizeof(without));
	for (int i = 0; i < 3; i++) {
		call_code((code)(uintptr_t)memory, hook);
		assert_int_equal(last.flags, 0);
		call_code((code)(uintptr_t)memory, through_code);
		assert_int_equal(last.flags, 0);
		assert_true(last.depth >= base + 3);
		call_code((code)(uintptr_t)(memory + 64), hook);
		assert_int_equal(last.flags, UNWIND_TRUNCATED);
		assert_int_equal(last.depth, 1);
	}
	munmap(memory, 4096);
}
#endif

/* Pages that were never needed must not be resident. */
static void test_residency(void **state)
{
	struct unwind_thread *thread = new_unwind_thread();
	unsigned char pages[UNWIND_THREAD_SIZE / 4096];
	struct unwind_delta delta;
	struct unwind_regs regs;
	unsigned resident = 0;

	(void)state;
	unwind_regs_here(&regs);
	for (int i = 0; i < 10; i++)
		unwind_capture(thread, &regs, 256, &delta);
	assert_int_equal(mincore(thread, UNWIND_THREAD_SIZE, pages), 0);
	for (unsigned i = 0; i < sizeof(pages); i++)
		resident += pages[i] & 1;
	assert_true(resident <= 8);
	munmap(thread, UNWIND_THREAD_SIZE);
}

/* A capture that was left in the middle has written a part of a frame into the stack that it was to
 * replace; what it had read still holds, so that nothing else gives it away. */
static void test_abandon(void **state)
{
	(void)state;
	limit = UNWIND_MAX_DEPTH;
	for (volatile int i = 0; i < 2; i++) {
		if (i) {
			incremental->frames[incremental->count - 3].pc ^= 64;
			unwind_abandon(incremental);
		}
		recurse(20);
		assert_true(!i || !last.keep);
	}
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(unwind_init(NULL), -EINVAL);
	assert_int_equal(unwind_init(&test_host), 0);
	incremental = new_unwind_thread();
	full = new_unwind_thread();
	host_know_stack();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keep),
		cmocka_unit_test(test_limit_keeps_outer_frames),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_forget),
		cmocka_unit_test(test_abandon),
		cmocka_unit_test(test_generations),
#ifdef __x86_64__
		cmocka_unit_test(test_code_in_no_module),
#endif
		cmocka_unit_test(test_residency),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
