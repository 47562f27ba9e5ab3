/* Unwinding with all registers: each rule by itself, and stacks whose frames depend on registers
 * that others have saved. */
#include "tests/unit/unwind/byhand.h"

#include <errno.h>

#include "agent/unwind/registers.h"

#define SP  64
#define RA  ARCH_REG_RA
#define RSP ARCH_REG_SP
#define RBP ARCH_REG_FP
#define RBX 3
#define R12 12
#define RAX 0

static struct cfi_rules rules;
static struct registers in, out;
static struct unwind_module module;
static uint8_t image[256];

static int apply(bool signal)
{
	struct walk w = {.thread = thread};

	memset(&out, 0xff, sizeof(out));
	walk_enter(&w, at(SP));
	return registers_apply(&w, &module, &rules, signal, &in, &out);
}

/* cfa = sp + 64; the return address lies right below it. All registers are known. */
static int begin_rules(void **state)
{
	begin(state);
	memset(&rules, 0, sizeof(rules));
	rules.cfa = (struct cfi_rule){CFI_VAL_OFFSET, 64};
	rules.cfa_register = RSP;
	rules.registers[RA] = (struct cfi_rule){CFI_OFFSET, -8};
	in.known = (1u << ARCH_REGISTERS) - 1;
	for (unsigned i = 0; i < ARCH_REGISTERS; i++)
		in.value[i] = 100 + i;
	in.value[RSP] = at(SP);
	for (unsigned i = 0; i < 16; i++)
		stack[SP + i] = 1000 + i;
	module = (struct unwind_module){.load_start = (uintptr_t)image,
					.load_end = (uintptr_t)image + sizeof(image)};
	return 0;
}

static void expect_known(unsigned reg, uint64_t value)
{
	assert_true(out.known >> reg & 1);
	assert_int_equal(out.value[reg], value);
}

/* What a call keeps is kept, and nothing else; of a signal frame it is all. */
static void test_same(void **state)
{
	(void)state;
	for (unsigned signal = 0; signal < 2; signal++) {
		assert_int_equal(apply(signal), 0);
		assert_int_equal(out.known, signal ? in.known : ARCH_KEPT | 1u << RSP | 1u << RA);
		expect_known(RA, 1007);
		expect_known(RSP, at(SP + 8));
		expect_known(RBX, 100 + RBX);
		expect_known(R12, 100 + R12);
		expect_known(RBP, 100 + RBP);
	}
	in.known &= ~(1u << RBX);
	assert_int_equal(apply(false), 0);
	assert_false(out.known >> RBX & 1);
	rules.registers[RA] = (struct cfi_rule){CFI_SAME, 0}; /* it is in its own */
	assert_int_equal(apply(false), 0);
	expect_known(RA, 100 + RA);
	in.known &= ~(1u << RA);
	assert_int_equal(apply(false), -ENODATA);
}

static void test_rules(void **state)
{
	(void)state;
	rules.registers[RBX] = (struct cfi_rule){CFI_OFFSET, -16};
	rules.registers[R12] = (struct cfi_rule){CFI_VAL_OFFSET, -24};
	rules.registers[RBP] = (struct cfi_rule){CFI_REGISTER, RAX};
	rules.registers[13] = (struct cfi_rule){CFI_UNDEFINED, 0};
	rules.registers[RAX] = (struct cfi_rule){CFI_OFFSET, -32};
	assert_int_equal(apply(false), 0);
	expect_known(RBX, 1006);
	expect_known(R12, at(SP + 5));
	expect_known(RBP, 100);
	expect_known(RAX, 1004);
	assert_false(out.known >> 13 & 1);
	/* a register that can't be known is left out */
	in.known &= ~(1u << RAX);
	assert_int_equal(apply(false), 0);
	assert_false(out.known >> RBP & 1);
	rules.registers[RBP] = (struct cfi_rule){CFI_REGISTER, ARCH_REGISTERS};
	assert_int_equal(apply(false), 0);
	assert_false(out.known >> RBP & 1);
	rules.registers[RBP] = (struct cfi_rule){CFI_REGISTER, ARCH_REGISTERS - 1};
	assert_int_equal(apply(false), 0);
	expect_known(RBP, 100 + RA);
	/* memory that can't be read makes all wrong */
	rules.registers[RBP] = (struct cfi_rule){CFI_OFFSET, 3};
	assert_int_equal(apply(false), -EFAULT);
	rules.registers[RBP] = (struct cfi_rule){CFI_SAME, 0};
	rules.registers[RA] = (struct cfi_rule){CFI_OFFSET, 3};
	assert_int_equal(apply(false), -EFAULT);
	/* and the return address decides */
	rules.registers[RA] = (struct cfi_rule){CFI_UNDEFINED, 0};
	assert_int_equal(apply(false), 1);
	rules.registers[RA] = (struct cfi_rule){CFI_REGISTER, RAX};
	assert_int_equal(apply(false), -ENODATA);
	in.known |= 1u << RAX;
	assert_int_equal(apply(false), 0);
	expect_known(RA, 100);
}

