/* Single steps by rows that are not plain, from frames written by hand: what each reads, what it
 * finds there, and what makes it give up. */
#include "tests/unit/unwind/onestep.h"

static void test_plt(void **state)
{
	struct frame frame = {.sp = at(SP), .fp = 9, .row = row_special(ROW_PLT, 11)};

	(void)state;
	stack[SP] = 70;
	stack[SP + 1] = 71;
	for (unsigned i = 0; i < 16; i++) {
		frame.pc = CODE + i;
		assert_int_equal(step_of(&frame), STEP_FRAME);
		expect_made(70 + (i >= 11), at(SP + 1 + (i >= 11)), 9, 0);
	}
	/* interrupted at the instruction itself */
	frame.flags = FRAME_INTERRUPTED;
	frame.pc = CODE + 11;
	assert_int_equal(step_of(&frame), STEP_FRAME);
	expect_made(70, at(SP + 1), 9, 0);
	frame.pc = CODE + 12;
	assert_int_equal(step_of(&frame), STEP_FRAME);
	expect_made(71, at(SP + 2), 9, 0);
	stack[SP + 1] = 0;
	assert_int_equal(step_of(&frame), STEP_END);
	stack_ends_at(at(SP + 1));
	assert_int_equal(step_of(&frame), STEP_BROKEN);
}

static void test_others_end(void **state)
{
	(void)state;
	expect_end(row_special(ROW_END, END_CERTAIN), at(SP), 0);
	expect_end(row_special(ROW_END, END_BY_HAND), at(SP), 0);
	expect_broken(row_special(ROW_BAD, 0), at(SP), 0);
	expect_broken(row_special((enum row_kind)15, 0), at(SP), 0);
}

/* cfa = *(fp + 8 * words), fp = *fp */
static void test_deref_fp(void **state)
{
	uint32_t row = row_deref_fp(-2);

	(void)state;
	stack[SP + 10] = at(SP + 30);
	stack[SP + 12] = 33;
	stack[SP + 29] = 70;
	expect_step(row, at(SP), at(SP + 12));
	expect_made(70, at(SP + 30), 33, 0);
	expect_broken(row, at(SP), at(SP + 12) + 4);
	expect_broken(row, at(SP + 29), at(SP + 12)); /* below sp */
	stack_ends_at(at(SP + 12));
	expect_broken(row, at(SP), at(SP + 12)); /* fp's own slot is behind the end */
	stack_ends_at(at(SP + 30));
	stack[SP + 29] = 0;
	expect_end(row, at(SP), at(SP + 12));
	/* a step leads up */
	stack[SP + 10] = at(SP);
	stack[SP - 1] = 70;
	expect_broken(row, at(SP), at(SP + 12));
	stack[SP + 10] = at(SP + 1);
	stack[SP] = 71;
	expect_step(row, at(SP), at(SP + 12));
	expect_made(71, at(SP + 1), 33, 0);
	stack[SP + 11] = at(SP + 30); /* another offset */
	stack[SP + 29] = 70;
	expect_step(row_deref_fp(-1), at(SP), at(SP + 12));
	expect_made(70, at(SP + 30), 33, 0);
}

/* cfa = *(sp + 8 * a) + 8 * b, fp at cfa - 8 * c */
static void test_deref_sp(void **state)
{
	uint32_t row = row_deref_sp(1023, 31, 63);

	(void)state;
	stack[SP + 1023] = at(SP + 2000);
	stack[SP + 2030] = 70;
	stack[SP + 2031 - 63] = 33;
	expect_step(row, at(SP), 9);
	expect_made(70, at(SP + 2031), 33, 0);
	expect_step(row_deref_sp(1023, 31, 0), at(SP), 9); /* it is kept */
	expect_made(70, at(SP + 2031), 9, 0);
	expect_broken(row, at(SP) + 4, 9);
	stack[SP + 3] = at(SP);
	stack[SP + 1] = 71;
	expect_step(row_deref_sp(3, 2, 1), at(SP), 9);
	expect_made(71, at(SP + 2), 71, 0);
	expect_broken(row_deref_sp(3, 2, 63), at(SP), 9); /* fp's slot is below the red zone */
	stack_ends_at(at(SP + 1023));
	expect_broken(row, at(SP), 9);
	stack_ends_at(at(SP + 2030));
	expect_broken(row, at(SP), 9);
}

