/* Numbers as people write them, there and back. */
#include "base/parse.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
		{"18014398509481980K", 0, UINT64_MAX - 4095},
		{"18014398509481982K", 0, 18446744073709549568u}, /* the greatest double */
		{"18014398509481984K", -ERANGE, 0},		  /* 2^64 */
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
		{"1h30", 0, 5400000000000},
		{"5m30", 0, 330000000000},
		{"5min30", 0, 330000000000},
		{"1h2m3", 0, 3723000000000},
		{"1d12", -EINVAL, 0},
		{"1s30", -EINVAL, 0},
		{"100ms5", -EINVAL, 0},
		{"100ms", 0, 100000000},
		{"5us", 0, 5000},
		{"7ns", 0, 7},
		{"2d", 0, 172800000000000},
		{"1000000000h", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"s", -EINVAL, 0},
		{"5 s", -EINVAL, 0},
		{"5parsecs", -EINVAL, 0},
		{"5.5.5", -EINVAL, 0},
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
	assert_string_equal(format_counted(out, 0, "event"), "0 events");
	assert_string_equal(format_counted(out, 1, "event"), "1 event");
	assert_string_equal(format_counted(out, 1234, "block"), "1,234 blocks");
	assert_string_equal(format_count(out, 999), "999");
	assert_string_equal(format_count(out, 1234567), "1,234,567");
	assert_string_equal(format_count(out, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_true(strlen(format_size(out, 1.8e19)) < 32 &&
		    strlen(format_duration(out, UINT64_MAX)) < 32);
}

/* At each bound between two forms, the last of the one and the first of the other. */
static void forms_change_at_their_bounds(void **state)
{
	static const struct {
		double bytes;
		const char *text;
	} list[] = {
		{0.4, "0 B"},
		{1, "1 B"},
		{99.95, "100 B"},
		{999, "999 B"},
		{999.4, "999 B"},
		{999.5, "0.98 KiB"},
		{1000, "0.98 KiB"},
		{1024, "1.00 KiB"},
		{9.99 * 1024, "9.99 KiB"},
		{9.994 * 1024, "9.99 KiB"},
		{9.995 * 1024, "10.0 KiB"},
		{10.0 * 1024, "10.0 KiB"},
		{99.94 * 1024, "99.9 KiB"},
		{99.95 * 1024, "100 KiB"},
		{999.4 * 1024, "999 KiB"},
		{999.5 * 1024, "0.98 MiB"},
		{1073741824, "1.00 GiB"},
		{1099511627776, "1.00 TiB"},
		{1125899906842624, "1.00 PiB"},
		{1125899906842624.0 * 999, "999 PiB"},
		{1125899906842624.0 * 1000, "1000 PiB"}, /* there is no larger unit */
		{-1, "-1 B"},
		{-999.5, "-0.98 KiB"},
	};
	char out[32];

	(void)state;
	for (size_t i = 0; i < COUNT(list); i++)
		assert_string_equal(format_size(out, list[i].bytes), list[i].text);
	assert_string_equal(format_duration(out, 0), "0 ns");
	assert_string_equal(format_duration(out, 999949), "999.9 us");
	assert_string_equal(format_duration(out, 999950), "1.0 ms");
	assert_string_equal(format_duration(out, 999949999), "999.9 ms");
	assert_string_equal(format_duration(out, 999950000), "1.00 s");
	assert_string_equal(format_duration(out, 119994999999), "119.99 s");
	assert_string_equal(format_duration(out, 119995000000), "1 min 59 s");
	assert_string_equal(format_duration(out, 120999999999), "2 min");
	assert_string_equal(format_duration(out, 121000000000), "2 min 1 s");
	assert_string_equal(format_duration(out, UINT64_MAX), "5124095 h 34 min");
	assert_string_equal(format_count(out, 1000), "1,000");
	assert_string_equal(format_count(out, 12345), "12,345");
	assert_string_equal(format_count(out, 123456), "123,456");
	assert_string_equal(format_count(out, 1000000), "1,000,000");
}

static void switches(void **state)
{
	static const char *const on[] = {"1", "yes", "true", "on"},
				 *const off[] = {"", "0", "no", "false", "off"},
				 *const neither[] = {"2", "Yes", "ye", "yess", " ", "10", "onn"};
	bool value;

	(void)state;
	for (size_t i = 0; i < COUNT(on); i++) {
		value = false;
		assert_int_equal(parse_switch(on[i], &value), 0);
		assert_true(value);
	}
	for (size_t i = 0; i < COUNT(off); i++) {
		value = true;
		assert_int_equal(parse_switch(off[i], &value), 0);
		assert_false(value);
	}
	for (size_t i = 0; i < COUNT(neither); i++)
		for (int before = 0; before < 2; before++) {
			value = before;
			assert_int_equal(parse_switch(neither[i], &value), -EINVAL);
			assert_int_equal(value, before);
		}
}

/* Hosts as long as there is room, and one byte more. */
static void hosts_fit(void **state)
{
	static const char *const texts[] = {"1234567", "1234567:80", "[1234567]", "[1234567]:80"};
	char host[9];
	uint16_t port;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		memset(host, 'x', sizeof(host));
		assert_int_equal(parse_endpoint(texts[i], host, 8, &port), 0);
		assert_string_equal(host, "1234567");
		assert_int_equal(host[8], 'x');
		assert_int_equal(port, i % 2 ? 80 : 0);
		assert_int_equal(parse_endpoint(texts[i], host, 7, &port), -EINVAL);
	}
	assert_int_equal(parse_endpoint("[]", host, 8, &port), -EINVAL);
	assert_int_equal(parse_endpoint("[]:80", host, 8, &port), -EINVAL);
	assert_int_equal(parse_endpoint("[a]80", host, 8, &port), -EINVAL);
	assert_int_equal(parse_endpoint("[a]:", host, 8, &port), -EINVAL);
	assert_int_equal(parse_endpoint("a:8x", host, 8, &port), -EINVAL);
	assert_int_equal(parse_endpoint(":::", host, 8, &port), 0);
	assert_string_equal(host, ":::");
	assert_int_equal(port, 0);
	assert_int_equal(parse_endpoint("[a:b]:65535", host, 8, &port), 0);
	assert_string_equal(host, "a:b");
	assert_int_equal(port, 65535);
	assert_int_equal(parse_endpoint("a:1", host, 8, &port), 0);
	assert_int_equal(port, 1);
}

