/* What a thread remembers of a stack: which slots have led from each frame to the next, what
 * depends on fp, when a later walk joins it, and when nothing is remembered. The innermost frame's
 * row is never a plain one, so that the quick capture leaves all to the general one. */
#include "tests/unit/unwind/byhand.h"

#define SP	    64
#define JUST_CODE   (CODE + 0x8000) /* in no module: by its record */
#define UNTOLD	    row_special(ROW_FRAME_POINTER, 0)
#define KEEPS	    plain(false, 2, ARCH_FP_KEPT)
#define SAVES	    plain(false, 2, 2)
#define BY_FP	    plain(true, 2, 2)
#define FIRST_CHECK 1

static struct unwind_delta delta;
static uint64_t walked; /* frames of the last capture that are new */

static void capture_limited(uint64_t pc, uint64_t sp, uint64_t fp, uint32_t limit)
{
	struct unwind_regs regs = {.pc = pc, .sp = sp, .fp = fp};
	uint64_t before = thread->counters.frames_walked;

	unwind_capture(thread, &regs, limit, &delta);
	walked = thread->counters.frames_walked - before;
	for (uint32_t i = 0; i < delta.count && thread->count; i++)
		assert_int_equal(delta.pcs[i], thread->frames[delta.depth - 1 - i].pc);
}

static void capture_at(uint64_t pc, uint64_t sp, uint64_t fp)
{
	capture_limited(pc, sp, fp, UNWIND_MAX_DEPTH);
}

static uint64_t sp_of(unsigned number)
{
	return at(SP + 2 * number);
}

static uint64_t *return_of(unsigned number)
{
	return &stack[SP + 2 * number + 1];
}

/* Frame `number` has this row; its frame has two words, and its caller is the next one. */
static void put_frame_of(unsigned number, uint32_t row)
{
	function(number, row);
	*return_of(number) = CODE + number + 1;
}

static void put_root(unsigned number, uint32_t row)
{
	function(number, row);
	*return_of(number) = 0;
}

static void expect_slots(unsigned frame, unsigned flags, unsigned count, const uint64_t **slots)
{
	unsigned until = thread->frames[frame].checks;
	unsigned from = frame ? thread->frames[frame - 1].checks : FIRST_CHECK;

	assert_int_equal(thread->frames[frame].flags, flags);
	assert_int_equal(until - from, count);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(thread->checks[from + i].slot, (uintptr_t)slots[i]);
		assert_int_equal(thread->checks[from + i].value, *slots[i]);
	}
}

#define SLOTS(...) ((const uint64_t *[]){__VA_ARGS__})

/* Frame 1 has this row; above it is one that depends on fp, or not. */
static void two_frames(uint32_t row, bool outer_needs)
{
	begin(NULL);
	put_frame_of(1, row);
	put_root(2, outer_needs ? BY_FP : KEEPS);
	stack[SP + 4] = 5; /* the local word, where fp may lie */
	stack[SP + 2] = sp_of(2);
	function(0, row_special(ROW_PLT, 0)); /* two words, too */
	*return_of(0) = CODE + 1;
}

static void test_needs(void **state)
{
	(void)state;
	for (unsigned outer = 0; outer < 2; outer++) {
		unsigned needs = outer ? FRAME_NEEDS_FP : 0;

		two_frames(KEEPS, outer);
		capture_at(CODE, sp_of(0), sp_of(2));
		assert_int_equal(delta.flags, 0);
		assert_int_equal(thread->count, 3);
		expect_slots(0, needs, 1, SLOTS(return_of(2)));
		expect_slots(1, needs, 1, SLOTS(return_of(1)));
		expect_slots(2, needs, 1, SLOTS(return_of(0)));
		two_frames(SAVES, outer);
		capture_at(CODE, sp_of(0), 9);
		assert_int_equal(thread->count, 3);
		if (outer)
			expect_slots(1, 0, 2, SLOTS(&stack[SP + 2], return_of(1)));
		else
			expect_slots(1, 0, 1, SLOTS(return_of(1)));
		expect_slots(2, 0, 1, SLOTS(return_of(0)));
		two_frames(BY_FP, outer);
		capture_at(CODE, sp_of(0), sp_of(1));
		assert_int_equal(thread->count, 3);
		if (outer)
			expect_slots(1, FRAME_NEEDS_FP, 2, SLOTS(&stack[SP + 2], return_of(1)));
		else
			expect_slots(1, FRAME_NEEDS_FP, 1, SLOTS(return_of(1)));
		expect_slots(2, FRAME_NEEDS_FP, 1, SLOTS(return_of(0)));
		/* what a step reads last is verified first */
		two_frames(row_deref_sp(6, 0, 0), outer);
		stack[SP + 8] = sp_of(2);
		capture_at(CODE, sp_of(0), sp_of(2));
		assert_int_equal(thread->count, 3);
		expect_slots(1, needs, 2, SLOTS(return_of(1), &stack[SP + 8]));
		two_frames(row_deref_sp(6, 0, 2), outer);
		stack[SP + 8] = sp_of(2);
		capture_at(CODE, sp_of(0), 9);
		assert_int_equal(thread->count, 3);
		expect_slots(1, 0, 3, SLOTS(return_of(1), &stack[SP + 2], &stack[SP + 8]));
		expect_slots(2, 0, 1, SLOTS(return_of(0)));
		two_frames(row_deref_fp(6), outer);
		stack[SP + 8] = sp_of(2);
		capture_at(CODE, sp_of(0), sp_of(1));
		assert_int_equal(thread->count, 3);
		expect_slots(1, FRAME_NEEDS_FP, 3,
			     SLOTS(return_of(1), &stack[SP + 2], &stack[SP + 8]));
	}
}

