/* The common case of a capture, by itself: which stacks it takes, what it says of them, and what is
 * left to others. Each function has a frame of two words: a local one, and the return address. */
#include "tests/unit/unwind/byhand.h"

#define SP    64 /* the word to which the innermost frame's sp points */
#define DEPTH 20

static uint64_t pcs[UNWIND_QUICK_MAX];

static uint32_t two_words(void)
{
	return plain(false, 2, ARCH_FP_KEPT);
}

/* Of frame `number` of the stack, counted from the innermost. */
static uint64_t sp_of(unsigned number)
{
	return at(SP + 2 * number);
}

static uint64_t *return_of(unsigned number)
{
	return &stack[SP + 2 * number + 1];
}

static void stack_of(unsigned depth)
{
	for (unsigned i = 0; i + 1 < depth; i++)
		*return_of(i) = function(i % 1000 + 1, two_words());
	*return_of(depth - 1) = 0;
	function(0, two_words());
}

static void capture_at(uint64_t pc, uint64_t sp, uint64_t fp, struct unwind_delta *ret_delta)
{
	struct unwind_regs regs = {.pc = pc, .sp = sp, .fp = fp};

	unwind_capture(thread, &regs, UNWIND_MAX_DEPTH, ret_delta);
}

static int begin_captured(void **state)
{
	struct unwind_delta delta;

	begin(state);
	stack_of(DEPTH);
	capture_at(CODE, sp_of(0), 7, &delta);
	assert_int_equal(delta.flags, 0);
	assert_int_equal(delta.depth, DEPTH);
	assert_int_equal(thread->count, DEPTH);
	assert_int_equal(thread->emitted, DEPTH);
	return 0;
}

static void expect_quick(uint64_t pc, uint64_t sp, uint64_t fp, uint32_t limit, uint32_t keep,
			 uint32_t count)
{
	struct unwind_quick quick = unwind_quick(thread, pc, sp, fp, limit, pcs);

	assert_int_equal(quick.keep, keep);
	assert_int_equal(quick.count, count);
}

static void expect_other_case(uint64_t pc, uint64_t sp, uint64_t fp)
{
	uint32_t count = thread->count, emitted = thread->emitted;

	expect_quick(pc, sp, fp, UNWIND_MAX_DEPTH, 0, 0);
	assert_int_equal(thread->count, count); /* nothing has changed */
	assert_int_equal(thread->emitted, emitted);
}

static void expect_frame(unsigned number, uint64_t pc, uint64_t sp, uint64_t fp, uint32_t row,
			 unsigned checks, unsigned flags)
{
	const struct frame *frame = &thread->frames[number];

	assert_int_equal(frame->pc, pc);
	assert_int_equal(frame->sp, sp);
	assert_int_equal(frame->fp, fp);
	assert_int_equal(frame->row, row);
	assert_int_equal(frame->checks, checks);
	assert_int_equal(frame->flags, flags);
}

static void expect_slot(unsigned number, const uint64_t *slot)
{
	assert_int_equal(thread->checks[number].slot, (uintptr_t)slot);
	assert_int_equal(thread->checks[number].value, *slot);
}

/* All that the trace holds of a stack: the outermost frame first, and the slots read. */
static void test_trace(void **state)
{
	(void)state;
	for (unsigned i = 0; i < DEPTH; i++) {
		expect_frame(i, CODE + DEPTH - 1 - i, sp_of(DEPTH - 1 - i), 7, two_words(), i + 2,
			     0);
		expect_slot(i + 1, return_of(DEPTH - 1 - i));
	}
}

static void test_same(void **state)
{
	(void)state;
	expect_quick(CODE, sp_of(0), 7, UNWIND_MAX_DEPTH, DEPTH, 0);
	expect_quick(CODE, sp_of(0), 9, UNWIND_MAX_DEPTH, DEPTH, 0); /* nothing depends on fp */
	expect_quick(CODE, sp_of(0), 7, DEPTH, DEPTH, 0);
	assert_int_equal(thread->count, DEPTH);
	expect_quick(CODE, sp_of(0), 7, DEPTH - 1, 0, 0);
	/* the first three have returned */
	expect_quick(CODE + 3, sp_of(3), 7, UNWIND_MAX_DEPTH, DEPTH - 3, 0);
	assert_int_equal(thread->count, DEPTH - 3);
	assert_int_equal(thread->emitted, DEPTH - 3);
}

