/* Places for strangers: who gives way to whom, how many are looked at, and what is said of them. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/secure/strangers.h"

static struct stranger_address four(const char *text)
{
	struct sockaddr_in in = {.sin_family = AF_INET};

	assert_int_equal(inet_pton(AF_INET, text, &in.sin_addr), 1);
	return stranger_address((const struct sockaddr *)&in);
}

static struct stranger_address six(const char *text)
{
	struct sockaddr_in6 in = {.sin6_family = AF_INET6};

	assert_int_equal(inet_pton(AF_INET6, text, &in.sin6_addr), 1);
	return stranger_address((const struct sockaddr *)&in);
}

static bool same(struct stranger_address a, struct stranger_address b)
{
	return !memcmp(&a, &b, sizeof(a));
}

static void test_addresses(void **state)
{
	(void)state;
	assert_true(same(four("10.0.0.1"), six("::ffff:10.0.0.1")));
	assert_false(same(four("10.0.0.1"), four("10.0.0.2")));
	assert_true(same(six("2001:db8::1"), six("2001:db8::2")));
	assert_false(same(six("2001:db8:0:1::1"), six("2001:db8:0:2::1")));
	assert_false(same(six("fe80::1"), six("fe80::2")));
}

static void test_giving_way(void **state)
{
	struct stranger_address flood = four("10.0.0.1"), quiet = four("10.0.0.2"),
				third = four("10.0.0.3");
	struct stranger s[4] = {{quiet, 1}, {flood, 5}, {flood, 3}, {flood, 4}};

	(void)state;
	assert_int_equal(strangers_gives_way(s, 2, 4, 3, &third), -1);
	/* All places are taken: the oldest of the flood goes, though another one is older. */
	assert_int_equal(strangers_gives_way(s, 4, 4, 4, &third), 2);
	/* The flood has as many as an address may: its own oldest goes, though there is room. */
	assert_int_equal(strangers_gives_way(s, 4, 8, 3, &flood), 2);
	assert_int_equal(strangers_gives_way(s, 4, 8, 3, &quiet), -1);
}

static void test_rate(void **state)
{
	struct strangers s = {0};
	unsigned admitted = 0;

	(void)state;
	for (uint64_t ms = 1000000; ms < 1010000; ms++)
		for (int i = 0; i < 10; i++)
			admitted += strangers_admit(&s, ms);
	assert_in_range(admitted, 10 * STRANGERS_A_SECOND - 10,
			10 * STRANGERS_A_SECOND + STRANGERS_A_SECOND / 4);
}

static void test_telling(void **state)
{
	struct strangers s = {0};
	struct stranger_address one = four("10.0.0.1");
	unsigned told = 0;

	(void)state;
	assert_true(strangers_tell(&s, &one, 1000));
	for (uint64_t ms = 1000; ms < 60000; ms += 100)
		assert_false(strangers_tell(&s, &one, ms));
	assert_true(strangers_tell(&s, &one, 62000));
	for (int i = 0; i < 10000; i++) {
		char text[32];

		snprintf(text, sizeof(text), "10.1.%d.%d", i / 256, i % 256);
		one = four(text);
		told += strangers_tell(&s, &one, 100000 + (uint64_t)i);
	}
	assert_in_range(told, 1, STRANGERS_TOLD_AT_ONCE + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_giving_way),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_telling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
