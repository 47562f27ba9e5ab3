/* Conditions: what they mean, and where their errors point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/query/match/gate.h"

static const struct gate_value values[] = {
	{"leaked_bytes", 2 << 20}, {"leaked_blocks", 7}, {"peak_at", 90},
	{"delta_percent", -12.5},  {"freed_bytes", 100}, {"freed_blocks", 3},
	{"recent_bytes", 200},	   {"recent_blocks", 4}, {NULL, 0}};

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
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err_text err = {0};
		bool is_true = !cases[i].is_true;

		if (gate_evaluate(cases[i].text, values, &is_true, &err) < 0)
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
		{"leaked_bytes", 13, "comparison"},
		{"leaked_bytes >", 15, "missing at the end"},
		{"leaked_bytes > 1Q", 17, "unit"},
		{"leaked > 1M", 1, "leaked_bytes, leaked_blocks"},
		{"leaked_bytes > 1M leaked_blocks > 1", 19, "\"and\""},
		{"(leaked_bytes > 1M", 19, "bracket"},
		{"leaked_bytes > 1.2.3", 16, "no number"},
		{"leaked_bytes > #", 16, "name or a number"},
		{"leaked_bytes > 1M and", 22, "missing at the end"},
	};
	char brackets[201];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err_text err = {0};
		char position[32];
		bool is_true;

		snprintf(position, sizeof(position), "character %d of", cases[i].position);
		assert_true(gate_evaluate(cases[i].text, values, &is_true, &err) < 0);
		if (!strstr(err.text, position) || !strstr(err.text, cases[i].says))
			fail_msg("%s: %s", cases[i].text, err.text);
	}
	memset(brackets, '(', sizeof(brackets) - 1);
	brackets[sizeof(brackets) - 1] = 0;
	assert_true(gate_evaluate(brackets, values, &(bool){false}, NULL) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_meaning),
					   cmocka_unit_test(test_errors)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
