/* How far a walk reads: stacks that are known, stacks of which only pages are, and the limits
 * between what is asked for and what is refused. Addresses are only compared where nothing is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "agent/unwind/walk.h"

#define BASE UINT64_C(0x40000000) /* of stacks in tests that read nothing */
#define PAGE UINT64_C(4096)
#define MIB  (UINT64_C(1) << 20)

/* What the host says, and was asked for. */
static struct {
	uint64_t low, high; /* of the stack that is known; high 0: none is */
	uint64_t until;	    /* memory is readable up to there */
	unsigned asked_stack, asked_memory;
	uint64_t sp, from, to;
} host;

static int bounds(void *context, uint64_t sp, uint64_t *ret_low, uint64_t *ret_high)
{
	(void)context;
	host.asked_stack++;
	host.sp = sp;
	*ret_low = host.low;
	*ret_high = host.high;
	return sp >= host.low && sp < host.high;
}

static uint64_t readable(uint64_t from, uint64_t to)
{
	host.asked_memory++;
	host.from = from;
	host.to = to;
	return host.until <= from ? from : host.until < to ? host.until : to;
}

static const struct unwind_module *no_module(void *context, uint64_t pc)
{
	(void)context;
	(void)pc;
	return NULL;
}

static const struct unwind_host test_host = {
	.find_module = no_module, .stack_bounds = bounds, .readable = readable};
static struct unwind_thread *thread;

static int setup(void **state)
{
	(void)state;
	assert_int_equal(unwind_init(&test_host), 0);
	thread = aligned_alloc(4096, UNWIND_THREAD_SIZE);
	assert_non_null(thread);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(thread);
	return 0;
}

static void begin(void)
{
	memset(thread, 0, UNWIND_THREAD_SIZE);
	thread = unwind_thread_init(thread);
	memset(&host, 0, sizeof(host));
}

static void test_known_stack(void **state)
{
	struct region *r;

	(void)state;
	begin();
	host.low = BASE;
	host.high = BASE + MIB + 3;
	r = region_find(thread, BASE + 8);
	assert_int_equal(host.sp, BASE + 7); /* the byte below */
	assert_int_equal(r->low, BASE);
	assert_int_equal(r->high, BASE + MIB);
	assert_int_equal(r->until, BASE + MIB + 3);
	assert_true(r->known);
	/* all of it is found again, its ends included, without asking */
	host.asked_stack = 0;
	assert_ptr_equal(region_find(thread, BASE), r);
	assert_ptr_equal(region_find(thread, BASE + MIB + 3), r);
	assert_int_equal(host.asked_stack, 0);
	assert_int_equal(host.asked_memory, 0);
	assert_ptr_not_equal(region_find(thread, BASE + MIB + 4), r);
	assert_int_equal(host.asked_stack, 1);
	assert_int_equal(region_find(thread, BASE - 1)->low, BASE - 1); /* it does not grow */
}

/* Two stacks are remembered, and the one that was found first gives way. */
static void test_two_stacks(void **state)
{
	struct region *first, *second;

	(void)state;
	begin();
	host.until = UINT64_MAX;
	first = region_find(thread, BASE);
	assert_int_equal(host.from, BASE);
	assert_int_equal(host.to, BASE + ARCH_WORD);
	assert_false(first->known);
	assert_int_equal(first->low, BASE);
	assert_int_equal(first->high, BASE + ARCH_WORD);
	assert_int_equal(first->until, BASE + ARCH_WORD);
	second = region_find(thread, 3 * BASE);
	assert_ptr_not_equal(second, first);
	host.asked_memory = 0;
	assert_ptr_equal(region_find(thread, BASE), first);
	assert_ptr_equal(region_find(thread, 3 * BASE), second);
	assert_int_equal(host.asked_memory, 0);
	assert_ptr_equal(region_find(thread, 5 * BASE), first);
	assert_ptr_equal(region_find(thread, 3 * BASE), second);
	assert_ptr_equal(region_find(thread, 7 * BASE), second);
	assert_ptr_equal(region_find(thread, 5 * BASE), first);
}

/* A stack has grown down by 1 MiB at most, if all between can be read. */
static void test_growth(void **state)
{
	struct region *r;

	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		begin();
		host.until = UINT64_MAX;
		r = region_find(thread, BASE);
		host.asked_memory = 0;
		/* down to the page that has the red zone */
		if (more) {
			assert_ptr_not_equal(region_find(thread, BASE - MIB - PAGE + ARCH_RED_ZONE),
					     r);
			continue;
		}
		assert_ptr_equal(region_find(thread, BASE - MIB + ARCH_RED_ZONE), r);
		assert_int_equal(r->low, BASE - MIB);
		assert_int_equal(host.asked_memory, 1);
		assert_int_equal(host.from, BASE - MIB);
		assert_int_equal(host.to, BASE);
		assert_ptr_equal(region_find(thread, BASE - MIB - 8), r);
		assert_int_equal(r->low, BASE - MIB - PAGE);
	}
	begin();
	host.until = UINT64_MAX;
	r = region_find(thread, BASE);
	host.until = BASE - 1; /* a hole */
	assert_ptr_not_equal(region_find(thread, BASE - PAGE), r);
	assert_int_equal(r->low, BASE);
	begin();
	host.until = UINT64_MAX;
	r = region_find(thread, BASE);
	host.until = BASE;
	assert_ptr_equal(region_find(thread, BASE - PAGE), r);
}

static struct walk walk_at(uint64_t sp)
{
	struct walk w = {.thread = thread};

	walk_enter(&w, sp);
	host.asked_memory = 0;
	return w;
}