/* fp counts where it is needed only. */
static void test_fp_differs(void **state)
{
	(void)state;
	two_frames(KEEPS, false);
	capture_at(CODE, sp_of(0), 9);
	assert_int_equal(walked, 3);
	capture_at(CODE, sp_of(0), 10);
	assert_int_equal(walked, 0);
	assert_int_equal(delta.keep, 3);
	two_frames(KEEPS, true);
	capture_at(CODE, sp_of(0), sp_of(2));
	assert_int_equal(walked, 3);
	capture_at(CODE, sp_of(0), sp_of(2));
	assert_int_equal(walked, 0);
	*return_of(3) = 0;
	function(3, KEEPS);
	*return_of(2) = CODE + 3;
	capture_at(CODE, sp_of(0), sp_of(2));
	assert_int_equal(delta.depth, 4);
	assert_int_equal(delta.keep, 0);
	capture_at(CODE, sp_of(0), sp_of(3)); /* by another fp the stack ends there */
	assert_int_equal(delta.depth, 3);
	assert_int_equal(delta.flags, 0);
}

enum { DEPTH = 12 };

static void deep_stack(void)
{
	begin(NULL);
	for (unsigned i = 1; i < DEPTH - 1; i++)
		put_frame_of(i, KEEPS);
	put_root(DEPTH - 1, KEEPS);
	function(0, row_special(ROW_PLT, 0));
	*return_of(0) = CODE + 1;
	capture_at(CODE, sp_of(0), 9);
	assert_int_equal(thread->count, DEPTH);
	assert_int_equal(walked, DEPTH);
	assert_int_equal(delta.keep, 0);
}

/* A new innermost frame, one that has returned, and a change farther out. */
static void test_joins(void **state)
{
	uint64_t new = function(100, row_special(ROW_PLT, 0));

	(void)state;
	deep_stack();
	new = function(100, row_special(ROW_PLT, 0));
	capture_at(new, sp_of(0), 9);
	assert_int_equal(walked, 1);
	assert_int_equal(delta.keep, DEPTH - 1);
	assert_int_equal(delta.count, 1);
	for (unsigned number = 0; number < DEPTH; number++) {
		deep_stack();
		function(100, KEEPS);
		for (unsigned i = 0; i < number; i++)
			put_row(CODE + i, row_special(ROW_BAD, 0)); /* is not looked up again */
		*return_of(number) = new;
		*return_of(DEPTH) = 0;
		capture_at(CODE, sp_of(0), 9);
		assert_int_equal(delta.flags, 0);
		if (number == DEPTH - 1) { /* the stack goes on */
			assert_int_equal(delta.depth, DEPTH + 1);
			assert_int_equal(delta.keep, 0);
			assert_int_equal(walked, DEPTH + 1);
		} else {
			assert_int_equal(delta.depth, DEPTH);
			assert_int_equal(delta.keep, number + 2 < DEPTH ? DEPTH - number - 2 : 0);
			assert_int_equal(walked, DEPTH - delta.keep);
		}
		for (unsigned i = 0; i < delta.depth; i++)
			assert_int_equal(thread->frames[delta.depth - 1 - i].pc,
					 i == number + 1 ? new : CODE + i);
		capture_at(CODE, sp_of(0), 9);
		assert_int_equal(walked, 0);
		assert_int_equal(delta.keep, delta.depth);
	}
	deep_stack(); /* the stack ends earlier */
	*return_of(3) = 0;
	capture_at(CODE, sp_of(0), 9);
	assert_int_equal(delta.depth, 4);
	assert_int_equal(delta.flags, 0);
	assert_int_equal(thread->count, 4);
}