/* Another function, and two more: what is new is told, innermost first, and kept. */
static void test_new(void **state)
{
	uint64_t pc = function(DEPTH + 1, two_words());

	(void)state;
	expect_quick(pc, sp_of(0), 7, DEPTH, DEPTH - 1, 1);
	assert_int_equal(pcs[0], pc);
	expect_frame(DEPTH - 1, pc, sp_of(0), 7, two_words(), DEPTH + 1, 0);
	expect_slot(DEPTH, return_of(0));
	stack[SP - 3] = function(DEPTH + 2, two_words());
	stack[SP - 1] = pc;
	expect_quick(function(DEPTH + 3, two_words()), at(SP - 4), 7, DEPTH + 1, 0, 0);
	expect_quick(CODE + DEPTH + 3, at(SP - 4), 7, DEPTH + 2, DEPTH, 2);
	assert_int_equal(pcs[0], CODE + DEPTH + 3);
	assert_int_equal(pcs[1], CODE + DEPTH + 2);
	assert_int_equal(thread->count, DEPTH + 2);
	assert_int_equal(thread->emitted, DEPTH + 2);
	expect_frame(DEPTH, CODE + DEPTH + 2, at(SP - 2), 7, two_words(), DEPTH + 2, 0);
	expect_frame(DEPTH + 1, CODE + DEPTH + 3, at(SP - 4), 7, two_words(), DEPTH + 3, 0);
	expect_slot(DEPTH + 1, &stack[SP - 1]);
	expect_slot(DEPTH + 2, &stack[SP - 3]);
}

/* A return address farther out has changed: what lies inside is walked by the rows that are
 * remembered, as far as there is room. */
static void test_changed(void **state)
{
	uint64_t pc = function(DEPTH + 1, two_words());

	(void)state;
	for (unsigned number = 0; number < DEPTH; number++) {
		begin_captured(NULL);
		function(DEPTH + 1, two_words());
		*return_of(number) = pc;
		if (number + 2 > UNWIND_QUICK_MAX || number + 2 >= DEPTH) {
			expect_other_case(CODE, sp_of(0), 7);
			continue;
		}
		for (unsigned i = 0; i <= number; i++)
			put_row(CODE + i, row_special(ROW_BAD, 0)); /* is not looked up */
		expect_quick(CODE, sp_of(0), 7, DEPTH, DEPTH - number - 2, number + 2);
		for (unsigned i = 0; i <= number; i++)
			assert_int_equal(pcs[i], CODE + i);
		assert_int_equal(pcs[number + 1], pc);
		for (unsigned i = 0; i < DEPTH; i++)
			expect_frame(i, DEPTH - 1 - i == number + 1 ? pc : CODE + DEPTH - 1 - i,
				     sp_of(DEPTH - 1 - i), 7, two_words(), i + 2, 0);
		for (unsigned i = 0; i < DEPTH; i++)
			expect_slot(i + 1, return_of(DEPTH - 1 - i));
	}
}

/* What others have to do. */
static void test_other_cases(void **state)
{
	uint64_t pc = function(DEPTH + 1, two_words());

	(void)state;
	expect_other_case(CODE, sp_of(0) + 4, 7);   /* no sp */
	expect_other_case(pc, sp_of(DEPTH), 7);	    /* all have returned */
	expect_other_case(pc, sp_of(DEPTH - 1), 7); /* the outermost one is new */
	expect_other_case(CODE, at(WORDS + 64), 7); /* another stack */
	expect_other_case(function(DEPTH + 2, row_special(ROW_PLT, 11)), at(SP - 1), 7);
	thread->flags = UNWIND_TRUNCATED;
	expect_other_case(CODE, sp_of(0), 7);
	thread->flags = 0;
	thread->emitted = DEPTH - 1;
	expect_other_case(CODE, sp_of(0), 7);
	expect_quick(CODE + 1, sp_of(1), 7, UNWIND_MAX_DEPTH, DEPTH - 1, 0);
	unwind_forget(thread);
	expect_other_case(CODE + 1, sp_of(1), 7);
	thread->emitted = DEPTH - 1;
	thread->frames[DEPTH - 2].flags = FRAME_INTERRUPTED;
	expect_quick(CODE + 1, sp_of(1), 7, UNWIND_MAX_DEPTH, DEPTH - 2, 1);
	thread->frames[DEPTH - 2].pc++;
	expect_quick(CODE + 1, sp_of(1), 7, UNWIND_MAX_DEPTH, DEPTH - 2, 1);
	unwind_modules_changed();
	expect_other_case(CODE + 1, sp_of(1), 7);
	unwind_modules_changed();
	rows_check_state(thread);
	expect_other_case(CODE + 1, sp_of(1), 7); /* nothing is known */
	begin_captured(NULL);
	unwind_abandon(thread);
	assert_int_equal(thread->count, 0);
	assert_int_equal(thread->emitted, 0);
}