static void test_reach(void **state)
{
	struct walk w;

	(void)state;
	begin();
	host.until = UINT64_MAX;
	w = walk_at(BASE);
	assert_true(walk_reach(&w, BASE, w.high)); /* is known */
	assert_int_equal(host.asked_memory, 0);
	assert_true(walk_reach(&w, BASE, BASE + PAGE));
	assert_int_equal(host.from, BASE + ARCH_WORD); /* asked from where it was known */
	assert_int_equal(host.to, BASE + PAGE);
	assert_int_equal(w.high, BASE + PAGE);
	assert_false(walk_reach(&w, BASE, BASE + PAGE + 1)); /* no word */
	assert_int_equal(host.asked_memory, 1);
	/* 256 KiB above the known part are asked for page by page; above that, only what is read */
	assert_true(walk_reach(&w, BASE, BASE + PAGE + (256 << 10)));
	assert_int_equal(host.from, BASE + PAGE);
	assert_int_equal(w.high, BASE + PAGE + (256 << 10));
	assert_true(walk_reach(&w, BASE + MIB, BASE + 2 * MIB));
	assert_int_equal(host.from, BASE + MIB);
	assert_int_equal(w.high, BASE + PAGE + (256 << 10));
	assert_true(walk_reach(&w, w.high + (256 << 10), w.high + (256 << 10) + 8));
	assert_int_equal(host.from, w.high + (256 << 10));
	assert_false(walk_reach(&w, -(uint64_t)ARCH_WORD, 0)); /* the end of all addresses */
	assert_true(walk_reach(&w, BASE + 63 * MIB, BASE + 64 * MIB)); /* the largest stack */
	assert_false(walk_reach(&w, BASE + 63 * MIB, BASE + 64 * MIB + 8));
	host.until = BASE + 2 * MIB - 8;
	assert_false(walk_reach(&w, BASE + MIB, BASE + 2 * MIB));
	host.until = w.high + 16;
	assert_false(walk_reach(&w, BASE, w.high + 24));
	assert_int_equal(w.high, host.until); /* so far it is */
	assert_true(walk_reach(&w, BASE, w.high));
}

static void test_no_reach(void **state)
{
	struct walk w;

	(void)state;
	begin();
	host.until = UINT64_MAX;
	w = walk_at(BASE);
	w.unsure = true;
	assert_false(walk_reach(&w, BASE, BASE + PAGE));
	w.unsure = false;
	w.bounded = true;
	assert_false(walk_reach(&w, BASE, BASE + PAGE));
	assert_int_equal(host.asked_memory, 0);
	w.bounded = false;
	assert_true(walk_reach(&w, BASE, BASE + PAGE));
	w.unsure = true;
	walk_keep(&w); /* nothing of it is kept */
	assert_int_equal(w.region->high, BASE + ARCH_WORD);
	w.unsure = false;
	walk_keep(&w);
	assert_int_equal(w.region->high, BASE + PAGE);
	assert_int_equal(w.region->until, BASE + PAGE);
}

static void test_reads(void **state)
{
	static uint64_t stack[2048] __attribute__((aligned(4096)));
	uint64_t at = (uintptr_t)(stack + 1024), value = 0;
	struct reads reads = {.count = 0};
	struct walk w;

	(void)state;
	for (unsigned i = 0; i < 2048; i++)
		stack[i] = i;
	begin();
	host.low = (uintptr_t)(stack + 512);
	host.high = (uintptr_t)(stack + 1536);
	w = walk_at(at);
	assert_true(w.bounded);
	for (unsigned i = 1; i < ARCH_WORD; i++)
		assert_int_equal(stack_read(&w, at, at + i, &value), -EFAULT);
	assert_int_equal(stack_read(&w, at, at - ARCH_RED_ZONE, &value), 0);
	assert_int_equal(stack_read(&w, at, at - ARCH_RED_ZONE - 8, &value), -EFAULT);
	assert_int_equal(stack_read(&w, at, host.high - ARCH_WORD, &value), 0);
	assert_int_equal(stack_read(&w, at, host.high, &value), -EFAULT);
	assert_int_equal(stack_read(&w, host.low, host.low, &value), 0);
	assert_int_equal(stack_read(&w, host.low, host.low - 8, &value), -EFAULT);
	w.reads = &reads;
	for (unsigned i = 0; i < READS_MAX + 2; i++) {
		assert_int_equal(stack_read(&w, at, at + 8 * i, &value), 0);
		assert_int_equal((uint32_t)value, (uint32_t)arch_load(at + 8 * i));
		assert_int_equal(reads.overflow, i >= READS_MAX);
		assert_int_equal(reads.count, i < READS_MAX ? i + 1 : READS_MAX);
	}
	for (unsigned i = 0; i < READS_MAX; i++) {
		assert_int_equal(reads.list[i].slot, at + 8 * i);
		assert_int_equal(reads.list[i].value, arch_load(at + 8 * i));
	}
	assert_int_equal(stack_read(&w, at, at + 1, &value), -EFAULT);
	assert_int_equal(reads.count, READS_MAX);

	begin(); /* of a stack whose bounds are not known */
	host.until = (uintptr_t)(stack + 1536);
	w = walk_at(at);
	assert_int_equal(stack_read(&w, at, host.until - ARCH_WORD, &value), 0);
	assert_int_equal(stack_read(&w, at, host.until, &value), -EFAULT);
	assert_int_equal(stack_read(&w, at - PAGE, at - PAGE, &value), 0); /* it has grown */
	host.until = at - 2 * PAGE - 8;
	assert_int_equal(stack_read(&w, at - 2 * PAGE - 8, at - 2 * PAGE - 8, &value), -EFAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_stack), cmocka_unit_test(test_two_stacks),
		cmocka_unit_test(test_growth),	    cmocka_unit_test(test_reach),
		cmocka_unit_test(test_no_reach),    cmocka_unit_test(test_reads),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