/* The limit cuts the innermost frames, and what the consumer lacks is told again. */
static void test_limit(void **state)
{
	(void)state;
	deep_stack();
	capture_limited(CODE, sp_of(0), 9, DEPTH);
	assert_int_equal(delta.flags, 0);
	assert_int_equal(delta.keep, DEPTH);
	capture_limited(CODE, sp_of(0), 9, DEPTH - 1);
	assert_int_equal(delta.flags, UNWIND_DEPTH_LIMIT);
	assert_int_equal(delta.depth, DEPTH - 1);
	assert_int_equal(delta.keep, DEPTH - 1);
	capture_limited(CODE, sp_of(0), 9, DEPTH);
	assert_int_equal(delta.keep, DEPTH - 1);
	assert_int_equal(delta.count, 1);
	assert_int_equal(delta.pcs[0], CODE);
	unwind_forget(thread);
	capture_limited(CODE, sp_of(0), 9, 0); /* as 1 */
	assert_int_equal(walked, 0);
	assert_int_equal(delta.keep, 0);
	assert_int_equal(delta.depth, 1);
	assert_int_equal(delta.pcs[0], CODE + DEPTH - 1);
}

/* Where the next address is none, the stack is cut, before it. */
static void test_bad_address(void **state)
{
	(void)state;
	deep_stack();
	*return_of(4) = 0xffff;
	capture_at(CODE, sp_of(0), 9);
	assert_int_equal(delta.flags, UNWIND_TRUNCATED);
	assert_int_equal(delta.depth, 5);
	assert_int_equal(thread->count, 5);
	capture_at(CODE, sp_of(0), 9);
	assert_int_equal(walked, 0);
	assert_int_equal(delta.flags, UNWIND_TRUNCATED);
	*return_of(4) = CODE + 5;
	capture_at(CODE, sp_of(0), 9);
	assert_int_equal(delta.flags, 0);
	assert_int_equal(delta.depth, DEPTH);
	begin(NULL); /* but if it is the first one it is all there is */
	function(0, row_special(ROW_PLT, 0));
	put_root(1, KEEPS);
	*return_of(0) = CODE + 1;
	capture_at(3, sp_of(0), 9);
	assert_int_equal(delta.depth, 1);
	assert_int_equal(delta.flags, UNWIND_TRUNCATED);
}

static uint64_t unknown;

static const struct unwind_module *unknown_module(uint64_t pc)
{
	return pc == unknown ? &unwind_module_unknown : NULL;
}

static void test_not_known_now(void **state)
{
	(void)state;
	deep_stack();
	given.find_module = unknown_module;
	*return_of(4) = JUST_CODE;
	unknown = JUST_CODE - 1;
	for (unsigned i = 0; i < 2; i++) {
		capture_at(CODE, sp_of(0), 9);
		assert_int_equal(delta.flags, UNWIND_TRUNCATED);
		assert_int_equal(delta.depth, 5);
		assert_int_equal(thread->count, 0); /* nothing is remembered */
		assert_false(thread->unknown);
	}
	*return_of(4) = CODE + 5;
	capture_at(CODE, sp_of(0), 9);
	assert_int_equal(delta.depth, DEPTH);
	assert_int_equal(thread->count, DEPTH);
}

