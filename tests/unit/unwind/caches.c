/* The caches of rows: what is looked up once and then kept, how far they grow, when they are
 * dropped, and what never gets into them. The process has one table, so the tests follow on each
 * other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "agent/unwind/rows.h"

#define PAGE	 4096u
#define LINE	 64u /* bytes, of 8 entries */
#define FIRST	 1024u
#define LAST	 8192u		     /* lines of the process's table, at first and at last */
#define LEAST	 (FIRST * 8 / 4 * 3) /* rows that the first table takes before it grows */
#define UNTOLD	 row_special(ROW_FRAME_POINTER, 0)
#define NOT_NOW	 row_special(ROW_BAD, BAD_FOR_NOW)
#define NOT_EVER row_special(ROW_BAD, 0)

static uint8_t code[4096] __attribute__((aligned(8)));
static struct unwind_module module;
static uint64_t unknown; /* the module of this address can't be determined */
static unsigned decoded; /* how often the host was asked for a module */
static bool refuse;
static unsigned asked; /* for memory */
static size_t size;

static const struct unwind_module *find_module(void *context, uint64_t pc)
{
	(void)context;
	decoded++;
	if (pc == unknown)
		return &unwind_module_unknown;
	return pc >= module.start && pc < module.end ? &module : NULL;
}

/* What lies behind it must not be touched. */
static void *pages(void *context, size_t wanted)
{
	uint8_t *memory;

	(void)context;
	asked++;
	size = wanted;
	if (refuse)
		return NULL;
	memory = mmap(NULL, wanted + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(mprotect(memory + wanted, PAGE, PROT_NONE), 0);
	return memory;
}

static uint64_t readable(uint64_t from, uint64_t to)
{
	(void)to;
	return from;
}

static const struct unwind_host host = {
	.find_module = find_module, .readable = readable, .pages = pages};
static const struct unwind_host poor = {.find_module = find_module, .readable = readable};
static struct unwind_thread *one, *other;

static void renew(struct unwind_thread **thread)
{
	free(*thread);
	*thread = aligned_alloc(PAGE, UNWIND_THREAD_SIZE);
	assert_non_null(*thread);
	memset(*thread, 0, UNWIND_THREAD_SIZE);
	*thread = unwind_thread_init(*thread);
	rows_check_state(*thread);
}

static int begin(void **state)
{
	(void)state;
	module = (struct unwind_module){.start = (uintptr_t)code,
					.end = (uintptr_t)code + sizeof(code),
					.load_start = (uintptr_t)code,
					.load_end = (uintptr_t)code + sizeof(code)};
	unknown = 0;
	refuse = false;
	assert_int_equal(unwind_init(&host), 0);
	renew(&one);
	renew(&other);
	decoded = asked = 0;
	return 0;
}

static uint64_t pc_of(uint64_t key)
{
	return key << ARCH_PC_SHIFT;
}

/* That no earlier test has met. */
static uint64_t new_key(void)
{
	static uint64_t next = 1 << 20;

	return next++;
}

/* How often the host was asked for it. */
static unsigned get(struct unwind_thread *thread, uint64_t key)
{
	unsigned before = decoded;

	assert_int_equal(rows_get(thread, pc_of(key)), UNTOLD);
	return decoded - before;
}

static void test_no_host(void **state)
{
	(void)state;
	assert_int_equal(rows_decode(UINT64_C(1) << 20), NOT_EVER);
	assert_int_equal(unwind_init(NULL), -22);
	assert_int_equal(unwind_init(&(struct unwind_host){.find_module = find_module}), -22);
	assert_int_equal(unwind_init(&(struct unwind_host){.readable = readable}), -22);
	assert_int_equal(rows_decode(UINT64_C(1) << 20), NOT_EVER);
	assert_int_equal(decoded, 0);
}

/* Without memory each thread still keeps what it has met. */
static void test_no_memory(void **state)
{
	uint64_t key = new_key();

	(void)state;
	refuse = true;
	assert_int_equal(get(one, key), 1);
	assert_int_equal(asked, 1);
	assert_int_equal(get(one, key), 0);
	assert_int_equal(get(other, key), 1);
	assert_int_equal(asked, 2);
	assert_int_equal(unwind_init(&poor), 0);
	key = new_key();
	assert_int_equal(get(one, key), 1);
	assert_int_equal(get(other, key), 1);
	assert_int_equal(asked, 2);
	unwind_modules_changed(); /* of a table that is not there */
	rows_check_state(one);
	assert_int_equal(get(one, key), 1);
}

/* What one thread has met, another one finds in the process's table. */
static void test_two_threads(void **state)
{
	uint64_t key = new_key();
	struct unwind_counters counters;

	(void)state;
	assert_int_equal(get(one, key), 1);
	assert_int_equal(asked, 1);
	assert_int_equal(size, FIRST * LINE);
	assert_int_equal(get(one, key), 0);
	unwind_counters(one, &counters);
	assert_int_equal(counters.rows_missed, 1);
	assert_int_equal(counters.rows_decoded, 1);
	assert_int_equal(get(other, key), 0);
	assert_int_equal(get(other, key), 0);
	unwind_counters(other, &counters);
	assert_int_equal(counters.rows_missed, 1);
	assert_int_equal(counters.rows_decoded, 0);
}

/* Words that are no addresses of code. */
static void test_no_address(void **state)
{
	struct unwind_counters counters;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(rows_get(one, 5), NOT_EVER); /* an empty place looks like its */
		assert_int_equal(rows_get(one, 0xffff), NOT_EVER);
		assert_int_equal(rows_get(one, UINT64_C(1) << ARCH_PC_BITS), NOT_EVER);
	}
	assert_int_equal(decoded, 0);
	unwind_counters(one, &counters);
	assert_int_equal(counters.rows_missed, 4); /* the last one is never kept */
	assert_int_equal(counters.rows_decoded, 4);
	assert_int_equal(rows_get(one, 0x10000), UNTOLD);
	assert_int_equal(rows_get(one, (UINT64_C(1) << ARCH_PC_BITS) - (1 << ARCH_PC_SHIFT)),
			 UNTOLD);
	assert_int_equal(decoded, 2);
}