/* Another one at each call, whose frame ends where frame 0 does. */
static uint64_t far_below(void)
{
	static unsigned number = 2 * DEPTH;

	return function(number++, plain(false, SP + 2, ARCH_FP_KEPT));
}

/* Nothing is read at or above the stack's end, whichever of the two it is. */
static void test_stack_end(void **state)
{
	struct region region = thread->regions[0];

	(void)state;
	stack[SP + 1] = CODE + 1;
	for (unsigned i = 0; i < 2; i++) {
		struct region *r = &thread->regions[i];

		memset(thread->regions, 0, sizeof(thread->regions));
		*r = region;
		r->high = sp_of(1);
		expect_quick(far_below(), at(0), 7, UNWIND_MAX_DEPTH, DEPTH - 1, 1);
		r->high -= 8;
		expect_other_case(far_below(), at(0), 7);
		r->high = sp_of(1);
		r->low = at(0) + 1;
		expect_other_case(far_below(), at(0), 7);
		r->low = r->until = at(0);
		expect_quick(far_below(), at(0), 7, UNWIND_MAX_DEPTH, DEPTH - 1, 1);
		r->low = r->until = at(0) - 1;
		expect_other_case(far_below(), at(0), 7);
	}
}

/* A row from fp leads up, to a word, and reads nothing below sp or above the end. */
static void test_from_fp(void **state)
{
	uint64_t pc = function(DEPTH + 1, plain(true, 2, 2));

	(void)state;
	/* fp points to the local word of frame 0, the caller's lies there */
	stack[SP] = 7;
	expect_quick(pc, at(SP - 8), at(SP), UNWIND_MAX_DEPTH, DEPTH - 1, 1);
	expect_frame(DEPTH - 1, pc, at(SP - 8), at(SP), plain(true, 2, 2), DEPTH + 1,
		     FRAME_NEEDS_FP);
	expect_slot(DEPTH, return_of(0));
	expect_quick(pc, at(SP - 8), at(SP), UNWIND_MAX_DEPTH, DEPTH, 0);
	/* fp counts now */
	stack[SP - 1] = CODE + 1;
	stack[SP] = CODE + 1;
	expect_other_case(pc, at(SP), at(SP - 1)); /* the caller's fp below sp */
	expect_other_case(pc, at(SP - 8), at(SP) + 4);
	expect_other_case(pc, at(SP - 8), at(SP - 10)); /* cfa == sp; fp's slot is below */
	expect_other_case(pc, at(SP - 8), at(SP - 11));
	expect_other_case(pc, at(SP - 8), at(WORDS - 1));
	expect_other_case(pc, at(SP - 8), at(WORDS));
	expect_quick(pc, at(SP), at(SP), UNWIND_MAX_DEPTH, DEPTH - 1, 1); /* at sp */
}

