/* Numbers as people write them, there and back. */
#include "base/parse.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct sample {
	const char *text;
	int result;
	uint64_t value;
};

static void check(int (*parse)(const char *, uint64_t *), const struct sample *samples,
		  size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = 12345;
		int r = parse(samples[i].text, &value);

		if (r != samples[i].result || value != (r ? 12345 : samples[i].value))
			fail_msg("\"%s\" gives %d and %llu", samples[i].text, r,
				 (unsigned long long)value);
	}
}

static void plain_numbers(void **state)
{
	static const struct sample samples[] = {
		{"0", 0, 0},
		{"17", 0, 17},
		{"0x1F", 0, 31},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"1x", -EINVAL, 0},
		{"0x", -EINVAL, 0},
	};

	(void)state;
	check(parse_u64, samples, COUNT(samples));
}

static void sizes(void **state)
{
	static const struct sample samples[] = {
		{"0", 0, 0},
		{"512", 0, 512},
		{"512B", 0, 512},
		{"8M", 0, 8 << 20},
		{"8MB", 0, 8 << 20},
		{"8MiB", 0, 8 << 20},
		{"512k", 0, 512 << 10},
		{"1.5G", 0, 1610612736},
		{"2T", 0, 2199023255552},
		{"17179869184G", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"M", -EINVAL, 0},
		{"8X", -EINVAL, 0},
		{"8MM", -EINVAL, 0},
		{"-8M", -EINVAL, 0},
		{"1e3", -EINVAL, 0},
		{"nan", -EINVAL, 0},
	};

	(void)state;
	check(parse_size, samples, COUNT(samples));
}

static void durations(void **state)
{
	static const struct sample samples[] = {
		{"0", 0, 0},
		{"10", 0, 10000000000},
		{"10s", 0, 10000000000},
		{"0.5s", 0, 500000000},
		{"5m", 0, 300000000000},
		{"5min", 0, 300000000000},
		{"1h30m", 0, 5400000000000},
		{"100ms", 0, 100000000},
		{"5us", 0, 5000},
		{"7ns", 0, 7},
		{"2d", 0, 172800000000000},
		{"1000000000h", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"s", -EINVAL, 0},
		{"5 s", -EINVAL, 0},
		{"5parsecs", -EINVAL, 0},
		{"-5s", -EINVAL, 0},
	};

	(void)state;
	check(parse_duration, samples, COUNT(samples));
}

static void endpoints(void **state)
{
	static const struct {
		const char *text;
		int result;
		const char *host;
		uint16_t port;
	} samples[] = {
		{"board", 0, "board", 0},
		{"board:8100", 0, "board", 8100},
		{"10.0.0.7:1", 0, "10.0.0.7", 1},
		{"[::1]:65535", 0, "::1", 65535},
		{"[fe80::1]", 0, "fe80::1", 0},
		{"fe80::1", 0, "fe80::1", 0},
		{"board:0", -EINVAL, NULL, 0},
		{"board:65536", -EINVAL, NULL, 0},
		{"board:", -EINVAL, NULL, 0},
		{":8100", -EINVAL, NULL, 0},
		{"", -EINVAL, NULL, 0},
		{"[::1", -EINVAL, NULL, 0},
		{"[::1]x", -EINVAL, NULL, 0},
		{"a-name-that-is-longer-than-the-room-for-it", -EINVAL, NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++) {
		char host[32] = "untouched";
		uint16_t port = 9;
		int r = parse_endpoint(samples[i].text, host, sizeof(host), &port);

		if (r != samples[i].result)
			fail_msg("\"%s\" gives %d", samples[i].text, r);
		assert_string_equal(host, r ? "untouched" : samples[i].host);
		assert_int_equal(port, r ? 9 : samples[i].port);
	}
}

static void for_people(void **state)
{
	char out[32];

	(void)state;
	assert_string_equal(format_size(out, 0), "0 B");
	assert_string_equal(format_size(out, 213), "213 B");
	assert_string_equal(format_size(out, 1536), "1.50 KiB");
	assert_string_equal(format_size(out, 15.26 * 1048576), "15.3 MiB");
	assert_string_equal(format_size(out, 200.0 * 1048576), "200 MiB");
	assert_string_equal(format_size(out, -2048), "-2.00 KiB");
	assert_string_equal(format_duration(out, 999), "999 ns");
	assert_string_equal(format_duration(out, 1000), "1.0 us");
	assert_string_equal(format_duration(out, 12300), "12.3 us");
	assert_string_equal(format_duration(out, 1000000), "1.0 ms");
	assert_string_equal(format_duration(out, 1000000000), "1.00 s");
	assert_string_equal(format_duration(out, 1500000000), "1.50 s");
	assert_string_equal(format_duration(out, 120000000000), "2 min");
	assert_string_equal(format_duration(out, 125000000000), "2 min 5 s");
	assert_string_equal(format_duration(out, 600000000000), "10 min");
	assert_string_equal(format_duration(out, 179999999999), "2 min 59 s");
	assert_string_equal(format_duration(out, 7199999999999), "119 min 59 s");
	assert_string_equal(format_duration(out, 7200000000000), "2 h");
	assert_string_equal(format_duration(out, 7259999999999), "2 h");
	assert_string_equal(format_duration(out, 7260000000000), "2 h 1 min");
	assert_string_equal(format_duration(out, 10799999999999), "2 h 59 min");
	assert_string_equal(format_count(out, 0), "0");
	assert_string_equal(format_count(out, 999), "999");
	assert_string_equal(format_count(out, 1234567), "1,234,567");
	assert_string_equal(format_count(out, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_true(strlen(format_size(out, 1.8e19)) < 32 &&
		    strlen(format_duration(out, UINT64_MAX)) < 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_numbers), cmocka_unit_test(sizes),
		cmocka_unit_test(durations),	 cmocka_unit_test(endpoints),
		cmocka_unit_test(for_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