/* A unit, each of its forms, and what follows. */
static void units(void **state)
{
	static const struct sample samples[] = {
		{"1K", 0, 1024},
		{"1k", 0, 1024},
		{"1Ki", 0, 1024},
		{"1KiB", 0, 1024},
		{"1Kb", 0, 1024},
		{"1m", 0, 1048576},
		{"1g", 0, 1073741824},
		{"1t", 0, 1099511627776},
		{"1b", 0, 1},
		{"1i", -EINVAL, 0},
		{"1iB", -EINVAL, 0},
		{"1KBB", -EINVAL, 0},
		{"1Kii", -EINVAL, 0},
		{"1P", -EINVAL, 0},
		{"1.25K", 0, 1280},
		{".5K", 0, 512},
		{"5.", 0, 5},
		{".", -EINVAL, 0},
		{"1..5", -EINVAL, 0},
		{"18446744073709549567", 0, 18446744073709549568u},
		{"18446744073709550591", 0, 18446744073709549568u},
		{"18446744073709550592", -ERANGE, 0}, /* nearer to 2^64 */
		{"18446744073709551615", -ERANGE, 0},
		{"16777215T", 0, 18446742974197923840u},
		{"16777216T", -ERANGE, 0},
	};
	static const struct sample times[] = {
		{"1ns", 0, 1},
		{"1us", 0, 1000},
		{"1ms", 0, 1000000},
		{"1s", 0, 1000000000},
		{"1m", 0, 60000000000},
		{"1min", 0, 60000000000},
		{"1h", 0, 3600000000000},
		{"1d", 0, 86400000000000},
		{"1d2h3m4s5ms6us7ns", 0, 93784005006007},
		{"1m1", 0, 61000000000},
		{"1.5", 0, 1500000000},
		{"0.25ms", 0, 250000},
		{"1mi", -EINVAL, 0},
		{"1mins", -EINVAL, 0},
		{"1nss", -EINVAL, 0},
		{"1s ", -EINVAL, 0},
		{"1h30", 0, 5400000000000},
		{"1hm", -EINVAL, 0},
		{"208333d", 0, 17999971200000000000u},
		{"208334d", -ERANGE, 0},
		{"17999999999s", 0, 17999999999000000512u},
		{"18000000000s", -ERANGE, 0},
	};
	static const struct sample numbers[] = {
		{"0X1f", 0, 31},
		{"00", 0, 0},
		{"010", 0, 10},
		{"9", 0, 9},
		{"/", -EINVAL, 0},
		{":", -EINVAL, 0},
		{"0x", -EINVAL, 0},
		{"1x1", -EINVAL, 0},
		{"0x1g", -EINVAL, 0},
		{"0xffffffffffffffff", 0, UINT64_MAX},
		{"0x10000000000000000", -ERANGE, 0},
		{"99999999999999999999x", -ERANGE, 0},
	};

	(void)state;
	check(parse_size, samples, COUNT(samples));
	check(parse_duration, times, COUNT(times));
	check(parse_u64, numbers, COUNT(numbers));
}