/* | caller's fp | return address | */
static void put_record(unsigned word, uint64_t fp, uint64_t pc)
{
	stack[word] = fp;
	stack[word + 1] = pc;
}

static void test_record(void **state)
{
	(void)state;
	put_record(SP + 4, 33, behind_call);
	expect_step(BY_RECORD, at(SP), at(SP + 4));
	expect_made(behind_call, at(SP + 6), 33, 0);
	expect_step(BY_RECORD, at(SP + 4), at(SP + 4)); /* at sp */
	expect_broken(BY_RECORD, at(SP + 5), at(SP + 4));
	expect_broken(BY_RECORD, at(SP), at(SP + 4) + 4);
	put_record(SP + 4, 33, behind_none); /* in a module is enough */
	expect_step(BY_RECORD, at(SP), at(SP + 4));
	put_record(SP + 4, 33, 0);
	expect_end(BY_RECORD, at(SP), at(SP + 4));
	put_record(SP + 4, 33, 0xffff); /* no address of code */
	expect_broken(BY_RECORD, at(SP), at(SP + 4));
	stack_ends_at(at(SP + 6));
	put_record(SP + 4, 33, behind_call);
	expect_step(BY_RECORD, at(SP), at(SP + 4));
	stack_ends_at(at(SP + 5));
	expect_broken(BY_RECORD, at(SP), at(SP + 4));
	stack_ends_at(at(SP + 4));
	expect_broken(BY_RECORD, at(SP), at(SP + 4));
}

/* Where fp is 0 the stack ends if the code says so; by hand it ends anyway. */
static void test_first_record(void **state)
{
	uint32_t first = BY_RECORD | row_special(ROW_FRAME_POINTER, RECORD_FIRST);

	(void)state;
	put_record(SP + 4, 33, behind_call);
	expect_end(first, at(SP), 0);
	expect_broken(BY_RECORD, at(SP), 0);
	expect_step(first, at(SP), at(SP + 4));
	expect_end(row_special(ROW_FRAME_POINTER, RECORD_BY_HAND), at(SP), at(SP + 4));
	expect_end(row_special(ROW_FRAME_POINTER, RECORD_BY_HAND), at(SP), 3);
}

/* An address in no module is believed if the records go on, and if it is not on the stack. */
static void test_plausible(void **state)
{
	(void)state;
	put_record(SP + 4, at(SP + 6), JUST_CODE);
	expect_step(UNTOLD, at(SP), at(SP + 4));
	expect_made(JUST_CODE, at(SP + 6), at(SP + 6), 0);
	put_record(SP + 4, at(SP + 5), JUST_CODE);
	expect_broken(UNTOLD, at(SP), at(SP + 4));
	put_record(SP + 4, at(SP + 6) + 4, JUST_CODE);
	expect_broken(UNTOLD, at(SP), at(SP + 4));
	put_record(SP + 4, at(WORDS), JUST_CODE);
	expect_step(UNTOLD, at(SP), at(SP + 4));
	put_record(SP + 4, at(WORDS + 1), JUST_CODE);
	expect_broken(UNTOLD, at(SP), at(SP + 4));
	for (unsigned far = 0; far < 2; far++) {
		uint64_t most = far ? at(SP + 4) + (1 << 20) : at(WORDS);

		if (far)
			stack_unknown();
		put_record(SP + 4, at(SP + 6), most);
		expect_step(UNTOLD, at(SP), at(SP + 4));
		put_record(SP + 4, at(SP + 6), most - 1);
		expect_broken(UNTOLD, at(SP), at(SP + 4));
		put_record(SP + 4, at(SP + 6), at(SP + 4));
		expect_broken(UNTOLD, at(SP), at(SP + 4));
		put_record(SP + 4, at(SP + 6), at(SP + 4) - 1);
		expect_step(UNTOLD, at(SP), at(SP + 4));
	}
}

