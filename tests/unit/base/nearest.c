/* What was probably meant by a name that does not exist. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/exponential.h"
#include "base/cli/nearest.h"

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

/* The same by its definition: the whole matrix. */
static unsigned distance(const char *a, size_t m, const char *b, size_t n)
{
	static unsigned d[80][80];

	for (size_t i = 0; i <= m; i++)
		for (size_t k = 0; k <= n; k++) {
			unsigned best = i ? k ? UINT32_MAX : (unsigned)i : (unsigned)k;

			if (i && d[i - 1][k] + 1 < best)
				best = d[i - 1][k] + 1;
			if (k && d[i][k - 1] + 1 < best)
				best = d[i][k - 1] + 1;
			if (i && k && d[i - 1][k - 1] + (a[i - 1] != b[k - 1]) < best)
				best = d[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
			    d[i - 2][k - 2] + 1 < best)
				best = d[i - 2][k - 2] + 1;
			d[i][k] = best;
		}
	return d[m][n];
}

/* Words of two letters, of all lengths, many of them near to each other. */
static void test_against_definition(void **state)
{
	uint64_t random = 1;
	unsigned near = 0;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		char typed[80], other[80];
		size_t m = random_next(&random) % (round % 10 ? 14 : 70), n = m;
		unsigned most = m < 6 ? 1 : m < 12 ? 2 : 3, is;
		struct nearest found;

		for (size_t i = 0; i < sizeof(typed); i++)
			typed[i] = other[i] = random_next(&random) % 3 ? 'a' : 'b';
		for (unsigned change = 0; change < round % 5; change++) {
			size_t at = random_next(&random) % (m + 1);

			other[at] = (char)('a' + random_next(&random) % 3);
			if (random_next(&random) % 2)
				memmove(other + at, other + at + 1, sizeof(other) - at - 1);
			n = random_next(&random) % 4 || !n ? n : n - 1;
		}
		typed[m] = other[n] = '\0';
		is = distance(typed, m, other, n);
		if (m >= 2 && n >= m && !memcmp(typed, other, m))
			is = 0;
		else if (m > 64 || n > 64)
			is = most + 1;
		nearest_begin(&found, typed, m);
		nearest_try(&found, other);
		assert_ptr_equal(found.found, is <= most ? other : NULL);
		assert_int_equal(found.least, is <= most ? is : most + 1);
		near += is <= most;
	}
	assert_true(near > 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_against_definition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