/* What is not known now is asked for again, and the thread is told. */
static void test_not_now(void **state)
{
	uint64_t key = new_key();

	(void)state;
	unknown = pc_of(key) - 1;
	for (unsigned i = 1; i < 4; i++) {
		one->unknown = false;
		assert_int_equal(rows_get(one, pc_of(key)), NOT_NOW);
		assert_true(one->unknown);
		assert_int_equal(decoded, i);
	}
	one->unknown = false;
	unknown = pc_of(key) + (1 << ARCH_PC_SHIFT) - 1;
	assert_int_equal(rows_interrupted(one, pc_of(key)), NOT_NOW);
	assert_true(one->unknown);
	unknown = 0;
	assert_int_equal(rows_interrupted(one, pc_of(key)), UNTOLD);
	assert_true(one->unknown); /* of an earlier frame of this walk */
	one->unknown = false;
	assert_int_equal(rows_interrupted(one, pc_of(key)), UNTOLD);
	assert_false(one->unknown);
	assert_int_equal(get(one, key), 1);
	assert_int_equal(get(other, key), 0);
}

/* Who seeks keeps what it finds to itself, and nothing of what is in no module. */
static void test_seeker(void **state)
{
	uint64_t key = new_key(), pc = module.start + 64;

	(void)state;
	one->seeks = true;
	assert_int_equal(get(one, key), 1);
	assert_int_equal(get(one, key), 1);
	assert_int_equal(get(other, key), 1);
	assert_int_equal(get(one, key), 0); /* the other one's */
	decoded = 0;
	rows_get(one, pc);
	assert_true(decoded > 0);
	decoded = 0;
	rows_get(one, pc);
	assert_int_equal(decoded, 0);
	rows_get(other, pc);
	assert_true(decoded > 0);
}