/* Of a stack that is not known, an uncertain step believes what was found readable in this page
 * only, and asks again for the next one. */
static void test_record_of_unknown_stack(void **state)
{
	unsigned last = 2 * PAGE_WORDS - 2; /* words of the page */
	struct region *region;

	(void)state;
	stack_unknown();
	region = region_find(thread, at(SP));
	region->high = region->until = at(last + 9);
	stack[last + 8] = 70;
	given.until = at(last + 2);
	put_record(last + 1, 33, behind_call);
	expect_broken(BY_RECORD, at(SP), at(last + 1));
	expect_step(plain(false, last + 9 - SP, ARCH_FP_KEPT), at(SP), 9); /* a certain one does */
	expect_made(70, at(last + 9), 9, 0);
	given.until++;
	expect_broken(BY_RECORD, at(SP), at(last + 1));
	given.until = at(last + 3);
	expect_step(BY_RECORD, at(SP), at(last + 1));
	put_record(last, 33, behind_call);
	given.until = at(last);
	given.asked = 0;
	expect_step(BY_RECORD, at(SP), at(last));
	assert_int_equal(given.asked, 0);
	put_record(last, at(last + 2) + (64 << 10), JUST_CODE); /* the farthest next one */
	expect_step(UNTOLD, at(SP), at(last));
	put_record(last, at(last + 3) + (64 << 10), JUST_CODE);
	expect_broken(UNTOLD, at(SP), at(last));
}

/* What such a step has found readable is kept if it was right. */
static void test_kept(void **state)
{
	struct region *region;

	(void)state;
	stack_unknown();
	region = region_find(thread, at(SP));
	assert_int_equal(region->high, at(SP + 1));
	stack[SP + 99] = 0;
	expect_end(plain(false, 100, ARCH_FP_KEPT), at(SP), 9);
	assert_int_equal(region->high, at(SP + 100));
	assert_int_equal(region->until, at(SP + 100));
	/* a step that reads below sp, from which it would lead far up, is wrong */
	expect_broken(plain(true, 300, 200), at(SP), at(SP - 150));
	assert_int_equal(region->high, at(SP + 100));
	stack[SP + 199] = 70;
	expect_step(plain(false, 200, ARCH_FP_KEPT), at(SP), 9);
	assert_int_equal(region->high, at(SP + 200));
}

/* A plain row that the quick step refuses: its ends are compared once more. */
static void test_far(void **state)
{
	uint32_t by_fp = plain(true, 4, 3), by_sp = plain(false, 4, 3);

	(void)state;
	stack[SP + 3] = 70;
	stack[SP + 1] = 33;
	expect_step(by_fp, at(SP), at(SP));
	expect_made(70, at(SP + 4), 33, 0);
	expect_step(by_fp, at(SP + 1), at(SP)); /* fp's slot is at sp */
	expect_broken(by_fp, at(SP + 2), at(SP));
	stack_ends_at(at(SP + 4));
	expect_step(by_sp, at(SP), 9);
	expect_made(70, at(SP + 4), 33, 0);
	stack_ends_at(at(SP + 3));
	expect_broken(by_sp, at(SP), 9);
	expect_broken(by_fp, at(SP), at(SP) + 4);
}

/* The record is on another stack, which has to be known; and a call has to precede. */
static void test_elsewhere(void **state)
{
	uint32_t row = row_special(ROW_FRAME_POINTER, RECORD_IN_MODULE | RECORD_ELSEWHERE);
	static uint64_t here[8];

	(void)state;
	put_record(SP, 33, behind_call);
	expect_step(row, (uintptr_t)here, at(SP));
	expect_made(behind_call, at(SP + 2), 33, 0);
	put_record(SP, 33, behind_none);
	expect_broken(row, (uintptr_t)here, at(SP));
	put_record(SP, 33, behind_call);
	expect_broken(row, (uintptr_t)here, at(SP) + 4);
	stack_ends_at(at(SP + 2));
	expect_step(row, (uintptr_t)here, at(SP));
	stack_ends_at(at(SP + 1));
	expect_broken(row, (uintptr_t)here, at(SP));
	stack_unknown();
	expect_broken(row, (uintptr_t)here, at(SP));
}