/* sp is the cfa unless a rule says otherwise, and has to be known. */
static void test_sp(void **state)
{
	(void)state;
	rules.registers[RSP] = (struct cfi_rule){CFI_OFFSET, -16};
	assert_int_equal(apply(false), 0);
	expect_known(RSP, 1006);
	rules.registers[RSP] = (struct cfi_rule){CFI_UNDEFINED, 0};
	assert_int_equal(apply(false), -ENODATA);
}

/* The cfa: of another register, above sp, a word, and on the stack; of a signal frame, anywhere. */
static void test_cfa(void **state)
{
	(void)state;
	rules.registers[RA] = (struct cfi_rule){CFI_REGISTER, RAX};
	rules.cfa_register = RBX;
	in.value[RBX] = at(SP);
	rules.cfa.value = 8;
	assert_int_equal(apply(false), 0);
	expect_known(RSP, at(SP + 1));
	rules.cfa.value = 0; /* a frame has a return address at least */
	assert_int_equal(apply(false), -EBADMSG);
	assert_int_equal(apply(true), 0);
	rules.cfa.value = 12;
	assert_int_equal(apply(false), -EBADMSG);
	assert_int_equal(apply(true), 0);
	in.value[RBX] = at(WORDS);
	rules.cfa.value = 0;
	assert_int_equal(apply(false), 0);
	rules.cfa.value = 8;
	assert_int_equal(apply(false), -EBADMSG);
	assert_int_equal(apply(true), 0);
	in.known &= ~(1u << RBX);
	assert_int_equal(apply(false), -ENODATA);
	rules.cfa_register = ARCH_REGISTERS;
	assert_int_equal(apply(false), -ENODATA);
}

static void test_expressions(void **state)
{
	static const uint8_t cfa[] = {3, 0x77, 0xc0, 0}, /* sp + 64: breg7, in two bytes */
		below[] = {3, 0x09, 0xf0, 0x22};	 /* what is there, less 16: const1s, plus */

	(void)state;
	memcpy(image + 16, cfa, sizeof(cfa));
	memcpy(image + 32, below, sizeof(below));
	rules.cfa = (struct cfi_rule){CFI_EXPRESSION, 16};
	rules.registers[RBX] = (struct cfi_rule){CFI_EXPRESSION, 32};
	rules.registers[R12] = (struct cfi_rule){CFI_VAL_EXPRESSION, 32};
	assert_int_equal(apply(false), 0);
	expect_known(RSP, at(SP + 8));
	expect_known(RBX, 1006);
	expect_known(R12, at(SP + 6));
	image[32] = 0; /* its value is the cfa */
	assert_int_equal(apply(false), 0);
	expect_known(R12, at(SP + 8));
	image[32] = 200; /* longer than all */
	image[33] = 3;
	assert_int_equal(apply(false), -EBADMSG);
	rules.registers[RBX] = (struct cfi_rule){CFI_SAME, 0};
	assert_int_equal(apply(false), -EBADMSG);
	rules.registers[R12] = (struct cfi_rule){CFI_SAME, 0};
	image[16] = 0; /* no value */
	assert_int_equal(apply(false), -EBADMSG);
}

/* ---- walks ---- */

#define FUNCTIONS 6
#define SIZE	  256 /* of each */

static uint8_t code[FUNCTIONS * SIZE], tables[FUNCTIONS][128];
static struct unwind_module modules[FUNCTIONS];

static const struct unwind_module *module_of(uint64_t pc)
{
	uint64_t number = (pc - (uintptr_t)code) / SIZE;

	return pc >= (uintptr_t)code && number < FUNCTIONS && modules[number].end ? &modules[number]
										  : NULL;
}

static size_t put(uint8_t *table, size_t size, const void *bytes, size_t count)
{
	memcpy(table + size, bytes, count);
	return size + count;
}

