/* Functions without a table whose frame pointer holds are scanned once: what is remembered of them
 * shows when their code is written over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/unwind/framed.h"
#include "tests/unit/unwind/hex.h"

#define PIECE 256

static uint8_t code[1 << 20] __attribute__((aligned(PIECE)));
static struct unwind_module module;

static const struct unwind_module *find_module(void *context, uint64_t pc)
{
	(void)context;
	(void)pc;
	return &module;
}

static uint64_t readable(uint64_t from, uint64_t to)
{
	(void)from;
	return to;
}

static const struct unwind_host host = {.find_module = find_module, .readable = readable};
static const struct unwind_host remote = {
	.find_module = find_module, .readable = readable, .reads_checked = true};

static int begin(void **state)
{
	(void)state;
	module = (struct unwind_module){.start = (uintptr_t)code,
					.end = (uintptr_t)code + sizeof(code),
					.load_start = (uintptr_t)code,
					.load_end = (uintptr_t)code + sizeof(code)};
	memset(code, 0x90, sizeof(code));
	assert_int_equal(unwind_init(&host), 0);
	unwind_modules_changed();
	return 0;
}

#define OPEN "55 48 89 e5 " /* push %rbp; mov %rsp, %rbp */
#define CALL "e8 00 00 00 00 "
#define SITE 9 /* behind the first call */

/* A function at `offset`: its first call returns to offset + SITE; its frame pointer holds from
 * offset + 4 up to the byte that is returned. */
static unsigned put(unsigned offset, unsigned filling)
{
	unsigned at = offset + (unsigned)bytes_of(OPEN CALL, code + offset);

	memset(code + at, 0x90, filling);
	return at + filling + (unsigned)bytes_of("5d c3", code + at + filling);
}

static void write_over(void)
{
	memset(code, 0xcc, sizeof(code));
}

static bool finds(unsigned offset)
{
	struct arch_frame frame = {.from_fp = true, .cfa_words = 2, .ra_words = 1, .fp_words = 2};
	uint32_t row, expected;

	if (!framed_find(&module, (uintptr_t)code + offset, &row))
		return false;
	assert_true(row_of_frame(&frame, &expected));
	assert_int_equal(row, expected);
	return true;
}

/* It is known by its range, and no byte further. */
static void test_range(void **state)
{
	unsigned end = put(4096, 20);

	(void)state;
	assert_true(finds(4096 + SITE));
	write_over();
	assert_false(finds(4096 + 3));
	for (unsigned at = 4096 + 4; at < end; at++)
		assert_true(finds(at));
	assert_false(finds(end));
	assert_false(finds(4096 + SITE + (1 << 16)));
}

/* In each piece of code that it is in, and in both pieces that an end touches. */
static void test_pieces(void **state)
{
	unsigned end = put(8192 - 20, 3 * PIECE), other = put(3 * 8192 - 20, 7);

	(void)state;
	assert_true(finds(8192 - 20 + SITE));
	assert_true(finds(3 * 8192 - 20 + SITE));
	write_over();
	for (unsigned at = 8192 - 16; at < end; at++)
		assert_true(finds(at));
	assert_false(finds(end));
	for (unsigned at = 3 * 8192 - 16; at < other; at++)
		assert_true(finds(at));
}

/* As many pieces as there are: each in its place. */
static void test_many(void **state)
{
	(void)state;
	for (unsigned at = 0; at < sizeof(code); at += PIECE)
		put(at + 64, 0);
	for (unsigned at = 0; at < sizeof(code); at += PIECE)
		assert_true(finds(at + 64 + SITE));
	write_over();
	for (unsigned at = 0; at < sizeof(code); at += PIECE)
		assert_true(finds(at + 64 + SITE));
	unwind_modules_changed();
	for (unsigned at = 0; at < sizeof(code); at += PIECE)
		assert_false(finds(at + 64 + SITE));
}

/* The last one of a piece is known; one that is known at its call only takes no place. */
static void test_one_of_a_piece(void **state)
{
	uint32_t row;

	(void)state;
	put(4096 + 32, 0);
	put(4096 + 96, 0);
	bytes_of("48 83 ec 18 48 89 6c 24 10 48 8d 6c 24 10 " CALL "48 8b 6c 24 10 48 83 c4 18 c3",
		 code + 4096 + 160);
	assert_true(finds(4096 + 32 + SITE));
	assert_true(finds(4096 + 96 + SITE));
	assert_true(framed_find(&module, (uintptr_t)code + 4096 + 160 + 19, &row));
	write_over();
	assert_false(finds(4096 + 32 + SITE));
	assert_true(finds(4096 + 96 + SITE));
	assert_false(finds(4096 + 160 + 19));
}

static void test_not_kept(void **state)
{
	(void)state;
	put(4096, 0);
	unwind_suspend_cache();
	assert_true(finds(4096 + SITE));
	unwind_resume_cache();
	assert_int_equal(unwind_init(&remote), 0);
	assert_true(finds(4096 + SITE));
	assert_int_equal(unwind_init(&host), 0);
	write_over();
	assert_false(finds(4096 + SITE));
	/* nor is what is known used then */
	put(4096, 0);
	assert_true(finds(4096 + SITE));
	write_over();
	assert_true(finds(4096 + SITE));
	unwind_suspend_cache();
	assert_false(finds(4096 + SITE));
	unwind_resume_cache();
	assert_int_equal(unwind_init(&remote), 0);
	assert_false(finds(4096 + SITE));
	assert_int_equal(unwind_init(&host), 0);
	assert_true(finds(4096 + SITE));
}

static void test_unreadable(void **state)
{
	(void)state;
	put(4096, 0);
	module.unreadable = UNWIND_CODE_UNREADABLE;
	assert_false(finds(4096 + SITE));
	module.unreadable = 0;
	assert_true(finds(4096 + SITE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_range, begin),
		cmocka_unit_test_setup(test_pieces, begin),
		cmocka_unit_test_setup(test_many, begin),
		cmocka_unit_test_setup(test_one_of_a_piece, begin),
		cmocka_unit_test_setup(test_not_kept, begin),
		cmocka_unit_test_setup(test_unreadable, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