static uint32_t scanned(bool from_fp, unsigned cfa_words, unsigned fp_words)
{
	struct arch_frame frame = {
		.from_fp = from_fp, .cfa_words = cfa_words, .fp_words = fp_words};

	return row_scanned(&frame);
}

/* Code without a table: as a plain row, but a call has to precede; else the record is tried. */
static void test_scanned(void **state)
{
	(void)state;
	stack[SP + 9] = behind_call;
	stack[SP + 3] = 33;
	expect_step(scanned(false, 10, 7), at(SP), at(SP + 20));
	expect_made(behind_call, at(SP + 10), 33, 0);
	expect_step(scanned(false, 10, ARCH_FP_KEPT), at(SP), at(SP + 20));
	expect_made(behind_call, at(SP + 10), at(SP + 20), 0);
	expect_step(scanned(true, 6, 7), at(SP), at(SP + 4));
	expect_made(behind_call, at(SP + 10), 33, 0);
	expect_broken(scanned(true, 6, 7), at(SP), at(SP + 4) + 4);
	stack[SP + 9] = behind_none;
	expect_broken(scanned(false, 10, 7), at(SP), at(SP + 5) + 4);
	put_record(SP + 20, 44, behind_none);
	expect_step(scanned(false, 10, 7), at(SP), at(SP + 20));
	expect_made(behind_none, at(SP + 22), 44, 0);
	/* fp's slot is no part of the stack */
	stack[SP + 9] = behind_call;
	expect_step(scanned(false, 2, 19), at(SP), at(SP + 20));
	expect_made(behind_none, at(SP + 22), 44, 0);
	stack[SP + 9] = 0;
	expect_broken(scanned(false, 10, 7), at(SP), 3);
}

/* Which addresses a call precedes. */
static bool comes_from_call(uint64_t pc)
{
	stack[SP + 9] = pc;
	return step_by(scanned(false, 10, ARCH_FP_KEPT), at(SP), 3) == STEP_FRAME;
}

static void test_behind_call(void **state)
{
	ElfW(Ehdr) eh = {.e_entry = module.start + 2048};

	(void)state;
	assert_true(comes_from_call(behind_call));
	assert_false(comes_from_call(behind_none));
	assert_false(comes_from_call(0xffff));
	assert_false(comes_from_call(JUST_CODE));
	/* what lies before the page can't be read, so this is too little to tell */
	assert_true(comes_from_call(module.start + 6));
	assert_false(comes_from_call(module.start + 7));
	assert_false(comes_from_call(module.end));
	assert_true(comes_from_call(restorer)); /* no call, but a signal */
	assert_false(comes_from_call(restorer + 1));
	/* and the entry point, of a file's head */
	assert_false(comes_from_call(eh.e_entry));
	memcpy(eh.e_ident, ELFMAG, SELFMAG);
	for (unsigned i = 0; i < 3; i++) {
		unwind_modules_changed();
		rows_check_state(thread);
		if (i == 1)
			eh.e_ident[1]++;
		if (i == 2) {
			eh.e_ident[1]--;
			eh.e_entry -= module.bias = 16;
		}
		memcpy(head, &eh, sizeof(eh));
		for (unsigned k = 2047; k < 2048 + 130; k++)
			assert_int_equal(comes_from_call(module.start + k),
					 i != 1 && k >= 2048 && k < 2048 + 128);
	}
	eh.e_entry = 0; /* a library has none */
	memcpy(head, &eh, sizeof(eh));
	module.bias = module.start + 2048;
	unwind_modules_changed();
	rows_check_state(thread);
	assert_false(comes_from_call(module.start + 2048));
	unwind_modules_changed();
	rows_check_state(thread);
	module.unreadable = UNWIND_CODE_UNREADABLE;
	assert_true(comes_from_call(behind_none)); /* nothing is read */
}

