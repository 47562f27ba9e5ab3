/* Sentences for people: set, prefixed, cut, absent. */
#include "base/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_sentence_is_kept(void **state)
{
	struct err_text err = {0};

	(void)state;
	assert_int_equal(err_set(&err, -ENOENT, "can't open %s", "x"), -ENOENT);
	assert_string_equal(err_get(&err, -ENOENT), "can't open x");
}

static void nobody_listening_is_fine(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, -EIO, "%d", 1), -EIO);
	assert_int_equal(err_prefix(NULL, -EIO, "%d", 1), -EIO);
	assert_string_equal(err_get(NULL, -ENOENT), strerror(ENOENT));
}

static void without_a_sentence_the_errno_speaks(void **state)
{
	struct err_text err = {0};

	(void)state;
	assert_string_equal(err_get(&err, -EACCES), strerror(EACCES));
	err_prefix(&err, -EACCES, "reading %s", "f");
	assert_string_equal(err_get(&err, -EACCES), "reading f: Permission denied");
}

/* The shortest sentence and the shortest prefix are there, too. */
static void short_texts(void **state)
{
	struct err_text err = {0};

	(void)state;
	err_set(&err, -EIO, "x");
	assert_string_equal(err_get(&err, -EIO), "x");
	err_prefix(&err, -EIO, "y");
	assert_string_equal(err.text, "y: x");
	err_prefix(&err, -EIO, "%s", "");
	assert_string_equal(err.text, ": y: x");
}

static void prefixes_stack_up(void **state)
{
	struct err_text err = {0};

	(void)state;
	err_set(&err, -EBADMSG, "no frame");
	err_prefix(&err, -EBADMSG, "byte %d", 7);
	err_prefix(&err, -EBADMSG, "a.heapcast");
	assert_string_equal(err.text, "a.heapcast: byte 7: no frame");
}

static void long_texts_are_cut(void **state)
{
	struct err_text err = {0};
	char text[2000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	err_set(&err, -1, "%s", text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	err_prefix(&err, -1, "%s", text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	err_set(&err, -1, "end");
	err_prefix(&err, -1, "%.505s", text);
	assert_int_equal(strlen(err.text), 510);
	assert_string_equal(err.text + 505, ": end");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sentence_is_kept),
		cmocka_unit_test(nobody_listening_is_fine),
		cmocka_unit_test(short_texts),
		cmocka_unit_test(prefixes_stack_up),
		cmocka_unit_test(without_a_sentence_the_errno_speaks),
		cmocka_unit_test(long_texts_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
