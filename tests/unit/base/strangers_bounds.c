/* Places for strangers, at the bounds: the last one admitted, the moment from which one more is,
 * and of equals the one that goes. */
#include "base/secure/strangers.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define START 1000000

static struct stranger_address address(unsigned last)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(0x0a000000 + last)}};

	return stranger_address((const struct sockaddr *)&in);
}

static void test_four(void **state)
{
	static const uint8_t expected[16] = {[10] = 0xff, 0xff, 10, 0, 1, 2};
	struct stranger_address a = address(0x0102);

	(void)state;
	assert_memory_equal(a.bytes, expected, 16);
}

static void test_six(void **state)
{
	struct sockaddr_in6 in = {.sin6_family = AF_INET6};
	struct stranger_address a;

	(void)state;
	memset(&in.sin6_addr, 0x22, 16);
	a = stranger_address((const struct sockaddr *)&in);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(a.bytes[i], i < 8 ? 0x22 : 0);
	in.sin6_family = AF_UNIX;
	a = stranger_address((const struct sockaddr *)&in);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(a.bytes[i], 0);
}

/* A quarter of a second's are admitted at once; then one each 5 ms. */
static void test_rate(void **state)
{
	struct strangers s = {0};

	(void)state;
	for (unsigned i = 0; i < STRANGERS_A_SECOND / 4; i++)
		assert_true(strangers_admit(&s, START));
	assert_false(strangers_admit(&s, START));
	assert_false(strangers_admit(&s, START + 4)); /* this moment does not count as filled */
	assert_true(strangers_admit(&s, START + 5));
	assert_false(strangers_admit(&s, START + 9));
	assert_true(strangers_admit(&s, START + 10));
	assert_true(strangers_admit(&s, START + 20));
	assert_true(strangers_admit(&s, START + 20));
	assert_false(strangers_admit(&s, START + 20));
	/* What was left counts, too, as far as there is room. */
	assert_true(strangers_admit(&s, START + 20 + 240));
	for (unsigned i = 0; i < 48; i++)
		assert_true(strangers_admit(&s, START + 20 + 240 + 5));
	assert_false(strangers_admit(&s, START + 20 + 240 + 5));
	for (unsigned i = 0; i < 49; i++)
		assert_true(strangers_admit(&s, START + 265 + 245));
	assert_false(strangers_admit(&s, START + 265 + 245));
}

static void test_gives_way(void **state)
{
	struct stranger_address one = address(1), two = address(2), three = address(3);
	struct stranger s[4] = {{one, 9}, {two, 5}, {two, 8}, {one, 7}};

	(void)state;
	/* Of two addresses with as many, the one of which the first entry is older. */
	assert_int_equal(strangers_gives_way(s, 4, 4, 3, &three), 1);
	s[0].since_ms = 4;
	assert_int_equal(strangers_gives_way(s, 4, 4, 3, &three), 0);
	assert_int_equal(strangers_gives_way(s, 4, 5, 3, &three), -1);
	assert_int_equal(strangers_gives_way(s, 3, 4, 2, &two), 1);
	assert_int_equal(strangers_gives_way(s, 2, 4, 2, &two), -1);
	s[2].since_ms = 5;
	assert_int_equal(strangers_gives_way(s, 4, 4, 2, &two), 1); /* the first of equals */
}

/* Each address once a minute. */
static void test_tells_once(void **state)
{
	struct strangers s = {0};
	struct stranger_address one = address(1);

	(void)state;
	assert_true(strangers_tell(&s, &one, START));
	assert_false(strangers_tell(&s, &one, START + STRANGERS_TOLD_MS - 1));
	assert_true(strangers_tell(&s, &one, START + STRANGERS_TOLD_MS));
	assert_false(strangers_tell(&s, &one, START + STRANGERS_TOLD_MS + 1));
}

/* Eight lines in a row, then one each ten seconds. */
static void test_tells_some(void **state)
{
	struct strangers s = {0};
	struct stranger_address from;
	unsigned next = 1;

	(void)state;
	for (unsigned i = 0; i < STRANGERS_TOLD_AT_ONCE; i++) {
		from = address(next++);
		assert_true(strangers_tell(&s, &from, START));
	}
	from = address(next++);
	assert_false(strangers_tell(&s, &from, START));
	assert_false(strangers_tell(&s, &from, START + STRANGERS_TELL_MS - 1));
	assert_true(strangers_tell(&s, &from, START + STRANGERS_TELL_MS));
	from = address(next++);
	assert_false(strangers_tell(&s, &from, START + STRANGERS_TELL_MS));
	for (unsigned i = 0; i < 3; i++) {
		from = address(next++);
		assert_true(strangers_tell(&s, &from, START + 4 * STRANGERS_TELL_MS));
	}
	from = address(next++);
	assert_false(strangers_tell(&s, &from, START + 4 * STRANGERS_TELL_MS));
	/* Long after, as many as at first, and no more. */
	for (unsigned i = 0; i < STRANGERS_TOLD_AT_ONCE; i++) {
		from = address(next++);
		assert_true(strangers_tell(&s, &from, START + 100 * STRANGERS_TELL_MS));
	}
	from = address(next++);
	assert_false(strangers_tell(&s, &from, START + 100 * STRANGERS_TELL_MS));
}

/* So many addresses are remembered; the one that was told of longest ago makes room. */
static void test_remembers(void **state)
{
	struct strangers s = {0};
	struct stranger_address from;
	const uint64_t step = 1000;

	(void)state;
	for (unsigned i = 0; i < STRANGERS_TOLD; i++) {
		from = address(i);
		s.lines = 0;
		assert_true(strangers_tell(&s, &from, START + i * step));
	}
	from = address(100);
	s.lines = 0;
	assert_true(strangers_tell(&s, &from, START + 40 * step));
	from = address(1);
	s.lines = 0;
	assert_false(strangers_tell(&s, &from, START + 41 * step));
	from = address(0); /* forgotten */
	assert_true(strangers_tell(&s, &from, START + 41 * step));
	from = address(STRANGERS_TOLD - 1);
	s.lines = 0;
	assert_false(strangers_tell(&s, &from, START + 42 * step));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_four),	   cmocka_unit_test(test_six),
		cmocka_unit_test(test_rate),	   cmocka_unit_test(test_gives_way),
		cmocka_unit_test(test_tells_once), cmocka_unit_test(test_tells_some),
		cmocka_unit_test(test_remembers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
