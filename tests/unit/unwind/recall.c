/* Numbered stacks: which get a number, when the number is told, and when it no longer holds. Each
 * function has a frame of two words: a local one, and the return address. */
#include "tests/unit/unwind/byhand.h"

#define SP     64 /* the word to which the innermost frame's sp points */
#define DEPTH  20
#define PLENTY 100000

static uint32_t two_words(void)
{
	return plain(false, 2, ARCH_FP_KEPT);
}

static uint64_t *return_of(unsigned number)
{
	return &stack[SP + 2 * number + 1];
}

/* Stack `which`: it differs from others in the second frame and in the outermost. */
static void stack_of(unsigned which)
{
	for (unsigned i = 0; i + 1 < DEPTH; i++)
		*return_of(i) = function(i + 1, two_words());
	*return_of(0) = function(100 + which, two_words());
	*return_of(DEPTH - 2) = function(500 + which, two_words());
	*return_of(DEPTH - 1) = 0;
	function(0, two_words());
}

static struct unwind_delta capture_fp(uint32_t limit, uint64_t fp)
{
	struct unwind_regs regs = {.pc = CODE, .sp = at(SP), .fp = fp};
	struct unwind_delta delta;

	unwind_capture(thread, &regs, limit, &delta);
	return delta;
}

static struct unwind_delta capture(void)
{
	return capture_fp(UNWIND_MAX_DEPTH, 7);
}

static struct unwind_delta capture_of(unsigned which)
{
	stack_of(which);
	return capture();
}

static void expect_whole(const struct unwind_delta *delta, unsigned which)
{
	assert_int_equal(delta->number, 0);
	assert_int_equal(delta->depth, DEPTH);
	assert_int_equal(delta->keep + delta->count, DEPTH);
	if (delta->count > 1)
		assert_int_equal(delta->pcs[1], CODE + 100 + which);
	if (!delta->keep)
		assert_int_equal(delta->pcs[DEPTH - 1], CODE + 500 + which);
}

static void expect_number(const struct unwind_delta *delta, uint32_t number)
{
	assert_int_equal(delta->number, number);
	assert_int_equal(delta->keep, 0);
	assert_int_equal(delta->count, 0);
	assert_int_equal(delta->depth, DEPTH);
	assert_int_equal(delta->flags, 0);
	assert_false(delta->recurs);
}

/* A thread whose stacks have had little in common for a while. */
static int begin_unlike(void **state)
{
	begin(state);
	for (unsigned i = 0; i < 16; i++)
		assert_false(capture_of(300 + i).recurs);
	return 0;
}

/* Captures the stack until it has a number. Returns 1 + the number. */
static uint32_t numbered(unsigned which)
{
	struct unwind_delta delta = capture_of(which);
	unsigned captures = 1;

	expect_whole(&delta, which);
	assert_false(delta.recurs);
	for (; !delta.recurs; captures++) {
		capture_of(400); /* another one between them: nothing is alike */
		delta = capture_of(which);
		expect_whole(&delta, which);
		assert_int_equal(delta.keep, 0);
	}
	assert_in_range(captures, 2, 30); /* more than 2 if another one was seen in its place */
	return unwind_save(thread, PLENTY);
}

static void test_number(void **state)
{
	struct unwind_delta delta;
	uint64_t walked;

	(void)state;
	assert_int_equal(numbered(1), 1);
	assert_int_equal(unwind_saved_frames(thread), DEPTH);
	assert_int_equal(thread->count, 0);
	assert_int_equal(numbered(2), 2);
	assert_int_equal(unwind_saved_frames(thread), 2 * DEPTH);
	walked = thread->counters.frames_walked;
	for (unsigned i = 0; i < 6; i++) {
		delta = capture_of(1 + i % 2);
		expect_number(&delta, 1 + i % 2);
	}
	assert_int_equal(thread->counters.frames_walked, walked);
	delta = capture_of(3);
	assert_int_equal(delta.keep, 0); /* after a number the consumer has no frames to keep */
	expect_whole(&delta, 3);
}

/* Each slot that the walk reads counts, and so does the state it begins in. */
static void test_verified(void **state)
{
	struct unwind_delta delta;

	(void)state;
	numbered(1);
	for (unsigned i = 0; i + 1 < DEPTH; i++) {
		stack_of(1);
		*return_of(i) = function(700 + i, two_words());
		delta = capture();
		assert_int_equal(delta.number, 0);
		assert_int_equal(delta.depth, DEPTH);
	}
	stack_of(1);
	*return_of(DEPTH - 1) = function(800, two_words());
	*return_of(DEPTH) = 0;
	delta = capture();
	assert_int_equal(delta.number, 0);
	assert_int_equal(delta.depth, DEPTH + 1);
	delta = capture_of(1);
	expect_number(&delta, 1);
	delta = capture_fp(UNWIND_MAX_DEPTH, 9); /* nothing depends on fp */
	expect_number(&delta, 1);
	delta = capture_fp(DEPTH - 1, 7);
	assert_int_equal(delta.number, 0);
	assert_int_equal(delta.flags, UNWIND_DEPTH_LIMIT);
	delta = capture_fp(DEPTH, 7);
	expect_number(&delta, 1);
}