/* Decimals are exact on every processor: no step on the way is rounded twice. */
static void decimals(void **state)
{
	char text[40];

	(void)state;
	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t value = 12345;

		snprintf(text, sizeof(text), "%u.%03us", (unsigned)i / 1000, (unsigned)i % 1000);
		assert_int_equal(parse_duration(text, &value), 0);
		assert_int_equal(value, i * 1000000);
		snprintf(text, sizeof(text), "%u.%03uG", (unsigned)i / 1000, (unsigned)i % 1000);
		assert_int_equal(parse_size(text, &value), 0);
		assert_int_equal(value, ((i << 30) + 500) / 1000);
	}
}

/* More digits than a number has: the first ones count, and a point in front of them. */
static void long_decimals(void **state)
{
	static const struct sample samples[] = {
		{"0.0000000000000000000000000000009s", 0, 0},
		{"0.9999999999999999999999999999999s", 0, 1000000000},
		{"1.0000000000000000000000000000000G", 0, 1 << 30},
		{"0000000000000000000000000000000001", 0, 1},
		{"99999999999999999999", -ERANGE, 0},
		{"99999999999999999999999999999999.9", -ERANGE, 0},
	};
	char zeroes[500] = "0.";

	(void)state;
	check(parse_size, samples + 2, 2);
	check(parse_duration, samples, 2);
	check(parse_size, samples + 4, 2);
	check(parse_duration, samples + 4, 2);
	memset(zeroes + 2, '0', sizeof(zeroes) - 3);
	check(parse_size, &(struct sample){zeroes, 0, 0}, 1);
	zeroes[sizeof(zeroes) - 2] = '9';
	check(parse_size, &(struct sample){zeroes, 0, 0}, 1);
	memset(zeroes, '9', sizeof(zeroes) - 1);
	check(parse_size, &(struct sample){zeroes, -ERANGE, 0}, 1);
}

/* Of UTC, of the time zone, and since the epoch. */
static void test_wall(void **state)
{
	static const char *const same[] = {"@1796048280", "2026-11-30 14:18Z",
					   "2026-11-30T14:18:00Z", "2026-11-30 15:18",
					   "2026-11-30T15:18:00"},
				 *const wrong[] = {"",
						   "now",
						   "@",
						   "@-1",
						   "@1s",
						   "2026-11-30",
						   "14:18",
						   "2026-11-30 14",
						   "2026-11-30 14:18z",
						   "2026-13-30 14:18",
						   "2026-11-30  14:18 UTC",
						   "2026-11-30x14:18"};
	uint64_t ns;

	(void)state;
	setenv("TZ", "XYZ-1", 1);
	tzset();
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		ns = 0;
		assert_int_equal(parse_wall(same[i], &ns), 0);
		assert_int_equal(ns, 1796048280000000000);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(parse_wall(wrong[i], &ns), -EINVAL);
	assert_int_equal(parse_wall("1969-12-31 23:59Z", &ns), -ERANGE);
	assert_int_equal(parse_wall("@18446744073709551615", &ns), -ERANGE);
	assert_int_equal(parse_wall("9999-12-31 23:59Z", &ns), -ERANGE);
	assert_int_equal(parse_wall("@9223372036", &ns), 0);
	assert_int_equal(ns, 9223372036000000000);
	assert_int_equal(parse_wall("@9223372037", &ns), -ERANGE);
	assert_int_equal(parse_wall("2026-11-30 14:18:07Z", &ns), 0);
	assert_int_equal(ns, 1796048287000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_numbers), cmocka_unit_test(sizes),
		cmocka_unit_test(durations),	 cmocka_unit_test(endpoints),
		cmocka_unit_test(for_people),	 cmocka_unit_test(forms_change_at_their_bounds),
		cmocka_unit_test(switches),	 cmocka_unit_test(hosts_fit),
		cmocka_unit_test(units),	 cmocka_unit_test(decimals),
		cmocka_unit_test(long_decimals), cmocka_unit_test(test_wall),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