/* The interrupted frame is another one than that which a call has left there. */
static void test_interrupted(void **state)
{
	uint64_t *registers = &stack[SP + 5];

	(void)state;
	function(0, row_special(ROW_SIGNAL, 0));
	registers[16] = JUST_CODE - 1;
	registers[15] = at(SP + 40);
	registers[10] = at(SP + 50);
	stack[SP + 50] = at(SP + 60); /* two records */
	stack[SP + 51] = JUST_CODE + 1;
	stack[SP + 60] = 0;
	stack[SP + 61] = 0;
	capture_at(CODE, sp_of(0), 9);
	assert_int_equal(delta.flags, 0);
	assert_int_equal(thread->count, 3);
	expect_slots(0, FRAME_NEEDS_FP, 2, SLOTS(&stack[SP + 61], &stack[SP + 60]));
	expect_slots(1, FRAME_NEEDS_FP | FRAME_INTERRUPTED, 2,
		     SLOTS(&stack[SP + 51], &stack[SP + 50]));
	expect_slots(2, 0, 3, SLOTS(&registers[10], &registers[15], &registers[16]));
	assert_int_equal(thread->frames[1].pc, JUST_CODE);
	capture_at(CODE, sp_of(0), 10);
	assert_int_equal(walked, 0);
	capture_at(JUST_CODE, at(SP + 40), at(SP + 50));
	assert_int_equal(walked, 1);
	assert_int_equal(delta.keep, 1);
	assert_int_equal(thread->frames[1].flags, FRAME_NEEDS_FP);
	capture_at(JUST_CODE, at(SP + 40), at(SP + 50));
	assert_int_equal(walked, 0);
	capture_at(CODE, sp_of(0), 9);
	assert_int_equal(walked, 2);
	assert_int_equal(thread->frames[1].flags, FRAME_NEEDS_FP | FRAME_INTERRUPTED);
}

/* The last step of a stack that is cut, and whose end is not known, may have read what is gone when
 * it is verified, unless that lies in sp's page. */
static void test_cut(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		bool known = i & 1, farther = i & 2, untold = i & 4;
		unsigned last = farther ? 512 : 510;

		begin(NULL);
		given.known = known;
		/* a record whose address is not believed; or fp would lie below sp */
		function(1, untold ? UNTOLD : plain(true, 2, 8));
		function(0, row_special(ROW_PLT, 0));
		*return_of(0) = CODE + 1;
		stack[last] = 3;
		stack[last + 1] = 0xffff;
		capture_at(CODE, sp_of(0), untold ? at(last) : at(last));
		if (untold) {
			assert_int_equal(delta.depth, 2);
			assert_int_equal(delta.flags, UNWIND_TRUNCATED);
			assert_int_equal(thread->count, known || !farther ? 2 : 0);
			if (thread->count)
				expect_slots(0, FRAME_NEEDS_FP, 2,
					     SLOTS(&stack[last + 1], &stack[last]));
			continue;
		}
		assert_int_equal(delta.depth, 2); /* the next one is no address */
		capture_at(CODE, sp_of(0), sp_of(0) - 8 * 8);
		assert_int_equal(delta.flags, UNWIND_TRUNCATED);
	}
}

/* Of frames farther in, all that was read is kept, and of a step that could not read, nothing. */
static void test_cut_farther_out(void **state)
{
	unsigned far = 600; /* in the next page */

	(void)state;
	begin(NULL);
	given.known = false;
	function(0, row_deref_sp(far - SP, 0, 1));
	stack[far] = sp_of(10);
	*return_of(9) = function(1, BY_FP);
	capture_at(CODE, sp_of(0), 9);
	assert_int_equal(delta.depth, 2);
	assert_int_equal(delta.flags, UNWIND_TRUNCATED);
	assert_int_equal(thread->count, 2);
	assert_int_equal(thread->frames[0].checks, FIRST_CHECK);
	/* fp came from the return address's slot, so what was fp before does not count */
	expect_slots(1, 0, 3, SLOTS(return_of(9), return_of(9), &stack[far]));
}

/* The first frame's row is checked against the stack's end, too. */
static void test_first_ends(void **state)
{
	uint64_t pc = function(1, KEEPS);

	(void)state;
	*return_of(0) = function(2, KEEPS);
	given.high = at(SP + 1);
	capture_at(pc, sp_of(0), 9);
	assert_int_equal(delta.depth, 1);
	assert_int_equal(delta.flags, UNWIND_TRUNCATED);
}

