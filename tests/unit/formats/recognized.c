/* Which format a file is of is told by its beginning: bytes of no format are taken for none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "collector/formats/formats.h"
#include "collector/formats/read/reader.h"

#define HEAD   4096
#define NOISES 20000

static bool pprof(const void *bytes, size_t length)
{
	return pprof_reader.is(bytes, length);
}

/* xorshift (Marsaglia 2003): the same bytes in every run. */
static uint64_t next_of(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	return *x ^= *x << 17;
}

static void noise_is_of_no_format(void **state)
{
	static uint64_t noise[HEAD / 8];
	uint64_t x = 88172645463325252u;

	(void)state;
	for (size_t n = 0; n < NOISES; n++) {
		for (size_t i = 0; i < HEAD / 8; i++)
			noise[i] = next_of(&x);
		for (const struct format *f = formats; f->name; f++)
			if (f->reader && f->reader->is((const uint8_t *)noise, HEAD))
				fail_msg("noise %zu is taken for %s", n, f->name);
	}
}

/* The fields of profile.proto: sample_type {1, 2}, sample {location_id 1, value 5}, string "". */
#define SAMPLE_TYPE "\x0a\x04\x08\x01\x10\x02"
#define SAMPLE	    "\x12\x06\x0a\x01\x01\x12\x01\x05"
#define STRING	    "\x32\x00"
#define TEXT(s)	    s, sizeof s - 1

static void a_profile_is_told_by_its_fields(void **state)
{
	(void)state;
	assert_true(pprof(TEXT(SAMPLE_TYPE SAMPLE STRING)));
	assert_true(pprof(TEXT(STRING SAMPLE_TYPE)));
	assert_true(pprof(TEXT(STRING "\x48\x90\x03"))); /* time_nanos */
	assert_true(
		pprof(TEXT(STRING "\x68\x01\x6a\x02\x01\x02"))); /* comments, alone and packed */
	assert_true(pprof(TEXT(STRING)));
	/* The third one goes on behind what is known. */
	assert_true(pprof(TEXT(SAMPLE_TYPE STRING "\x32\x80\x40xyz")));
	assert_true(pprof(TEXT(SAMPLE_TYPE STRING "\x48\x90")));
}

static void other_bytes_are_no_profile(void **state)
{
	(void)state;
	assert_false(pprof("", 0));
	assert_false(pprof(TEXT("2; 5\n")));
	/* A field of a number that profile.proto does not have, or of another type. */
	assert_false(pprof(TEXT(SAMPLE_TYPE STRING "\x82\x01\x00")));
	assert_false(pprof(TEXT(SAMPLE_TYPE STRING "\x30\x01")));
	assert_false(pprof(TEXT(SAMPLE_TYPE STRING "\x4a\x00")));
	assert_false(pprof(TEXT(SAMPLE_TYPE STRING "\x0d\x01\x02\x03\x04")));
	/* No message in a field that holds one. */
	assert_false(pprof(TEXT(STRING "\x0a\x02\x01\x01")));
	assert_false(pprof(TEXT(STRING "\x0a\x03\x82\x01\x01")));
	/* One field, and what may be the beginning of anything. */
	assert_false(pprof(TEXT("\x48\x90")));
	assert_false(pprof(TEXT(STRING "\x32\x80\x40xyz")));
	assert_false(pprof(TEXT(SAMPLE_TYPE STRING "\x33")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(noise_is_of_no_format),
		cmocka_unit_test(a_profile_is_told_by_its_fields),
		cmocka_unit_test(other_bytes_are_no_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
