/* Conditions: what they mean, and where their errors point. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/sql/sql.h"

static const struct sql_named values[] = {
	{"leaked_bytes", 2 << 20}, {"leaked_blocks", 7}, {"peak_at", 90},
	{"delta_percent", -12.5},  {"freed_bytes", 100}, {"freed_blocks", 3},
	{"recent_bytes", 200},	   {"recent_blocks", 4}, {"zero", 0},
	{"endless", INFINITY},	   {"undefined", NAN},	 {NULL, 0}};

static int evaluate(const char *text, bool *ret_true, struct err_text *err)
{
	char unknown[SQL_NAME_MAX];

	return sql_condition(text, values, ret_true, unknown, err);
}

static void test_meaning(void **state)
{
	static const struct {
		const char *text;
		bool is_true;
	} cases[] = {
		{"leaked_bytes>1M", true},
		{"leaked_bytes > 2M", false},
		{"leaked_bytes >= 2MiB", true},
		{"leaked_bytes = 2097152", true},
		{"leaked_bytes==2048K", true},
		{"leaked_bytes != 2M", false},
		{"leaked_blocks < 7.5", true},
		{"1G<leaked_bytes", false},
		{"peak_at > 1m", true},
		{"peak_at > 1500ms and peak_at < 1h", true},
		{"delta_percent < -10%", true},
		{"leaked_blocks > 9 or leaked_bytes > 1M", true},
		{"leaked_blocks > 9 or leaked_bytes > 1M and leaked_blocks > 9", false},
		{"(leaked_blocks > 6 || leaked_bytes < 1M) && leaked_blocks < 9", true},
		{"not leaked_blocks > 9", true},
		{"!(leaked_blocks = 7)", false},
		{"  leaked_blocks\t>  leaked_bytes ", false},
		/* former names */
		{"temporary_bytes = freed_bytes and temporary_blocks = freed_blocks", true},
		{"young_bytes = recent_bytes and young_blocks = recent_blocks", true},
		/* spellings beside SQL, where they could be something else */
		{"10% > delta_percent", true},
		{"(delta_percent < -10%)", true},
		{"case when delta_percent < 10% then 1 else 0 end", true},
		{"leaked_blocks % 4 = 3 and 7%4 = 3", true},
		{"!leaked_blocks > 9", true},
		{"leaked_blocks!=7", false},
		{"leaked_bytes = 2.097152e6", true},
		{"leaked_blocks = 0x7", true},
		{"leaked_blocks = .7e+1", true},
		{"'1M && 2' = '1M && ' || 1", true},
		{"leaked_bytes > 1M -- and this is why", true},
		{"LEAKED_BLOCKS = 7 AND NOT Peak_At < 1M", false},
		/* SQL */
		{"leaked_blocks", true},
		{"zero", false},
		{"leaked_bytes / leaked_blocks between 290K and 300K", true},
		{"leaked_blocks / 2 = 3.5", true},
		{"max(freed_bytes, recent_bytes) = 200", true},
		{"abs(delta_percent) in (12.5, 13)", true},
		{"leaked_bytes / zero > 1", false},
		{"leaked_bytes / zero is null", true},
		{"endless > 1T", true},
		{"undefined > 1 or undefined <= 1", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err_text err = {0};
		bool is_true = !cases[i].is_true;

		if (evaluate(cases[i].text, &is_true, &err) < 0)
			fail_msg("%s", err.text);
		if (is_true != cases[i].is_true)
			fail_msg("%s", cases[i].text);
	}
}

static void test_errors(void **state)
{
	static const struct {
		const char *text;
		int position;
		const char *says;
	} cases[] = {
		{"", 1, "missing at the end"},
		{"leaked_bytes >", 15, "missing at the end"},
		{"leaked_bytes > 1M and", 22, "missing at the end"},
		{"(leaked_bytes > 1M", 19, "missing at the end"},
		{"leaked_bytes > 1Q", 17, "unit"},
		{"leaked > 1M", 1, "no \"leaked\" here"},
		{"leaked_blocks > 9 and 1M > leakd", 28, "no \"leakd\" here"},
		{"leaked_blocks > 9 && \"leakd\" > 1", 22, "no \"leakd\" here"},
		{"leaked_bytes > 1M leaked_blocks > 1", 19, "expect \"leaked_blocks > 1\""},
		{"leaked_bytes > 1M && > 1", 22, "expect \"> 1\""},
		{"leaked_bytes > 1.2.3", 16, "no number"},
		{"leaked_bytes > #", 16, "name or a number"},
		{"leaked_bytes > $LIMIT", 16, "name or a number"},
		{"leaked_bytes > ^", 16, "expect \"^\""},
		{"leaked_bytes > 1M and size('x')", 23, "no such function: size"},
		{"leaked_bytes > 'x", 0, "not closed"},
		{"1) or (leaked_bytes > 1", 0, "ends too early, at ') or"},
		{"1; select 1", 0, "ends too early, at '; select"},
		{"leaked_bytes > (select 1 from allocations)", 0, "no such table: allocations"},
		{"leaked_bytes > (select 1 from sqlite_dbpage)", 0, "sqlite_dbpage"},
	};
	char brackets[201];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err_text err = {0};
		char position[32];
		bool is_true;

		snprintf(position, sizeof(position), "character %d of", cases[i].position);
		assert_true(evaluate(cases[i].text, &is_true, &err) < 0);
		if ((cases[i].position && !strstr(err.text, position)) ||
		    !strstr(err.text, cases[i].says))
			fail_msg("%s: %s", cases[i].text, err.text);
	}
	memset(brackets, '(', sizeof(brackets) - 1);
	brackets[sizeof(brackets) - 1] = 0;
	assert_true(evaluate(brackets, &(bool){false}, &(struct err_text){0}) < 0);
}

static void test_unknown(void **state)
{
	char unknown[SQL_NAME_MAX] = "";
	bool is_true;

	(void)state;
	assert_int_equal(sql_condition("1M < \"leaked_bites\"", values, &is_true, unknown,
				       &(struct err_text){0}),
			 -ENOENT);
	assert_string_equal(unknown, "leaked_bites");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_meaning),
					   cmocka_unit_test(test_errors),
					   cmocka_unit_test(test_unknown)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