/* Nine rows whose place is the same line: it takes eight, and one of the others is lost. */
static void test_line(void **state)
{
	unsigned again = 0;
	uint64_t keys[9];

	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		uint64_t high = new_key();

		keys[i] = high << KEY_LOW_BITS | ((77 ^ high ^ high >> KEY_LOW_BITS) & (FIRST - 1));
		assert_int_equal(get(one, keys[i]), 1);
		renew(&other);
		for (unsigned k = 0; k <= i && i < 8; k++)
			assert_int_equal(get(other, keys[k]), 0);
	}
	renew(&other);
	other->seeks = true; /* it takes no place */
	for (unsigned i = 0; i < 9; i++)
		again += get(other, keys[i]);
	assert_int_equal(again, 1);
	assert_int_equal(get(other, keys[8]), 0);
}

/* From here on the table is empty. */
static void forget_all(void)
{
	unwind_modules_changed();
	renew(&one);
	renew(&other);
	decoded = asked = 0;
}

/* Neighbours are spread evenly, so none is lost; and then all are dropped. */
static void test_all_dropped(void **state)
{
	enum { COUNT = 5 * FIRST };
	uint64_t first = new_key();

	(void)state;
	forget_all();
	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(get(one, first + i), 1);
	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(get(other, first + i), 0);
	unwind_modules_changed();
	renew(&other);
	other->seeks = true; /* it leaves the table empty */
	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(get(other, first + i), 1);
	for (unsigned i = 0; i < COUNT; i++)
		new_key();
}

/* The table grows once, when three quarters of it are taken; refused, it asks as late again. */
static void test_growth(void **state)
{
	uint64_t kept = new_key();
	unsigned count = 0;

	(void)state;
	refuse = true;
	while (!asked && ++count < 2 * LEAST)
		get(one, new_key());
	assert_int_equal(asked, 1);
	assert_int_equal(size, LAST * LINE);
	assert_int_equal(get(one, kept), 1);
	renew(&other);
	assert_int_equal(get(other, kept), 0); /* the first one is still there */
	for (unsigned i = 1; i < LEAST; i++)
		get(one, new_key());
	assert_int_equal(asked, 1);
	refuse = false;
	get(one, new_key());
	assert_int_equal(asked, 2);
	assert_int_equal(size, LAST * LINE);
	renew(&other);
	assert_int_equal(get(other, kept), 1); /* nothing is copied */
	for (unsigned i = 0; i < 2 * LAST * 8; i++)
		get(one, new_key());
	assert_int_equal(asked, 2);
}

/* All lines of the larger table are used. */
static void test_large_table(void **state)
{
	enum { COUNT = 5 * LAST };
	uint64_t first = new_key();

	(void)state;
	forget_all();
	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(get(one, first + i), 1);
	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(get(other, first + i), 0);
	unwind_modules_changed();
	renew(&other);
	other->seeks = true;
	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(get(other, first + i), 1);
	for (unsigned i = 0; i < COUNT; i++)
		new_key();
}

/* A thread's own grows after twice as many misses as it has places, twice. */
static void test_own_growth(void **state)
{
	static const uint64_t masks[] = {(1u << 10) - 1, (1u << 12) - 1, (1u << 14) - 1};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned k = 0; k < 2 * (masks[i] + 1); k++) {
			assert_int_equal(one->l1_mask, masks[i]);
			get(one, new_key());
		}
		get(one, new_key());
	}
	for (unsigned k = 0; k < 70000; k++)
		get(one, new_key());
	assert_int_equal(one->l1_mask, masks[2]);
}