/* The same, where what it would read by mistake leads to a frame that is known. */
static void test_from_wrong_fp(void **state)
{
	uint32_t by_fp = plain(true, 2, 2);
	uint64_t words[2] = {at(SP), function(DEPTH + 2, by_fp)}, sp = at(SP - 24);
	uint8_t *middle = (uint8_t *)&stack[SP - 20] + 4;

	(void)state;
	memcpy(middle, words, sizeof(words));
	expect_other_case(function(DEPTH + 1, by_fp), sp, (uintptr_t)middle);
	memcpy(middle - 4, words, sizeof(words));
	expect_quick(CODE + DEPTH + 1, sp, at(SP - 20), UNWIND_MAX_DEPTH, DEPTH - 1, 2);
	expect_other_case(function(DEPTH + 3, plain(true, 2, 3)), at(SP), at(SP));
	expect_quick(CODE + DEPTH + 3, at(SP - 1), at(SP), UNWIND_MAX_DEPTH, DEPTH - 1, 1);
	expect_other_case(function(DEPTH + 4, plain(true, 2, ARCH_FP_KEPT) | ROW_SPECIAL),
			  at(SP - 1), at(SP));
	thread->regions[0].high = sp_of(1);
	expect_quick(function(DEPTH + 5, by_fp), at(SP - 1), at(SP), UNWIND_MAX_DEPTH, DEPTH - 1,
		     1);
	thread->regions[0].high -= 8;
	expect_other_case(function(DEPTH + 6, by_fp), at(SP - 1), at(SP));
}

/* An sp that is none, on stacks where nothing else is wrong. */
static void test_no_sp(void **state)
{
	uint64_t pc = function(DEPTH + 1, plain(true, 2, 2));
	struct unwind_delta delta;

	(void)state;
	for (unsigned i = 1; i < 8; i++) {
		expect_other_case(pc, at(SP - 2) + i, at(SP));
		begin_captured(NULL);
		function(DEPTH + 1, plain(true, 2, 2));
		capture_at(pc, at(SP - 2) + i, at(SP), &delta);
		assert_int_equal(delta.depth, 1);
		assert_int_equal(delta.flags, UNWIND_TRUNCATED);
		begin_captured(NULL);
		function(DEPTH + 1, plain(true, 2, 2));
	}
	memset(thread->regions, 0, sizeof(thread->regions)); /* on no stack */
	expect_other_case(pc, at(SP - 2), at(SP));
}

/* The same for all captures, and what they leave. */
static void test_captures(void **state)
{
	struct unwind_delta delta;

	(void)state;
	capture_at(CODE + 3, sp_of(3), 7, &delta);
	assert_int_equal(delta.keep, DEPTH - 3);
	assert_int_equal(delta.count, 0);
	assert_int_equal(thread->count, DEPTH - 3);
	unwind_forget(thread);
	capture_at(CODE + 2, sp_of(2), 7, &delta);
	assert_int_equal(delta.keep, 0);
	assert_int_equal(delta.count, DEPTH - 2);
	assert_int_equal(thread->count, DEPTH - 2);
	unwind_modules_changed();
	capture_at(CODE + 2, sp_of(2), 7, &delta);
	assert_int_equal(delta.keep, 0);
}

/* fp is verified only where something farther out depends on it, through all that keep it. */
static void test_fp_needed(void **state)
{
	uint32_t by_fp = plain(true, 2, 2), keeps = two_words(), saves = plain(false, 2, 2);
	struct unwind_delta delta;

	(void)state;
	begin(NULL);
	/* 4: by fp, the outermost but one; 3, 2: keep it; 1: saves its caller's in its local word
	 */
	for (unsigned i = 0; i < 5; i++)
		*return_of(i) = function(i + 1, i == 3 ? by_fp : i == 0 ? saves : keeps);
	*return_of(5) = 0;
	stack[SP + 8] = 99; /* fp of frame 5 */
	stack[SP + 2] = sp_of(4);
	capture_at(function(0, keeps), sp_of(0), 55, &delta);
	assert_int_equal(delta.flags, 0);
	assert_int_equal(delta.depth, 6);
	expect_frame(0, CODE + 5, sp_of(5), 99, keeps, 2, 0);
	expect_frame(1, CODE + 4, sp_of(4), sp_of(4), by_fp, 3, FRAME_NEEDS_FP);
	expect_frame(2, CODE + 3, sp_of(3), sp_of(4), keeps, 4, FRAME_NEEDS_FP);
	expect_frame(3, CODE + 2, sp_of(2), sp_of(4), keeps, 5, FRAME_NEEDS_FP);
	expect_frame(4, CODE + 1, sp_of(1), 55, saves, 7, 0);
	expect_slot(5, &stack[SP + 2]);
	expect_slot(6, return_of(1));
	expect_frame(5, CODE, sp_of(0), 55, keeps, 8, 0);
	/* frame 2 with another fp is not the one that is known */
	expect_quick(CODE + 2, sp_of(2), sp_of(4), UNWIND_MAX_DEPTH, 4, 0);
	expect_other_case(CODE + 2, sp_of(2), sp_of(5)); /* leads elsewhere */
	/* another function that keeps, and one that saves fp */
	expect_quick(function(9, keeps), sp_of(2), sp_of(4), UNWIND_MAX_DEPTH, 3, 1);
	expect_frame(3, CODE + 9, sp_of(2), sp_of(4), keeps, 5, FRAME_NEEDS_FP);
	*return_of(1) = CODE + 9;
	expect_quick(CODE + 1, sp_of(1), 56, UNWIND_MAX_DEPTH, 4, 1);
	expect_frame(4, CODE + 1, sp_of(1), 56, saves, 7, 0);
	expect_slot(5, &stack[SP + 2]);
	expect_slot(6, return_of(1));
	expect_quick(CODE, sp_of(0), 57, UNWIND_MAX_DEPTH, 5, 1);
	expect_frame(5, CODE, sp_of(0), 57, keeps, 8, 0);
	/* the fp that frame 1 has saved has changed: all inside is walked, and leads elsewhere */
	stack[SP + 2] = sp_of(5);
	expect_other_case(CODE, sp_of(0), 57);
	stack[SP + 2] = sp_of(4);
	expect_quick(CODE, sp_of(0), 57, UNWIND_MAX_DEPTH, 6, 0);
}

