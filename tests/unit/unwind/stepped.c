/* Steps to another stack, by what this one points to: what is found there, what makes it wrong, and
 * how deep it may be. */
#include "tests/unit/unwind/onestep.h"

static struct {
	uint64_t words[16];
	uint64_t other[512];
} owner __attribute__((aligned(4096)));

/* *(sp + 8 * 3) owns the other stack, which ends at the owner's word 5, and goes down from there as
 * far as *(sp + 8 * 4) says. */
static uint32_t switched(unsigned fp)
{
	const struct row_switched how = {3, 5, 4, 6, fp};

	return row_switched(&how);
}

static int begin_switched(void **state)
{
	uint64_t *there = &owner.other[100];

	begin_code(state);
	memset(&owner, 0, sizeof(owner));
	given.until = UINT64_MAX;
	stack[SP + 3] = (uintptr_t)&owner;
	stack[SP + 4] = 200 * 8;
	owner.words[5] = (uintptr_t)&owner.other[300];
	there[5] = behind_call;
	there[2] = 33;
	there[9] = behind_call; /* of a record near by */
	there[12] = behind_none;
	return 0;
}

static void test_switched(void **state)
{
	uint64_t there = (uintptr_t)&owner.other[100];

	(void)state;
	expect_step(switched(4), at(SP), 9);
	expect_made(behind_call, there + 48, 33, 0);
	/* fp is kept: it is believed only if it points to a record right above */
	expect_step(switched(ARCH_FP_KEPT), at(SP), 9);
	expect_made(behind_call, there + 48, 0, 0);
	expect_step(switched(ARCH_FP_KEPT), at(SP), there + 64);
	expect_made(behind_call, there + 48, there + 64, 0);
	expect_step(switched(ARCH_FP_KEPT), at(SP), there + 88);
	expect_made(behind_call, there + 48, 0, 0);
	expect_step(switched(ARCH_FP_KEPT), at(SP), there + 40); /* below the caller's sp */
	expect_made(behind_call, there + 48, 0, 0);
	for (unsigned i = 31; i <= 32; i++) {
		owner.other[100 + 6 + i + 1] = behind_call;
		expect_step(switched(ARCH_FP_KEPT), at(SP), there + 48 + 8 * i);
		expect_made(behind_call, there + 48, i < 32 ? there + 48 + 8 * i : 0, 0);
	}
}

static void test_switched_wrong(void **state)
{
	(void)state;
	owner.other[105] = behind_none;
	expect_broken(switched(4), at(SP), 9);
	owner.other[105] = 0;
	expect_broken(switched(4), at(SP), 9);
	owner.other[105] = behind_call;
	given.until = (uintptr_t)&owner.words[6];
	expect_broken(switched(4), at(SP), 9); /* the other stack can't be read */
	given.until--;
	expect_broken(switched(4), at(SP), 9); /* nor its owner */
	given.until = UINT64_MAX;
	stack[SP + 3] += 4;
	owner.words[5] = owner.words[6] = (uintptr_t)&owner.other[300];
	expect_broken(switched(4), at(SP), 9);
	stack[SP + 3] -= 4;
	expect_step(switched(4), at(SP), 9);
	for (unsigned i = 3; i <= 4; i++) {
		uint64_t old = stack[SP + i];

		stack[SP + i] = owner.words[5] + 8;
		expect_broken(switched(4), at(SP), 9);
		stack[SP + i] = old;
	}
	stack_ends_at(at(SP + 4));
	expect_broken(switched(4), at(SP), 9);
	stack_ends_at(at(SP + 3));
	expect_broken(switched(4), at(SP), 9);
}

/* 64 MiB is the deepest of other stacks: nothing beyond is even asked for. */
static void test_switched_deep(void **state)
{
	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		unsigned before = given.asked;

		owner.words[5] = UINT64_C(0x7fff00000000);
		given.until = (uintptr_t)&owner + sizeof(owner);
		stack[SP + 4] = (64 << 20) + 8 * more;
		expect_broken(switched(4), at(SP), 9);
		assert_int_equal(given.asked - before > 1, !more);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_switched, begin_switched),
		cmocka_unit_test_setup(test_switched_wrong, begin_switched),
		cmocka_unit_test_setup(test_switched_deep, begin_switched),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