/* The exact instruction is known: its code is read again. */
static void test_interrupted(void **state)
{
	struct frame frame = {.pc = pops + 1,
			      .sp = at(SP),
			      .fp = 3,
			      .row = BY_RECORD,
			      .flags = FRAME_INTERRUPTED};

	(void)state;
	stack[SP] = 33;
	stack[SP + 1] = behind_call;
	assert_int_equal(step_of(&frame), STEP_FRAME);
	expect_made(behind_call, at(SP + 2), 33, 0);
	frame.pc++; /* behind the pop */
	frame.sp += 8;
	assert_int_equal(step_of(&frame), STEP_FRAME);
	expect_made(behind_call, at(SP + 2), 3, 0);
	frame.row = UNTOLD;
	assert_int_equal(step_of(&frame), STEP_BROKEN);
	frame.row = BY_RECORD;
	frame.flags = 0;
	assert_int_equal(step_of(&frame), STEP_BROKEN);
	frame.flags = FRAME_INTERRUPTED;
	given.find_module = NULL;
	assert_int_equal(step_of(&frame), STEP_BROKEN);
}

/* The registers as the kernel saved them; rip is the last of these. */
static void test_signal(void **state)
{
	uint64_t context = at(SP) + 64;
	uint64_t *registers = &stack[SP + 8 + 5];

	(void)state;
	registers[16] = 70;
	registers[15] = at(SP + 200);
	registers[10] = 33;
	expect_step(row_special(ROW_SIGNAL, 64), at(SP), 9);
	expect_made(71, at(SP + 200), 33, FRAME_INTERRUPTED);
	stack_ends_at(context + 40 + 17 * 8);
	expect_step(row_special(ROW_SIGNAL, 64), at(SP), 9);
	stack_ends_at(context + 40 + 16 * 8);
	expect_broken(row_special(ROW_SIGNAL, 64), at(SP), 9);
	begin_code(NULL);
	registers[16] = 70;
	for (unsigned i = 0; i <= 8; i++) {
		registers[15] = at(SP + 200) + i;
		assert_int_equal(step_by(row_special(ROW_SIGNAL, 64), at(SP), 9),
				 i % 8 ? STEP_BROKEN : STEP_FRAME);
	}
	registers[15] = 4088; /* no stack is there */
	expect_broken(row_special(ROW_SIGNAL, 64), at(SP), 9);
}

/* Here calls leave nothing in a register. */
static void test_link(void **state)
{
	struct frame frame = {.pc = JUST_CODE,
			      .sp = at(SP),
			      .row = row_special(ROW_LINK, 4),
			      .flags = FRAME_INTERRUPTED};

	(void)state;
	assert_int_equal(step_of(&frame), STEP_END);
	stack_ends_at(at(SP + 4));
	assert_int_equal(step_of(&frame), STEP_END);
	stack_ends_at(at(SP + 3));
	assert_int_equal(step_of(&frame), STEP_BROKEN);
	frame.flags = 0;
	stack_ends_at(at(WORDS));
	assert_int_equal(step_of(&frame), STEP_BROKEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_plt, begin_code),
		cmocka_unit_test_setup(test_others_end, begin_code),
		cmocka_unit_test_setup(test_deref_fp, begin_code),
		cmocka_unit_test_setup(test_deref_sp, begin_code),
		cmocka_unit_test_setup(test_record, begin_code),
		cmocka_unit_test_setup(test_first_record, begin_code),
		cmocka_unit_test_setup(test_plausible, begin_code),
		cmocka_unit_test_setup(test_record_of_unknown_stack, begin_code),
		cmocka_unit_test_setup(test_kept, begin_code),
		cmocka_unit_test_setup(test_far, begin_code),
		cmocka_unit_test_setup(test_elsewhere, begin_code),
		cmocka_unit_test_setup(test_scanned, begin_code),
		cmocka_unit_test_setup(test_interrupted, begin_code),
		cmocka_unit_test_setup(test_signal, begin_code),
		cmocka_unit_test_setup(test_link, begin_code),
		cmocka_unit_test_setup(test_behind_call, begin_code), /* last: code is unreadable */
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