/* So that no array is left: 4096 frames, and 6144 checks. */
static void test_room(void **state)
{
	struct unwind_delta delta;

	(void)state;
	for (unsigned depth = TRACK_MAX - 12; depth <= TRACK_MAX - 11; depth++) {
		begin(NULL);
		stack_of(depth);
		capture_at(CODE, sp_of(0), 7, &delta);
		assert_int_equal(delta.flags, UNWIND_DEPTH_LIMIT);
		assert_int_equal(thread->count, depth);
		thread->emitted = depth;
		expect_quick(CODE, sp_of(0), 7, depth, depth == TRACK_MAX - 12 ? depth : 0, 0);
	}
	begin_captured(NULL);
	for (unsigned i = DEPTH + 1; i < CHECK_MAX; i++)
		thread->checks[i] = thread->checks[1];
	thread->frames[DEPTH - 1].checks = CHECK_MAX - 24;
	expect_quick(CODE, sp_of(0), 7, DEPTH, DEPTH, 0);
	thread->frames[DEPTH - 1].checks++;
	expect_quick(CODE, sp_of(0), 7, DEPTH, 0, 0);
}

/* Twelve new frames at most. */
static void test_most_new(void **state)
{
	(void)state;
	for (unsigned more = UNWIND_QUICK_MAX; more <= UNWIND_QUICK_MAX + 1; more++) {
		begin_captured(NULL);
		for (unsigned i = 0; i < more; i++)
			stack[SP - 1 - 2 * i] = i ? function(DEPTH + i, two_words()) : CODE;
		if (more > UNWIND_QUICK_MAX)
			expect_other_case(function(DEPTH + more, two_words()), at(SP - 2 * more),
					  7);
		else
			expect_quick(function(DEPTH + more, two_words()), at(SP - 2 * more), 7,
				     UNWIND_MAX_DEPTH, DEPTH, more);
	}
}