/* | CIE | FDE |: function `number` has these rules, all over it. */
static void put_rules(unsigned number, bool signal, const char *text, size_t count)
{
	const uint8_t plain_cie[] = {16, 0,    0,  0, 0, 0, 0, 0, 1, 0,
				     1,	 0x78, 16, 0, 0, 0, 0, 0, 0, 0},
		      signal_cie[] = {16,  0, 0, 0,    0,  0, 0, 0, 1, 'z',
				      'S', 0, 1, 0x78, 16, 0, 0, 0, 0, 0};
	uint64_t range[2] = {(uintptr_t)code + number * SIZE, SIZE};
	uint32_t head[2] = {(uint32_t)(4 + sizeof(range) + signal + count), 24};
	uint8_t *table = tables[number];
	size_t size = put(table, 0, signal ? signal_cie : plain_cie, 20);

	size = put(table, size, head, sizeof(head));
	size = put(table, size, range, sizeof(range));
	if (signal)
		table[size++] = 0; /* of the augmentation */
	size = put(table, size, text, count);
	modules[number] = (struct unwind_module){.start = range[0],
						 .end = range[0] + SIZE,
						 .load_start = (uintptr_t)table,
						 .load_end = (uintptr_t)table + size,
						 .entry = (uintptr_t)table + 20};
}

#define RULES(number, signal, text) put_rules(number, signal, text, sizeof(text) - 1)

enum { BY_RBX, SAVING, LAST, SIGNAL, BY_RAX };

/* BY_RBX: cfa = rbx + 16. SAVING: cfa = rsp + 32, with rbx, rbp and r12 below the return address.
 * LAST: has no return address. SIGNAL: all from rsp on. */
static int begin_walk(void **state)
{
	begin_rules(state);
	memset(stack, 0, sizeof(stack));
	memset(code, 0xcc, sizeof(code));
	memset(modules, 0, sizeof(modules));
	given.find_module = module_of;
	RULES(BY_RBX, false, "\x0c\x03\x10\x90\x01");
	RULES(SAVING, false, "\x0c\x07\x20\x90\x01\x83\x02\x86\x03\x8c\x04");
	RULES(LAST, false, "\x0c\x07\x08\x07\x10");
	RULES(BY_RAX, false, "\x0c\x00\x10\x90\x01");
	/* the cfa is *(rsp + 16), and rbx, rax and rip lie at rsp + 0, 8 and 24 */
	RULES(SIGNAL, true,
	      "\x0f\x03\x77\x10\x06\x10\x03\x02\x77\x00\x10\x00\x02\x77\x08\x10\x10\x02\x77\x18"
	      "\x10\x06\x02\x77\x00");
	unwind_modules_changed();
	rows_check_state(thread);
	return 0;
}

static uint64_t in_function(unsigned number)
{
	return (uintptr_t)code + number * SIZE + 64;
}

static struct unwind_delta delta;

static void walk_from(unsigned number, uint64_t rbx)
{
	struct unwind_regs regs = {.pc = in_function(number),
				   .sp = at(SP),
				   .fp = 9,
				   .saved = {rbx},
				   .has_saved = true};

	unwind_capture_full(thread, &regs, UNWIND_MAX_DEPTH, &delta);
}

static void expect_stack(unsigned flags, unsigned depth, const uint64_t *pcs)
{
	assert_int_equal(delta.flags, flags);
	assert_int_equal(delta.depth, depth);
	for (unsigned i = 0; i < depth; i++)
		assert_int_equal(delta.pcs[i], pcs[i]);
}

#define PCS(...) ((const uint64_t[]){__VA_ARGS__})

static void test_saved(void **state)
{
	(void)state;
	stack[SP + 3] = in_function(SAVING); /* BY_RBX with rbx = sp + 16 */
	stack[SP + 4 + 3] = in_function(BY_RBX);
	stack[SP + 4 + 2] = at(SP + 20);
	stack[SP + 21] = in_function(LAST);
	walk_from(BY_RBX, at(SP + 2));
	expect_stack(0, 4,
		     PCS(in_function(BY_RBX), in_function(SAVING), in_function(BY_RBX),
			 in_function(LAST)));
	stack[SP + 21] = 0; /* ends as well */
	walk_from(BY_RBX, at(SP + 2));
	expect_stack(0, 3, PCS(in_function(BY_RBX), in_function(SAVING), in_function(BY_RBX)));
	stack[SP + 21] = 0xffff; /* no address */
	walk_from(BY_RBX, at(SP + 2));
	expect_stack(UNWIND_TRUNCATED, 3,
		     PCS(in_function(BY_RBX), in_function(SAVING), in_function(BY_RBX)));
	stack[SP + 4 + 2] = at(WORDS);
	walk_from(BY_RBX, at(SP + 2));
	expect_stack(UNWIND_TRUNCATED, 3,
		     PCS(in_function(BY_RBX), in_function(SAVING), in_function(BY_RBX)));
	stack[SP + 4 + 3] = in_function(BY_RAX); /* which nobody has saved */
	walk_from(BY_RBX, at(SP + 2));
	expect_stack(UNWIND_TRUNCATED, 3,
		     PCS(in_function(BY_RBX), in_function(SAVING), in_function(BY_RAX)));
}

