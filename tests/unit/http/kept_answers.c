/* Answers that are kept: the same for the same question, never for another one, in bounds, and none
 * once they are dropped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "collector/http/server/kept_answers.h"

static char *question(const char *route, const char *const *parameters)
{
	struct request request;
	char *text;

	assert_int_equal(asked_init(&request, route), 0);
	for (; *parameters; parameters++)
		assert_int_equal(asked_add(&request, *parameters), 0);
	text = kept_question(route, &request);
	assert_non_null(text);
	asked_done(&request);
	return text;
}

static void put(struct kept_answers *kept, const char *text, const char *body, size_t length)
{
	struct buf b = {0};

	buf_append(&b, body, length);
	kept_answers_put(kept, text, &b);
	buf_done(&b);
}

static bool has(struct kept_answers *kept, const char *text, const char *body)
{
	struct buf b = {0};
	bool got = kept_answers_get(kept, text, &b);

	if (got)
		assert_string_equal(buf_text(&b), body);
	buf_done(&b);
	return got;
}

/* What parameters hold can't make one question look like another. */
static void questions_differ(void **state)
{
	static const char *const parameters[][3] = {
		{NULL},
		{"a=1", NULL},
		{"a=1", "b=2", NULL},
		{"a=1&b=2", NULL},
		{"a=1&3,1:b=2", NULL},
		{"b=2", "a=1", NULL},
		{"a=", NULL},
		{"a", "=1", NULL},
	};
	enum { COUNT = sizeof(parameters) / sizeof(*parameters) };
	char *text[COUNT + 1];

	(void)state;
	for (unsigned i = 0; i < COUNT; i++)
		text[i] = question("timeline", parameters[i]);
	text[COUNT] = question("report", parameters[0]);
	for (unsigned i = 0; i <= COUNT; i++)
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(text[i], text[k]);
	for (unsigned i = 0; i <= COUNT; i++)
		free(text[i]);
}

static void kept_until_dropped(void **state)
{
	struct kept_answers kept;

	(void)state;
	kept_answers_init(&kept);
	assert_false(has(&kept, "a", ""));
	put(&kept, "a", "one", 3);
	put(&kept, "b", "two", 3);
	assert_true(has(&kept, "a", "one"));
	put(&kept, "a", "another", 7);
	assert_true(has(&kept, "a", "another"));
	assert_true(has(&kept, "b", "two"));
	assert_int_equal(kept.bytes, 10);
	kept_answers_clear(&kept);
	assert_false(has(&kept, "a", ""));
	assert_int_equal(kept.bytes, 0);
	kept_answers_done(&kept);
}

/* The one that was asked for longest ago makes room, for one more and for one that is large. */
static void bounded(void **state)
{
	struct kept_answers kept;
	char *large = calloc(1, KEPT_ANSWER_BYTES_MAX + 1), name[16];

	(void)state;
	assert_non_null(large);
	kept_answers_init(&kept);
	for (unsigned i = 0; i < KEPT_ANSWERS; i++) {
		snprintf(name, sizeof(name), "%u", i);
		put(&kept, name, "x", 1);
	}
	assert_true(has(&kept, "0", "x"));
	put(&kept, "new", "y", 1);
	assert_true(has(&kept, "0", "x"));
	assert_false(has(&kept, "1", ""));
	put(&kept, "too large", large, KEPT_ANSWER_BYTES_MAX + 1);
	assert_false(has(&kept, "too large", ""));
	for (unsigned i = 0; i < 2 * KEPT_ANSWERS_BYTES_MAX / KEPT_ANSWER_BYTES_MAX; i++) {
		snprintf(name, sizeof(name), "large %u", i);
		put(&kept, name, large, KEPT_ANSWER_BYTES_MAX);
		assert_true(kept.bytes <= KEPT_ANSWERS_BYTES_MAX);
	}
	assert_true(has(&kept, name, ""));
	kept_answers_done(&kept);
	free(large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(questions_differ),
		cmocka_unit_test(kept_until_dropped),
		cmocka_unit_test(bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
