/* What was probably meant by a name that does not exist. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/nearest.h"

static const char *const names[] = {"top", "list", "ledger", "leaks", "memory-limit", "mode"};

static void expect(const char *typed, const char *meant)
{
	struct nearest n;

	nearest_begin(&n, typed, strlen(typed));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		nearest_try(&n, names[i]);
	if (meant)
		assert_string_equal(n.found, meant);
	else
		assert_null(n.found);
}

static void test_nearest(void **state)
{
	char endless[4096];

	(void)state;
	expect("lsit", "list"); /* exchanged */
	expect("tp", "top");	/* left out */
	expect("ledgerr", "ledger");
	expect("node", "mode");
	expect("memroy-limti", "memory-limit");
	expect("mem", "memory-limit"); /* a beginning */
	expect("le", "ledger");	       /* the first of several */
	expect("m", NULL);
	expect("", NULL);
	expect("quit", NULL);
	expect("ladder", "ledger");
	expect("lst-of-all", NULL);
	memset(endless, 'm', sizeof(endless));
	endless[sizeof(endless) - 1] = '\0';
	expect(endless, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