static void test_state(void **state)
{
	uint64_t key = new_key(), before = rows_state();
	struct unwind_counters counters;

	(void)state;
	get(one, key);
	one->count = 5;
	one->emitted = 3;
	one->regions[0] = one->regions[1] = (struct region){.low = 1, .high = 2, .until = 3};
	rows_check_state(one); /* nothing has changed */
	assert_int_equal(one->count, 5);
	assert_int_equal(one->emitted, 3);
	unwind_modules_changed();
	assert_int_equal(rows_state(), before + (1u << 16));
	rows_check_state(one);
	assert_int_equal(one->state, rows_state());
	assert_int_equal(one->count, 0);
	assert_int_equal(one->emitted, 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(one->regions[i].until, 0);
	assert_int_equal(get(one, key), 1);
	/* the thread's own rows go, too */
	assert_int_equal(get(other, key), 0);
	unwind_suspend_cache();
	rows_check_state(one);
	unwind_resume_cache();
	rows_check_state(one);
	unwind_counters(one, &counters);
	assert_int_equal(get(one, key), 0);
	assert_int_equal(one->counters.rows_missed, counters.rows_missed + 1);
}

/* Nothing is read or kept until all that have suspended the caches resume them. */
static void test_suspended(void **state)
{
	uint64_t key = new_key(), before = rows_state();

	(void)state;
	assert_false(rows_is_suspended(before));
	assert_int_equal(get(one, key), 1);
	unwind_suspend_cache();
	unwind_suspend_cache();
	for (unsigned i = 0; i < 3; i++) {
		assert_true(rows_is_suspended(rows_state()));
		rows_check_state(one);
		assert_int_equal(get(one, key), 1);
		assert_int_equal(get(one, key), 1);
		assert_int_equal(one->counters.rows_decoded, one->counters.rows_missed);
		if (i)
			unwind_modules_changed(); /* leaves them suspended */
		else
			unwind_resume_cache();
	}
	unwind_resume_cache();
	assert_int_equal(rows_state(), before + (2u << 16));
	rows_check_state(one);
	assert_int_equal(get(one, key), 1);
	assert_int_equal(get(one, key), 0);
}

/* A row that was decoded while the state changed is given, and not kept. */
static void test_changed_meanwhile(void **state)
{
	uint64_t key = new_key();

	(void)state;
	unwind_modules_changed();
	assert_int_equal(get(one, key), 1);
	assert_int_equal(get(one, key), 1);
	renew(&other);
	assert_int_equal(get(other, key), 1);
	rows_check_state(one);
	assert_int_equal(get(one, key), 0);
}

/* Only once a module was met whose code must not be read are others looked at. */
static void test_readable(void **state)
{
	uint64_t pc = module.start + 64;

	(void)state;
	module.unreadable = UNWIND_CODE_UNREADABLE;
	assert_true(rows_readable(pc));
	assert_int_equal(decoded, 0);
	rows_decode(pc);
	assert_false(rows_readable(pc));
	assert_false(rows_readable(module.end));
	assert_false(rows_readable(module.end + 1)); /* in none */
	module.unreadable = UNWIND_HEAD_UNREADABLE;
	assert_true(rows_readable(pc));
	assert_true(rows_readable(module.end));
	assert_false(rows_readable(module.start));
	assert_true(rows_readable(module.start + 1));
}

static int end(void **state)
{
	(void)state;
	free(one);
	free(other);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_host), /* first: the rest has one */
		cmocka_unit_test_setup(test_no_memory, begin),
		cmocka_unit_test_setup(test_two_threads, begin),
		cmocka_unit_test_setup(test_no_address, begin),
		cmocka_unit_test_setup(test_not_now, begin),
		cmocka_unit_test_setup(test_seeker, begin),
		cmocka_unit_test_setup(test_line, begin),
		cmocka_unit_test_setup(test_all_dropped, begin),
		cmocka_unit_test_setup(test_growth, begin),
		cmocka_unit_test_setup(test_large_table, begin),
		cmocka_unit_test_setup(test_own_growth, begin),
		cmocka_unit_test_setup(test_state, begin),
		cmocka_unit_test_setup(test_suspended, begin),
		cmocka_unit_test_setup(test_changed_meanwhile, begin),
		cmocka_unit_test_setup(test_readable, begin),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
