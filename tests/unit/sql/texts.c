/* instr, replace and trim are SQLite's own, asked of a database without ours; and what would take
 * SQLite's hours ends in time. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/error.h"
#include "collector/sql/sql.h"
#include "tests/unit/query/recording.h"

#define ANSWER_MAX 400

static struct test_recording t;
static struct sql *sql;

static int open_session(void **state)
{
	const struct sql_limits limits = {.time_ns = 20000000000u};
	struct err_text err = {0};

	(void)state;
	test_random_recording(&t, 31, 50, false);
	return sql_open(t.view, &limits, &sql, &err);
}

static int close_session(void **state)
{
	(void)state;
	sql_close(sql);
	test_close(&t);
	return 0;
}

static int begin(void *context, unsigned columns, const char *const *names)
{
	(void)context;
	(void)columns;
	(void)names;
	return 0;
}

static int keep(void *context, unsigned columns, const struct sql_value *values)
{
	(void)columns;
	assert_int_equal(values[0].kind, SQL_STRING);
	snprintf(context, ANSWER_MAX, "%s", values[0].text);
	return 0;
}

static int end(void *context, bool cut)
{
	(void)context;
	(void)cut;
	return 0;
}

static int ask(const char *text, char *answer)
{
	struct sql_sink sink = {begin, keep, end, answer};
	struct err_text err = {0};

	return sql_run(sql, text, &sink, NULL, &err);
}

static void ask_plain(sqlite3 *db, const char *text, char *answer)
{
	sqlite3_stmt *statement;

	assert_int_equal(sqlite3_prepare_v2(db, text, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	snprintf(answer, ANSWER_MAX, "%s", (const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
}

static void test_same(void **state)
{
	static const char *const values[] = {
		"''",
		"'a'",
		"'abcabc'",
		"'  x  '",
		"'\xc3\xa4\xc3\xb6\xc3\xa4'",
		"'\xc3\xa4'",
		"'\xe2\x82\xac"
		"a'",
		"cast(x'a4' as text)",
		"x'a4'",
		"x'c3a4c3b6'",
		"cast(x'c3c3a4' as text)",
		"x''",
		"null",
		"1001",
		"-0.5",
		"'b'",
	};
	const size_t count = sizeof(values) / sizeof(values[0]);
	char text[600], expected[ANSWER_MAX], got[ANSWER_MAX];
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (size_t i = 0; i < count * count; i++) {
		const char *x = values[i / count], *y = values[i % count];

		snprintf(
			text, sizeof(text),
			"select quote(instr(%s, %s)) || quote(replace(%s, %s, 'zz')) || "
			"quote(replace(%s, %s, '')) || quote(trim(%s, %s)) || quote(ltrim(%s, %s)) "
			"|| quote(rtrim(%s, %s)) || quote(trim(%s)) || quote(ltrim(%s)) || "
			"quote(rtrim(%s))",
			x, y, x, y, x, y, x, y, x, y, x, y, x, x, x);
		ask_plain(db, text, expected);
		assert_int_equal(ask(text, got), 0);
		if (strcmp(expected, got) != 0)
			fail_msg("%s: expected %s, got %s", text, expected, got);
	}
	sqlite3_close(db);
}

/* SQLite's own would need minutes for each. */
static void test_long(void **state)
{
#define LONG "printf('%.1000000c', 'a')"
	char answer[ANSWER_MAX];

	(void)state;
	assert_int_equal(
		ask("select quote(instr(" LONG ", printf('%.500000c', 'a') || 'b'))", answer), 0);
	assert_string_equal(answer, "0");
	assert_int_equal(ask("select quote(length(replace(" LONG
			     ", printf('%.500000c', 'a') || 'b', 'c')))",
			     answer),
			 0);
	assert_string_equal(answer, "1000000");
	assert_int_equal(ask("select trim(" LONG ", printf('%.80000c', 'b') || 'a')", answer),
			 -EINVAL);
	assert_int_equal(
		ask("select replace(printf('%.2000c', 'a'), 'a', printf('%.1000c', 'b'))", answer),
		-EINVAL);
	assert_int_equal(ask("select json_patch('{}', '{}')", answer), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests_name("sql texts", tests, open_session, close_session);
}