/* Where a frame is found by fp, another fp is another stack. */
static void test_fp(void **state)
{
	struct unwind_regs regs = {.pc = CODE + 1010, .sp = at(SP), .fp = at(SP)};
	struct unwind_delta delta;

	(void)state;
	function(1010, plain(true, 2, 2)); /* cfa = fp + 2 words */
	for (unsigned i = 0; i < 2; i++) {
		capture_of(400 + i);
		stack_of(1);
		*return_of(0) = function(101, two_words());
		unwind_capture(thread, &regs, UNWIND_MAX_DEPTH, &delta);
	}
	assert_true(delta.recurs);
	assert_int_equal(unwind_save(thread, PLENTY), 1);
	unwind_capture(thread, &regs, UNWIND_MAX_DEPTH, &delta);
	expect_number(&delta, 1);
	regs.fp = at(SP + 2);
	unwind_capture(thread, &regs, UNWIND_MAX_DEPTH, &delta);
	assert_int_equal(delta.number, 0);
	assert_int_equal(delta.depth, DEPTH - 1);
}

static void test_forgotten(void **state)
{
	struct unwind_delta delta;

	(void)state;
	for (unsigned how = 0; how < 3; how++) {
		assert_int_equal(numbered(1), 1);
		if (how == 0) {
			unwind_forget(thread);
		} else if (how == 1) {
			unwind_abandon(thread);
		} else {
			unwind_modules_changed();
			rows_check_state(thread);
		}
		assert_int_equal(unwind_saved_frames(thread), 0);
		delta = capture_of(1);
		expect_whole(&delta, 1);
		assert_int_equal(delta.keep, 0);
		begin_unlike(state);
	}
}

/* All frames together have a limit, and a stack that gets no number is not remembered either. */
static void test_limit(void **state)
{
	(void)state;
	assert_int_equal(numbered(1), 1);
	for (unsigned i = 0; i < 2; i++) {
		capture_of(2);
		capture_of(400 + i);
	}
	assert_true(capture_of(2).recurs);
	assert_int_equal(unwind_save(thread, 2 * DEPTH - 1), 0);
	assert_int_equal(thread->count, 0);
	assert_int_equal(unwind_saved_frames(thread), DEPTH);
	capture_of(402);
	assert_true(capture_of(2).recurs);
	assert_int_equal(unwind_save(thread, 2 * DEPTH), 2);
}

/* When all numbers are given, the next stack gets one that was not used for long. */
static void test_replaced(void **state)
{
	struct unwind_delta delta;
	uint32_t number;

	(void)state;
	for (unsigned i = 0; i < UNWIND_SAVED_MAX; i++) {
		thread->saved_credit = 0;
		assert_int_equal(numbered(i), i + 1);
	}
	for (unsigned i = 0; i < UNWIND_SAVED_MAX; i++)
		thread->saved[i].used = i != 5;
	thread->saved_credit = 0;
	number = numbered(100);
	assert_int_equal(number, 6);
	assert_int_equal(unwind_saved_frames(thread), UNWIND_SAVED_MAX * DEPTH);
	delta = capture_of(100);
	expect_number(&delta, 6);
	delta = capture_of(5);
	assert_int_equal(delta.number, 0);
	for (unsigned i = 0; i < UNWIND_SAVED_MAX; i++) {
		if (i == 5)
			continue;
		delta = capture_of(i);
		expect_number(&delta, i + 1);
	}
}

/* Numbers that nobody uses are not given for ever. */
static void test_vain(void **state)
{
	unsigned numbers = 0;

	(void)state;
	for (unsigned i = 0; i < 120; i++) {
		capture_of(i);
		capture_of(400 + i);
		if (!capture_of(i).recurs)
			continue;
		numbers++;
		unwind_save(thread, 0);
	}
	assert_in_range(numbers, UNWIND_SAVED_MAX, UNWIND_SAVED_MAX + 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_number, begin_unlike, end),
		cmocka_unit_test_setup_teardown(test_verified, begin_unlike, end),
		cmocka_unit_test_setup_teardown(test_fp, begin_unlike, end),
		cmocka_unit_test_setup_teardown(test_forgotten, begin_unlike, end),
		cmocka_unit_test_setup_teardown(test_limit, begin_unlike, end),
		cmocka_unit_test_setup_teardown(test_replaced, begin_unlike, end),
		cmocka_unit_test_setup_teardown(test_vain, begin_unlike, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
