/* Suppression files of LeakSanitizer: every form of a line, every form of a pattern against a
 * simple reference. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/query/suppress.h"

/* Does the pattern up to `end` fit the whole text? */
static bool whole_fits(const char *pattern, const char *end, const char *text)
{
	if (pattern == end)
		return !*text;
	if (*pattern == '*')
		return whole_fits(pattern + 1, end, text) ||
		       (*text && whole_fits(pattern, end, text + 1));
	return *text == *pattern && whole_fits(pattern + 1, end, text + 1);
}

/* The same question in other words: without an anchor, any text may stand there. */
static bool reference(const char *pattern, const char *text)
{
	char all[32] = "";
	size_t length = strlen(pattern);
	bool start = length && pattern[0] == '^';
	bool stop = length > start && pattern[length - 1] == '$';

	snprintf(all, sizeof(all), "%s%.*s%s", start ? "" : "*", (int)(length - start - stop),
		 pattern + start, stop ? "" : "*");
	return *text && whole_fits(all, all + strlen(all), text);
}

/* Writes the number `n` in the digits `letters`. */
static void word_of(unsigned n, const char *letters, char out[8])
{
	unsigned base = (unsigned)strlen(letters), length = 0;

	for (; n; n = (n - 1) / base)
		out[length++] = letters[(n - 1) % base];
	out[length] = 0;
}

static void test_patterns(void **state)
{
	char pattern[8], text[8];

	(void)state;
	for (unsigned p = 0; p < 3905; p++)
		for (unsigned t = 0; t < 63; t++) {
			word_of(p, "ab*^$", pattern);
			word_of(t, "ab", text);
			if (suppression_fits(pattern, text) != reference(pattern, text))
				fail_msg("\"%s\" and \"%s\"", pattern, text);
		}
}

static int read_text(const char *text, size_t length, size_t *ret_count, size_t *ret_ignored,
		     struct err_text *err)
{
	struct suppressions *s = suppressions_new(false);
	const char *first;
	int r;

	assert_non_null(s);
	r = suppressions_add(s, "file", text, length, err);
	*ret_count = suppressions_count(s);
	*ret_ignored = suppressions_ignored(s, &first);
	suppressions_free(s);
	return r;
}

static void test_lines(void **state)
{
	static const char text[] = "# of ours\n\n  leak:one  \r\nrace:two\nleak:with space\n"
				   "\t# more\nsignal:three\nleak:no end of line";
	size_t count, ignored;
	struct err_text err = {0};

	(void)state;
	assert_int_equal(read_text(text, sizeof(text) - 1, &count, &ignored, &err), 0);
	assert_int_equal(count, 3);
	assert_int_equal(ignored, 2);
	assert_int_equal(read_text("", 0, &count, &ignored, &err), 0);
	assert_int_equal(count, 0);
}

static void suppress_refused(const char *text, size_t length, int error, const char *says)
{
	size_t count, ignored;
	struct err_text err = {0};

	assert_int_equal(read_text(text, length, &count, &ignored, &err), error);
	if (!strstr(err.text, says))
		fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

static void test_malformed(void **state)
{
	char *large = malloc(1 << 20);

	(void)state;
	suppress_refused("leak:a\nnonsense\n", 16, -EINVAL, "file, line 2: \"nonsense\"");
	suppress_refused("leak:\n", 6, -EINVAL, "line 1");
	suppress_refused(":x", 2, -EINVAL, "line 1");
	suppress_refused("leak:a\0b\n", 9, -EINVAL, "NUL");
	assert_non_null(large);
	memset(large, 'x', 1 << 20);
	memcpy(large, "leak:", 5);
	suppress_refused(large, 1 << 20, -E2BIG, "line 1: a pattern has at most 4096 bytes");
	free(large);
}

static void test_files(void **state)
{
	struct suppressions *s = suppressions_new(true);
	struct err_text err = {0};

	(void)state;
	assert_non_null(s);
	assert_int_equal(suppressions_read(s, "/", &err), -EISDIR);
	assert_int_equal(suppressions_read(s, "/nowhere/at/all", &err), -ENOENT);
	assert_int_equal(suppressions_read(s, "/dev/zero", &err), -E2BIG);
	assert_int_equal(suppressions_read(s, "/dev/null", &err), 0);
	suppressions_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
