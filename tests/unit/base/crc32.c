/* The checksum against the value that the standard's catalogues give for it, whole and in pieces.
 */
#include "base/crc32.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void known_values(void **state)
{
	static const char fox[] = "The quick brown fox jumps over the lazy dog";

	(void)state;
	assert_int_equal(crc32_add(0, "123456789", 9), 0xcbf43926);
	assert_int_equal(crc32_add(0, fox, sizeof(fox) - 1), 0x414fa339);
	assert_int_equal(crc32_add(0, "", 0), 0);
	assert_int_equal(crc32_add(0, "\0\0\0\0", 4), 0x2144df1c);
	assert_int_equal(crc32_add(0, "\xff\xff\xff\xff", 4), 0xffffffff);
}

static void pieces(void **state)
{
	(void)state;
	for (size_t first = 0; first <= 9; first++)
		assert_int_equal(
			crc32_add(crc32_add(0, "123456789", first), "123456789" + first, 9 - first),
			0xcbf43926);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
