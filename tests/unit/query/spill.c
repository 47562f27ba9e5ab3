/* Bytes that go to a file when there are many: what comes out is what went in, with a file and
 * without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "collector/query/sweep/spill.h"

#define MOST (5u << 20)

static uint8_t whole[MOST];

static void fill(size_t total, size_t piece, bool in_memory)
{
	struct spill s;
	const uint8_t *data;
	size_t at = 0;

	spill_init(&s);
	while (at < total) {
		size_t n = 1 + (size_t)random() % piece;

		n = n < total - at ? n : total - at;
		assert_int_equal(spill_append(&s, whole + at, n), 0);
		at += n;
		assert_int_equal(s.length, at);
	}
	assert_int_equal(spill_append(&s, NULL, 0), 0);
	assert_int_equal(spill_read(&s, &data, NULL), 0);
	assert_int_equal(s.fd < 0, in_memory);
	assert_true(!total || !memcmp(data, whole, total));
	spill_done(&s);
	spill_done(&s);
}

static void test_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < MOST; i++)
		whole[i] = (uint8_t)random();
	for (unsigned i = 0; i < 2; i++) {
		bool no_file = i == 1;

		if (no_file)
			setenv("TMPDIR", "/nowhere/at/all", 1);
		fill(0, 1, true);
		fill(1000, 100, true);
		fill(1u << 20, 100000, true);
		fill((1u << 20) + 1, 100000, no_file);
		fill(MOST, 300000, no_file);
		fill(MOST, 4u << 20, no_file);
		fill(MOST, MOST, no_file);
	}
	unsetenv("TMPDIR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
