/* Words of a line, and text from a peer: what fits to the byte, what is a byte too long, and the
 * first and last of each range of characters. */
#include "base/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"

static void test_next(void **state)
{
	char line[2 * WORD_MAX], word[WORD_MAX];
	const char *at = "one two  three ";

	(void)state;
	assert_string_equal(words_next(&at, word), "one");
	assert_true(words_is_next(&at, "two"));
	assert_null(words_next(&at, word)); /* one blank separates, not two */
	assert_string_equal(at, " three ");
	at++;
	assert_false(words_is_next(&at, "thre"));
	assert_string_equal(at, "");
	assert_null(words_next(&at, word));

	memset(line, 'x', sizeof(line));
	line[WORD_MAX - 1] = '\0';
	at = line;
	assert_int_equal(strlen(words_next(&at, word)), WORD_MAX - 1);
	assert_ptr_equal(at, line + WORD_MAX - 1);
	line[WORD_MAX - 1] = 'x';
	line[WORD_MAX] = '\0';
	at = line;
	assert_null(words_next(&at, word));
	assert_ptr_equal(at, line);
}

static void test_number(void **state)
{
	uint64_t number;
	const char *at = "7 8 0x9 -1 18446744073709551615 18446744073709551616";

	(void)state;
	assert_true(words_number(&at, 7, &number));
	assert_int_equal(number, 7);
	assert_false(words_number(&at, 7, &number));
	assert_false(words_number(&at, 100, &number));
	assert_false(words_number(&at, 100, &number));
	assert_true(words_number(&at, UINT64_MAX, &number));
	assert_true(number == UINT64_MAX);
	assert_false(words_number(&at, UINT64_MAX, &number));
	assert_false(words_number(&at, UINT64_MAX, &number));
}

static void assert_clean(const char *text, size_t length, const char *expected)
{
	char out[64];

	assert_int_equal(words_clean(out, sizeof(out), text, length), strlen(expected));
	assert_string_equal(out, expected);
}

static void test_clean(void **state)
{
	(void)state;
	assert_clean("plain", 5, "plain");
	assert_clean("a\0b", 3, "a?b");
	assert_clean("\x08\t\n\v\f\r\x0e", 7, "?     ?");
	assert_clean("\x1f ~\x7f", 4, "? ~?");
	assert_clean("\xff", 1, UTF8_REPLACEMENT);
	/* A character that is cut off: each byte of it is invalid. */
	assert_clean("\xe2\x82", 2, UTF8_REPLACEMENT UTF8_REPLACEMENT);
	assert_clean("\xe2\x82\xacx", 4, "\xe2\x82\xacx");
	assert_clean("a\xc2\x85z", 4, "a?z"); /* a control character of two bytes */
}

static void test_fits(void **state)
{
	char out[8];

	(void)state;
	assert_int_equal(words_clean(out, 4, "abcd", 4), 3);
	assert_string_equal(out, "abc");
	assert_int_equal(words_clean(out, 5, "abcd", 4), 4);
	assert_string_equal(out, "abcd");
	/* Three bytes, or none of them. */
	assert_int_equal(words_clean(out, 4, "a\xe2\x82\xac", 4), 1);
	assert_string_equal(out, "a");
	assert_int_equal(words_clean(out, 5, "a\xe2\x82\xac", 4), 4);
	assert_int_equal(words_clean(out, 1, "a", 1), 0);
	assert_string_equal(out, "");
}

static void assert_copy(const char *text, size_t length, size_t most, const char *expected)
{
	char *copy = words_copy(text, length, most);

	assert_string_equal(copy, expected);
	free(copy);
}

static void test_copy(void **state)
{
	(void)state;
	assert_copy("abcdef", 6, 6, "abcdef");
	assert_copy("abcdef", 6, 5, "abcde");
	assert_copy("abcdef", 6, 1000, "abcdef");
	assert_copy("", 0, 10, "");
	assert_copy("\xff\xff", 2, 6, UTF8_REPLACEMENT UTF8_REPLACEMENT);
	assert_copy("\xff\xff", 2, 7, UTF8_REPLACEMENT UTF8_REPLACEMENT);
	assert_copy("\xff\xff", 2, 5, UTF8_REPLACEMENT);
	assert_copy("\xff\xff\xff", 3, 10, UTF8_REPLACEMENT UTF8_REPLACEMENT UTF8_REPLACEMENT);
}

static void test_utf8(void **state)
{
	static const struct {
		const char *text;
		size_t left, length;
		uint32_t code;
	} cases[] = {
		{"", 1, 1, 0},
		{"\x7f", 1, 1, 0x7f},
		{"\x80", 1, 0, 0},
		{"\xbf", 1, 0, 0},
		{"\xc1\xbf", 2, 0, 0}, /* overlong */
		{"\xc2\x80", 2, 2, 0x80},
		{"\xc2\x80", 1, 0, 0},
		{"\xdf\xbf", 2, 2, 0x7ff},
		{"\xdf\xc0", 2, 0, 0},
		{"\xdf\x7f", 2, 0, 0},
		{"\xe0\x9f\xbf", 3, 0, 0},
		{"\xe0\xa0\x80", 3, 3, 0x800},
		{"\xed\x9f\xbf", 3, 3, 0xd7ff},
		{"\xed\xa0\x80", 3, 0, 0}, /* surrogates */
		{"\xed\xbf\xbf", 3, 0, 0},
		{"\xee\x80\x80", 3, 3, 0xe000},
		{"\xef\xbf\xbf", 3, 3, 0xffff},
		{"\xef\xbf\xbf", 2, 0, 0},
		{"\xf0\x8f\xbf\xbf", 4, 0, 0},
		{"\xf0\x90\x80\x80", 4, 4, 0x10000},
		{"\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff},
		{"\xf4\x90\x80\x80", 4, 0, 0},
		{"\xf5\x80\x80\x80", 4, 0, 0},
		{"\xf8\x80\x80\x80", 4, 0, 0},
		{"\xf0\x90\x80\x00", 4, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t code = 0;

		assert_int_equal(utf8_next(cases[i].text, cases[i].left, &code), cases[i].length);
		assert_int_equal(code, cases[i].code);
	}
}

static void test_shows(void **state)
{
	static const struct {
		uint32_t first, last; /* do not show; those beside them do */
	} hidden[] = {
		{0x7f, 0x9f}, {0x61c, 0x61c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};

	(void)state;
	assert_false(utf8_shows(0));
	assert_false(utf8_shows(0x1f));
	assert_true(utf8_shows(0x20));
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		assert_true(utf8_shows(hidden[i].first - 1));
		for (uint32_t code = hidden[i].first; code <= hidden[i].last; code++)
			assert_false(utf8_shows(code));
		assert_true(utf8_shows(hidden[i].last + 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next),  cmocka_unit_test(test_number),
		cmocka_unit_test(test_clean), cmocka_unit_test(test_fits),
		cmocka_unit_test(test_copy),  cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_shows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