/* What the counters say of captures; the common case does not count. */
static void test_counters(void **state)
{
	struct unwind_regs regs = {.pc = CODE, .sp = sp_of(0), .fp = 7};
	struct unwind_counters counters;
	struct unwind_delta delta;

	(void)state;
	unwind_counters(thread, &counters);
	assert_int_equal(counters.captures, 1);
	assert_int_equal(counters.frames_walked, DEPTH);
	assert_int_equal(counters.truncated, 0);
	assert_int_equal(counters.whole, 1);
	expect_quick(CODE, sp_of(0), 7, DEPTH, DEPTH, 0);
	capture_at(function(DEPTH + 1, two_words()), sp_of(0), 7, &delta);
	assert_int_equal(delta.keep, DEPTH - 1);
	assert_int_equal(delta.count, 1);
	unwind_counters(thread, &counters);
	assert_int_equal(counters.captures, 2);
	assert_int_equal(counters.frames_walked, DEPTH + 1);
	assert_int_equal(counters.whole, 1);
	unwind_capture_full(thread, &regs, UNWIND_MAX_DEPTH, &delta);
	unwind_counters(thread, &counters);
	assert_int_equal(counters.captures, 3);
	assert_int_equal(counters.frames_walked, 2 * DEPTH + 1);
	assert_int_equal(counters.truncated, 0);
	assert_int_equal(counters.whole, 2);
	regs.sp += 4; /* broken from the start */
	for (unsigned i = 0; i < 2; i++) {
		if (i)
			unwind_capture_full(thread, &regs, UNWIND_MAX_DEPTH, &delta);
		else
			unwind_capture(thread, &regs, UNWIND_MAX_DEPTH, &delta);
		assert_int_equal(delta.depth, 1);
		assert_int_equal(delta.flags, UNWIND_TRUNCATED);
		unwind_counters(thread, &counters);
		assert_int_equal(counters.captures, 4 + i);
		assert_int_equal(counters.truncated, 1 + i);
	}
}

/* Captures a stack whose outermost frame is another one each time. */
static void expect_changed(unsigned number)
{
	struct unwind_delta delta;

	*return_of(DEPTH - 2) = function(DEPTH + number, two_words());
	expect_quick(CODE, sp_of(0), 7, UNWIND_MAX_DEPTH, 0, 0);
	capture_at(CODE, sp_of(0), 7, &delta);
	assert_int_equal(delta.keep, 0);
	assert_int_equal(delta.count, DEPTH);
	for (unsigned i = 0; i + 1 < DEPTH; i++)
		assert_int_equal(delta.pcs[i], CODE + i);
	assert_int_equal(delta.pcs[DEPTH - 1], CODE + DEPTH + number);
}

/* Stacks that have little in common with the one before are walked once and not remembered, until
 * captures are alike again. */
static void test_not_alike(void **state)
{
	struct unwind_delta delta;
	unsigned i = 0;

	(void)state;
	for (; i < 7; i++) { /* the first capture, in begin_captured, counts, too */
		assert_int_equal(thread->count, DEPTH);
		expect_changed(i);
	}
	for (; i < 30; i++) {
		uint64_t walked = thread->counters.frames_walked;

		expect_changed(i);
		assert_int_equal(thread->counters.frames_walked - walked, DEPTH);
		assert_int_equal(thread->count, 0);
	}
	for (i = 0; i < 3; i++) {
		capture_at(CODE, sp_of(0), 7, &delta);
		assert_int_equal(delta.keep, DEPTH);
		assert_int_equal(delta.count, 0);
		assert_int_equal(thread->count, 0);
	}
	capture_at(CODE, sp_of(0), 7, &delta); /* remembered again, as if it were the first one */
	assert_int_equal(delta.count, DEPTH);
	assert_int_equal(thread->count, DEPTH);
	expect_quick(CODE, sp_of(0), 7, DEPTH, DEPTH, 0);
}

/* A capture that joins takes back what others have counted. */
static void test_alike_between(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 30; i++) {
		expect_changed(i);
		assert_int_equal(thread->count, DEPTH);
		expect_quick(CODE, sp_of(0), 7, DEPTH, DEPTH, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_trace, begin_captured),
		cmocka_unit_test_setup(test_same, begin_captured),
		cmocka_unit_test_setup(test_new, begin_captured),
		cmocka_unit_test_setup(test_changed, begin_captured),
		cmocka_unit_test_setup(test_other_cases, begin_captured),
		cmocka_unit_test_setup(test_stack_end, begin_captured),
		cmocka_unit_test_setup(test_from_fp, begin_captured),
		cmocka_unit_test_setup(test_from_wrong_fp, begin_captured),
		cmocka_unit_test_setup(test_no_sp, begin_captured),
		cmocka_unit_test_setup(test_captures, begin_captured),
		cmocka_unit_test_setup(test_fp_needed, begin_captured),
		cmocka_unit_test_setup(test_room, begin_captured),
		cmocka_unit_test_setup(test_most_new, begin_captured),
		cmocka_unit_test_setup(test_not_alike, begin_captured),
		cmocka_unit_test_setup(test_alike_between, begin_captured),
		cmocka_unit_test_setup(test_counters, begin_captured),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