/* 4096 frames, and 6144 checks: two of each of these frames but the outermost. */
static void test_room(void **state)
{
	(void)state;
	for (unsigned depth = TRACK_MAX; depth <= TRACK_MAX + 1; depth++) {
		begin(NULL);
		for (unsigned i = 1; i < depth; i++)
			*return_of(i) = function(i % 500 + 1, KEEPS);
		put_row(CODE, row_special(ROW_PLT, 0));
		*return_of(0) = CODE + 1;
		*return_of(depth - 1) = 0;
		for (unsigned i = 0; i < 2; i++) {
			capture_at(CODE, sp_of(0), 9);
			assert_int_equal(delta.flags, UNWIND_DEPTH_LIMIT);
			assert_int_equal(delta.depth, UNWIND_MAX_DEPTH);
			assert_int_equal(delta.keep, i ? UNWIND_MAX_DEPTH : 0);
			assert_int_equal(thread->count, depth > TRACK_MAX ? 0 : depth);
			assert_int_equal(walked, i && depth <= TRACK_MAX ? 0 : depth);
		}
	}
	for (unsigned depth = CHECK_MAX / 2; depth <= CHECK_MAX / 2 + 1; depth++) {
		begin(NULL);
		for (unsigned i = 0; i < depth; i++) {
			*return_of(i) = function(i % 500 + 1, BY_FP);
			stack[SP + 2 * i] = sp_of(i + 1);
		}
		*return_of(depth - 1) = 0;
		capture_at(CODE + 1, sp_of(0), sp_of(0));
		assert_int_equal(thread->count, depth > CHECK_MAX / 2 ? 0 : depth);
		if (thread->count)
			assert_int_equal(thread->frames[depth - 1].checks, CHECK_MAX);
	}
}

/* A walk follows 8192 frames at most, and what is kept are the outermost ones that it has seen. */
static void test_hardest(void **state)
{
	(void)state;
	for (unsigned depth = DEPTH_HARD; depth <= DEPTH_HARD + 1; depth++) {
		struct unwind_regs regs = {.pc = CODE + 1, .sp = sp_of(0)};

		begin(NULL);
		for (unsigned i = 0; i < depth; i++)
			*return_of(i) = function((i + 1) % 701 + 1, KEEPS);
		*return_of(depth - 1) = 0;
		for (unsigned full = 0; full < 2; full++) {
			if (full)
				unwind_capture_full(thread, &regs, UNWIND_MAX_DEPTH, &delta);
			else
				unwind_capture(thread, &regs, UNWIND_MAX_DEPTH, &delta);
			assert_int_equal(delta.flags,
					 UNWIND_DEPTH_LIMIT |
						 (depth > DEPTH_HARD ? UNWIND_TRUNCATED : 0));
			assert_int_equal(delta.count, UNWIND_MAX_DEPTH);
			for (unsigned i = 0; i < UNWIND_MAX_DEPTH; i++)
				assert_int_equal(delta.pcs[i],
						 CODE + 1 +
							 (DEPTH_HARD - UNWIND_MAX_DEPTH + i) % 701);
			assert_int_equal(thread->emitted, full ? 0 : UNWIND_MAX_DEPTH);
			assert_int_equal(thread->count, 0);
		}
	}
}

/* A stack that is walked whole is compared with what the consumer has. */
static void test_whole_again(void **state)
{
	unsigned depth = TRACK_MAX + 50;

	(void)state;
	begin(NULL);
	for (unsigned i = 0; i < depth; i++)
		*return_of(i) = function((i + 1) % 701 + 1, KEEPS);
	*return_of(depth - 1) = 0;
	capture_at(CODE + 1, sp_of(0), 9);
	assert_int_equal(delta.keep, 0);
	*return_of(depth - 6) = function(900, KEEPS);
	capture_at(CODE + 1, sp_of(0), 9);
	assert_int_equal(delta.keep, 4);
	assert_int_equal(delta.count, UNWIND_MAX_DEPTH - 4);
	assert_int_equal(delta.pcs[UNWIND_MAX_DEPTH - 5], CODE + 900);
	capture_limited(CODE + 1, sp_of(0), 9, 3);
	assert_int_equal(delta.keep, 3);
	assert_int_equal(delta.count, 0);
	assert_int_equal(delta.depth, 3);
	capture_limited(CODE + 1, sp_of(0), 9, 6);
	assert_int_equal(delta.keep, 3);
	assert_int_equal(delta.count, 3);
	assert_int_equal(delta.pcs[1], CODE + 900);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_needs, begin),
		cmocka_unit_test_setup(test_fp_differs, begin),
		cmocka_unit_test_setup(test_joins, begin),
		cmocka_unit_test_setup(test_limit, begin),
		cmocka_unit_test_setup(test_bad_address, begin),
		cmocka_unit_test_setup(test_not_known_now, begin),
		cmocka_unit_test_setup(test_interrupted, begin),
		cmocka_unit_test_setup(test_cut, begin),
		cmocka_unit_test_setup(test_cut_farther_out, begin),
		cmocka_unit_test_setup(test_first_ends, begin),
		cmocka_unit_test_setup(test_room, begin),
		cmocka_unit_test_setup(test_hardest, begin),
		cmocka_unit_test_setup(test_whole_again, begin),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
