/* The first instructions of functions, in bytes: which can be moved, what they become elsewhere,
 * and who leads back to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/unwind/entry.h"

#define AT 0x401000u

static size_t bytes_of(const char *hex, uint8_t *out)
{
	size_t count = 0;
	unsigned value;
	int read;

	for (; sscanf(hex, " %2x%n", &value, &read) == 1; hex += read)
		out[count++] = (uint8_t)value;
	return count;
}

/* `text`: the function; what follows a bar is behind it. */
static enum entry_fault read_entry(const char *text, struct entry_move *move)
{
	const char *bar = strchr(text, '|');
	uint8_t code[256];
	size_t size = bytes_of(text, code), room = size;

	if (bar)
		room += bytes_of(bar + 1, code + size);
	return entry_read(code, size, room, AT, move);
}

static void assert_moved(const char *text, unsigned skip, unsigned length, const char *moved)
{
	struct entry_move move;
	uint8_t expected[64];
	size_t count = bytes_of(moved, expected);

	assert_int_equal(read_entry(text, &move), ENTRY_FITS);
	assert_int_equal(move.address, AT + skip);
	assert_int_equal(move.length, length);
	assert_int_equal(move.moved_length, count);
	assert_memory_equal(move.moved, expected, count);
}

static void assert_refused(const char *text, enum entry_fault fault)
{
	struct entry_move move;

	assert_int_equal(read_entry(text, &move), fault);
}

static void whole_instructions(void **state)
{
	(void)state;
	assert_moved("55 48 89 e5 41 57 41 56 c3", 0, 6, "55 48 89 e5 41 57");
	assert_moved("48 81 ff 00 10 00 00 77 10 c3", 0, 7, "48 81 ff 00 10 00 00");
	assert_moved("f3 0f 1e fa 55 48 89 e5 53 c3", 4, 5, "55 48 89 e5 53");
	/* one that ends the function, with filling behind it */
	assert_moved("c3|0f 1f 80 00 00 00 00 0f 1f 84 00 00 00 00 00", 0, 5, "c3");
	assert_moved("31 c0 c3|cc cc cc cc cc cc cc cc cc cc cc cc cc", 0, 5, "31 c0 c3");
}

static void distances(void **state)
{
	struct entry_move move;
	int32_t distance;

	(void)state;
	/* mov 0x100(%rip),%rax: still right where it lay, since it begins there */
	assert_moved("48 8b 05 00 01 00 00 c3", 0, 7, "48 8b 05 00 01 00 00");
	/* addl $1,0x10(%rip): the constant is behind the distance */
	assert_int_equal(read_entry("83 05 10 00 00 00 01 c3", &move), ENTRY_FITS);
	assert_int_equal(move.fix[0], 3);
	/* fs:0x28 lies where it lies */
	assert_int_equal(read_entry("64 48 8b 04 25 28 00 00 00 c3", &move), ENTRY_FITS);
	assert_int_equal(move.fix[0], 0);
	/* test %rdi,%rdi; je +8: the long form, which is four bytes longer, leads to the same */
	assert_int_equal(read_entry("48 85 ff 74 08 90 90 90 90 90 90 90 90 c3", &move),
			 ENTRY_FITS);
	assert_int_equal(move.length, 5);
	assert_int_equal(move.moved_length, 9);
	assert_int_equal(move.moved[3], 0x0f);
	assert_int_equal(move.moved[4], 0x84);
	memcpy(&distance, move.moved + move.fix[0] - 1, sizeof(distance));
	assert_int_equal((int64_t)AT + 9 + distance, AT + 13);
	/* jmp: a tail call */
	assert_int_equal(read_entry("e9 fb 0f 00 00", &move), ENTRY_FITS);
	memcpy(&distance, move.moved + 1, sizeof(distance));
	assert_int_equal((int64_t)AT + 5 + distance, AT + 0x1000);
	assert_int_equal(read_entry("eb 7e|90 90 90 90 90 90 90 90 90 90 90 90 90 90", &move),
			 ENTRY_FITS);
	memcpy(&distance, move.moved + 1, sizeof(distance));
	assert_int_equal((int64_t)AT + 5 + distance, AT + 0x80);
}

static void refusals(void **state)
{
	(void)state;
	assert_refused("c3|b8 01 00 00 00 c3", ENTRY_SHORT);
	assert_refused("55 5d c3|55 48 89 e5 5d c3", ENTRY_SHORT);
	assert_refused("31 c0", ENTRY_SHORT);
	assert_refused("53 e8 00 01 00 00 5b c3", ENTRY_FIXED);
	assert_refused("ff d0 90 90 90 c3", ENTRY_FIXED);
	assert_refused("e3 10 90 90 90 90 c3", ENTRY_FIXED); /* jrcxz */
	assert_refused("0f 0b 90 90 90 90 c3", ENTRY_FIXED); /* ud2 */
	assert_refused("c7 f8 00 00 00 00 c3", ENTRY_FIXED); /* xbegin */
	assert_refused("48 ff cf 48 85 ff 75 f8 c3", ENTRY_LOOPED);
	assert_refused("55 48 ff cf 48 85 ff 75 f8 5d c3", ENTRY_LOOPED);
	assert_refused("f3 0f 1e fa 48 ff cf 48 85 ff 75 f4 c3", ENTRY_LOOPED);
	assert_refused("48 89 f8 06 90 90 c3", ENTRY_UNREADABLE);
	assert_refused("48 89 f8 90 90 c3 06", ENTRY_UNREADABLE);
}

/* A call of itself is a call as any other. */
static void recursion(void **state)
{
	(void)state;
	assert_moved("55 48 89 e5 53 e8 f6 ff ff ff 5b 5d c3", 0, 5, "55 48 89 e5 53");
}

static bool any(void *context, uint64_t target)
{
	(void)context;
	(void)target;
	return true;
}

static void count(void *context, uint64_t from, uint64_t target)
{
	unsigned *found = context;

	(void)from;
	(void)target;
	++*found;
}

static unsigned branches(const char *text)
{
	uint8_t code[256];
	size_t length = bytes_of(text, code);
	unsigned found = 0;
	const struct entry_search search = {any, count, &found, AT + 0x1000, AT + 0x2000};

	memset(code + length, 0x90, ENTRY_BRANCH);
	entry_branches(code, 0, length + ENTRY_BRANCH, AT, &search);
	return found;
}

static void from_anywhere(void **state)
{
	(void)state;
	assert_int_equal(branches("90 90 e8 00 10 00 00 c3"), 1);
	assert_int_equal(branches("90 0f 84 00 10 00 00 e9 00 11 00 00"), 2);
	assert_int_equal(branches("90 e8 00 30 00 00 c3"), 0);
	/* sub %rbp,%r9 and a constant: no jump, though e9 and a distance are in it */
	assert_int_equal(branches("90 49 29 e9 ba 01 10 00 00 c3"), 0);
	/* the same bytes, as a jump */
	assert_int_equal(branches("90 90 90 e9 ba 10 00 00 c3"), 1);
}

static void leads_to(void **state)
{
	uint8_t code[64];
	size_t size = bytes_of("48 85 ff 74 05 e9 f6 0f 00 00 c3", code);

	(void)state;
	assert_true(entry_leads_to(code, size, AT, AT + 0x1000));
	assert_false(entry_leads_to(code, size, AT, AT + 0x1001));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_instructions), cmocka_unit_test(distances),
		cmocka_unit_test(refusals),	      cmocka_unit_test(recursion),
		cmocka_unit_test(from_anywhere),      cmocka_unit_test(leads_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