/* A code without a table, within: all but what its record tells is lost. */
static void test_record_between(void **state)
{
	uint64_t untold = CODE + 1;

	(void)state;
	stack[SP + 3] = in_function(SAVING);
	stack[SP + 4 + 3] = untold;
	stack[SP + 4 + 2] = at(SP + 40);
	stack[SP + 4 + 1] = at(SP + 20); /* rbp */
	stack[SP + 20] = 77;
	stack[SP + 21] = in_function(SAVING);
	stack[SP + 22 + 3] = in_function(LAST);
	walk_from(BY_RBX, at(SP + 2));
	expect_stack(0, 5,
		     PCS(in_function(BY_RBX), in_function(SAVING), untold, in_function(SAVING),
			 in_function(LAST)));
	stack[SP + 21] = in_function(BY_RBX);
	walk_from(BY_RBX, at(SP + 2));
	expect_stack(UNWIND_TRUNCATED, 4,
		     PCS(in_function(BY_RBX), in_function(SAVING), untold, in_function(BY_RBX)));
}

/* A signal frame with a table: the interrupted code has all registers, and is where it says. */
static void test_signal(void **state)
{
	uint64_t *frame = &stack[SP + 4];

	(void)state;
	stack[SP + 3] = in_function(SIGNAL);
	frame[0] = at(SP + 50); /* rbx, and rbp */
	frame[1] = at(SP + 60); /* rax */
	frame[2] = at(SP + 40); /* sp */
	frame[3] = in_function(BY_RAX);
	stack[SP + 61] = in_function(BY_RBX);
	stack[SP + 51 + 16] = 0;
	stack[SP + 51] = in_function(LAST);
	walk_from(BY_RBX, at(SP + 2));
	/* rbx is below BY_RAX's cfa, so the stack would lead down: it is cut there */
	expect_stack(UNWIND_TRUNCATED, 4,
		     PCS(in_function(BY_RBX), in_function(SIGNAL), in_function(BY_RAX) + 1,
			 in_function(BY_RBX)));
	frame[0] = at(SP + 70);
	stack[SP + 71] = in_function(LAST);
	walk_from(BY_RBX, at(SP + 2));
	expect_stack(0, 5,
		     PCS(in_function(BY_RBX), in_function(SIGNAL), in_function(BY_RAX) + 1,
			 in_function(BY_RBX), in_function(LAST)));
}

/* The kernel's own frame, by its code. */
static void test_kernel_signal(void **state)
{
	static const uint8_t restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	uint64_t *registers = &stack[SP + 4 + 5];

	(void)state;
	memcpy(code + 5 * SIZE + 64, restorer, sizeof(restorer));
	modules[5] = (struct unwind_module){.start = (uintptr_t)code + 5 * SIZE,
					    .end = (uintptr_t)code + 6 * SIZE,
					    .load_start = (uintptr_t)code,
					    .load_end = (uintptr_t)code + sizeof(code)};
	stack[SP + 3] = in_function(5);
	registers[16] = in_function(BY_RBX);
	registers[15] = at(SP + 40);
	registers[11] = at(SP + 50); /* rbx */
	stack[SP + 51] = in_function(LAST);
	walk_from(BY_RBX, at(SP + 2));
	expect_stack(0, 4,
		     PCS(in_function(BY_RBX), in_function(5), in_function(BY_RBX) + 1,
			 in_function(LAST)));
	registers[13] = at(SP + 50); /* rax */
	registers[16] = in_function(BY_RAX);
	walk_from(BY_RBX, at(SP + 2));
	expect_stack(0, 4,
		     PCS(in_function(BY_RBX), in_function(5), in_function(BY_RAX) + 1,
			 in_function(LAST)));
	given.high = at(SP + 4 + 5 + 16);
	thread->regions[0] = thread->regions[1] = (struct region){0};
	walk_from(BY_RBX, at(SP + 2));
	expect_stack(UNWIND_TRUNCATED, 2, PCS(in_function(BY_RBX), in_function(5)));
}

