/* Modes as people write them, and lines of words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/words.h"
#include "proto/mode.h"
#include "proto/ring.h"

static void modes(void **state)
{
	static const struct {
		const char *text;
		int mode;
		uint64_t interval;
	} good[] = {{"full", RING_FULL, 0},	  {"off", RING_OFF, 0},
		    {"sample", RING_SAMPLE, 0},	  {"sample=64K", RING_SAMPLE, 65536},
		    {"sample=1", RING_SAMPLE, 1}, {"sample=4G", RING_SAMPLE, RING_INTERVAL_MAX}};
	static const char *const bad[] = {"",	       "Full",	    "sample=", "sample=0",
					  "sample=5G", "sample=-1", "samples", "off=1"};
	uint64_t interval;
	char text[40];
	int mode;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(mode_parse(good[i].text, &mode, &interval), 0);
		assert_int_equal(mode, good[i].mode);
		assert_int_equal(interval, good[i].interval);
		assert_string_equal(mode_text(text, sizeof(text), mode, interval), good[i].text);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(mode_parse(bad[i], &mode, &interval) < 0);
}

static void words(void **state)
{
	const char *at = "first 12 00x ";
	char word[WORD_MAX], wide[WORD_MAX + 8];
	uint64_t number;

	(void)state;
	assert_string_equal(words_next(&at, word), "first");
	assert_false(words_number(&at, 11, &number));
	assert_false(words_number(&at, 11, &number)); /* 00x */
	assert_null(words_next(&at, word));
	at = "two  blanks";
	assert_true(words_is_next(&at, "two"));
	assert_null(words_next(&at, word));
	memset(wide, 'x', sizeof(wide));
	wide[sizeof(wide) - 1] = '\0';
	at = wide;
	assert_null(words_next(&at, word));
}

static void clean_text(void **state)
{
	char out[16];

	(void)state;
	assert_int_equal(words_clean(out, sizeof(out), "a\tb\n\x7f", 5), 5);
	assert_string_equal(out, "a b ?");
	words_clean(out, sizeof(out), "\xff\xc3\xbc\xc2\x85",
		    5); /* no character, u umlaut, a control character */
	assert_string_equal(out, "\xef\xbf\xbd\xc3\xbc?");
	assert_int_equal(words_clean(out, 5, "abc\xc3\xbcx", 6), 3); /* cut between characters */
	assert_string_equal(out, "abc");
	assert_int_equal(words_clean(out, sizeof(out), "", 0), 0);
}

static void cleans_text(void **state)
{
	static const struct {
		const char *from, *to;
	} texts[] = {
		{"plain", "plain"},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"\x1b[31m", "?[31m"},
		{"a\nb\x7f", "a b?"},
		{"\xc2\x9b"
		 "31m",
		 "?31m"}, /* CSI, one character */
		{"a\xe2\x80\xae"
		 "b\xe2\x81\xa6\xd8\x9c\xe2\x80\x8f",
		 "a?b???"},				  /* what turns the direction */
		{"\xe2\x80\xa8", "?"},			  /* LINE SEPARATOR */
		{"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"}, /* overlong */
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogate */
		{"x\xe2\x82", "x\xef\xbf\xbd\xef\xbf\xbd"},		  /* cut off */
		{"\xf5\x80\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		words_clean(out, sizeof(out), texts[i].from, strlen(texts[i].from));
		assert_string_equal(out, texts[i].to);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes),
		cmocka_unit_test(words),
		cmocka_unit_test(clean_text),
		cmocka_unit_test(cleans_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