/* Without the registers the walk ends where they are needed; with a limit it keeps the outer
 * frames. */
static void test_unknown(void **state)
{
	struct unwind_regs regs = {.pc = in_function(SAVING), .sp = at(SP), .fp = 9};

	(void)state;
	stack[SP + 3] = in_function(BY_RAX);
	unwind_capture(thread, &regs, UNWIND_MAX_DEPTH, &delta);
	expect_stack(UNWIND_TRUNCATED, 2, PCS(in_function(SAVING), in_function(BY_RAX)));
	stack[SP + 3] = in_function(BY_RBX); /* the frame itself has saved that one */
	stack[SP + 2] = at(SP + 20);
	stack[SP + 21] = in_function(LAST);
	unwind_capture(thread, &regs, UNWIND_MAX_DEPTH, &delta);
	expect_stack(0, 3, PCS(in_function(SAVING), in_function(BY_RBX), in_function(LAST)));
	assert_int_equal(thread->count, 0);
	unwind_capture(thread, &regs, 2, &delta);
	assert_int_equal(delta.keep, 2);
	assert_int_equal(delta.flags, UNWIND_DEPTH_LIMIT);
}

/* A step that reads more than eight words is walked, but not remembered. */
static void test_many_reads(void **state)
{
	/* cfa = rsp + 96, as an expression; rip, and rbx, rbp, r12 to r15, r8 to r10 below it */
	static const char text[] =
		"\x0f\x03\x77\xe0\x00\x90\x01\x83\x02\x86\x03\x8c\x04\x8d\x05\x8e"
		"\x06\x8f\x07\x88\x08\x89\x09";
	struct unwind_regs regs = {.pc = in_function(SAVING), .sp = at(SP), .fp = 9};

	(void)state;
	stack[SP + 11] = in_function(LAST);
	for (unsigned more = 0; more < 2; more++) {
		put_rules(SAVING, false, text, sizeof(text) - 1 - (more ? 0 : 2));
		unwind_modules_changed();
		unwind_capture(thread, &regs, UNWIND_MAX_DEPTH, &delta);
		expect_stack(0, 2, PCS(in_function(SAVING), in_function(LAST)));
		assert_int_equal(thread->count, more ? 0 : 2);
	}
}

/* A rule that asks where the code is: behind a call as it stands in memory, or interrupted. */
static void test_by_place(void **state)
{
	struct unwind_regs regs = {.sp = at(SP), .fp = 9};

	(void)state;
	/* cfa = rsp + 8 * (rip & 15) */
	RULES(SAVING, false, "\x0f\x09\x77\x00\x80\x00\x3f\x1a\x33\x24\x22\x90\x01");
	unwind_modules_changed();
	for (unsigned words = 3; words < 16; words++) {
		uint64_t place = in_function(SAVING) + words;

		memset(stack, 0, sizeof(stack));
		stack[SP + words - 1] = in_function(LAST);
		regs.pc = place;
		unwind_capture(thread, &regs, UNWIND_MAX_DEPTH, &delta);
		expect_stack(0, 2, PCS(place, in_function(LAST)));
		/* below a signal frame, whose cfa is the interrupted code's sp */
		memset(stack, 0, sizeof(stack));
		stack[SP + 2] = at(SP + 8);
		stack[SP + 3] = place;
		stack[SP + 8 + words - 1] = in_function(LAST);
		regs.pc = in_function(SIGNAL);
		unwind_capture(thread, &regs, UNWIND_MAX_DEPTH, &delta);
		assert_int_equal(delta.flags & UNWIND_TRUNCATED, 0);
		assert_int_equal(delta.depth, 3);
		assert_int_equal(delta.pcs[2], in_function(LAST));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_same, begin_rules),
		cmocka_unit_test_setup(test_rules, begin_rules),
		cmocka_unit_test_setup(test_sp, begin_rules),
		cmocka_unit_test_setup(test_cfa, begin_rules),
		cmocka_unit_test_setup(test_expressions, begin_rules),
		cmocka_unit_test_setup(test_saved, begin_walk),
		cmocka_unit_test_setup(test_record_between, begin_walk),
		cmocka_unit_test_setup(test_signal, begin_walk),
		cmocka_unit_test_setup(test_kernel_signal, begin_walk),
		cmocka_unit_test_setup(test_unknown, begin_walk),
		cmocka_unit_test_setup(test_many_reads, begin_walk),
		cmocka_unit_test_setup(test_by_place, begin_walk),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
