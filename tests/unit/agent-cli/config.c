/* The daemon's file of options: what its lines mean, and that no text of any kind does harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/cli/options/config.h"
#include "agent/cli/options/values.h"
#include "agent/serve/access.h"
#include "base/error.h"
#include "proto/ring.h"

#define TEXT_MAX 512
#define ROUNDS	 20000

static const char sample[] = "# first\n"
			     "mode = sample=64K # half of the half\n"
			     "\n"
			     "\toutput=\"/a # b/%p \"\r\n"
			     "  linger   =   1m30s\n"
			     "follow = yes\n"
			     "allow-user = 0,7\n"
			     "depth = 99";

static int parse(struct options *o, char *out, const char *text, struct err_text *err)
{
	snprintf(out, TEXT_MAX, "%s", text);
	options_defaults(o);
	return config_parse(o, COMMAND_SERVE, "F", out, err);
}

static void expect_error(const char *text, const char *sentence)
{
	struct err_text err = {{0}};
	char copy[TEXT_MAX];
	struct options o;
	int r = parse(&o, copy, text, &err);

	assert_true(r < 0);
	assert_string_equal(err_get(&err, r), sentence);
}

static void test_lines(void **state)
{
	struct err_text err = {{0}};
	char copy[TEXT_MAX];
	struct options o;

	(void)state;
	assert_int_equal(parse(&o, copy, sample, &err), 0);
	assert_int_equal(o.mode, RING_SAMPLE);
	assert_int_equal(o.sample_interval, 64 << 10);
	assert_string_equal(o.output, "/a # b/%p ");
	assert_int_equal(o.linger_ns, 90000000000);
	assert_true(o.follow);
	assert_int_equal(o.depth, 99);
	assert_int_equal(options_source(&o, "depth"), OPTION_FILE);
	assert_int_equal(options_source(&o, "policy"), OPTION_DEFAULT);
	assert_int_equal(parse(&o, copy, "", &err), 0);
	assert_int_equal(parse(&o, copy, "socket =", &err), 0);
	assert_string_equal(o.socket, "");
}

static void test_errors(void **state)
{
	(void)state;
	expect_error("\n\ndepth 9", "F:3: expected is NAME = VALUE, or # and a comment");
	expect_error("# x\nlinger = long",
		     "F:2: linger takes a time such as 10s, 5m or 500ms, not 'long'");
	expect_error("deph = 9", "F:1: there is no option --deph; did you mean --depth?");
	expect_error("follow=yes\nfollow=no\n", "F:2: follow is set in line 1 already");
	expect_error("for-pid = 1", "F:1: for-pid can only be said on the command line");
	expect_error("output = \"x", "F:1: a quote is opened and not closed");
}

static unsigned changes, kept;

static void count_change(const char *name, const char *running, const char *wanted, bool keep)
{
	assert_string_not_equal(running, wanted);
	assert_non_null(name);
	changes++;
	kept += keep;
}

static void test_compare(void **state)
{
	static const char other[] =
		"memory-limit = 16M\nsocket = /b\nmode = off\nlinger = 1s\nfollow = yes\n";
	char first[TEXT_MAX], second[TEXT_MAX];
	struct err_text err = {{0}};
	struct options a, b;

	(void)state;
	assert_int_equal(parse(&a, first, "socket = /a\nfollow = yes\n", &err), 0);
	assert_int_equal(parse(&b, second, other, &err), 0);
	options_compare(&b, &a, COMMAND_SERVE, count_change);
	assert_int_equal(changes, 4);
	assert_int_equal(kept, 2);
	assert_int_equal(b.memory_limit, 8 << 20);
	assert_string_equal(b.socket, "/a");
	assert_int_equal(b.mode, RING_OFF);
	assert_int_equal(b.linger_ns, 1000000000);
	options_compare(&b, &b, COMMAND_SERVE, count_change);
	assert_int_equal(changes, 4);
}

/* What is set back is that field, and not what lies behind it. */
static void test_compare_sets_one_back(void **state)
{
	static struct options a, b;
	char first[TEXT_MAX], second[TEXT_MAX];
	struct err_text err = {{0}};
	char *behind = (char *)&b.gather_maps + sizeof(b.gather_maps),
	     *end = (char *)&b + offsetof(struct options, maps_interval_ns);

	(void)state;
	assert_int_equal(parse(&a, first, "gather-maps = yes\n", &err), 0);
	assert_int_equal(parse(&b, second, "gather-maps = no\n", &err), 0);
	memset(behind, 0x77, (size_t)(end - behind));
	options_compare(&b, &a, COMMAND_SERVE, count_change);
	assert_true(b.gather_maps);
	for (; behind < end; behind++)
		assert_int_equal(*behind, 0x77);
}

/* Every beginning of the sample, and copies of it with some bytes exchanged: an error has a
 * sentence with a line, or there is none. */
static void test_damaged(void **state)
{
	static const char bytes[] = "=\"# \t\n\r,-a0";
	char text[TEXT_MAX], copy[TEXT_MAX];
	uint32_t random = 1;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct err_text err = {{0}};
		struct options o;
		int r;

		snprintf(text, sizeof(text), "%s", sample);
		if (round < sizeof(sample))
			text[round] = '\0';
		for (unsigned i = 0; round >= sizeof(sample) && i < 4; i++) {
			random = random * 1664525 + 1013904223;
			text[(random >> 8) % (sizeof(sample) - 1)] =
				bytes[(random >> 24) % (sizeof(bytes) - 1)];
		}
		r = parse(&o, copy, text, &err);
		assert_true(r <= 0);
		if (r < 0)
			assert_memory_equal(err.text, "F:", 2);
	}
}

static void test_access(void **state)
{
	struct err_text err = {{0}};
	char text[ACCESS_TEXT_MAX], many[TEXT_MAX] = "";
	struct access a;

	(void)state;
	assert_int_equal(access_parse(&a, NULL, NULL, &err), 0);
	assert_int_equal(a.users + a.groups, 0);
	assert_int_equal(access_parse(&a, " root, 1234 ,, 99", "0", &err), 0);
	assert_int_equal(a.users, 3);
	assert_int_equal(a.user[1], 1234);
	assert_int_equal(a.groups, 1);
	assert_false(a.everyone);
	assert_non_null(strstr(access_text(&a, text), "1234"));
	assert_int_equal(access_parse(&a, "*", "", &err), 0);
	assert_true(a.everyone);
	assert_true(access_tell(&a, 5));
	assert_false(access_tell(&a, 5));
	for (uid_t user = 6; user < 5 + ACCESS_TOLD_MAX; user++)
		assert_true(access_tell(&a, user));
	assert_false(access_tell(&a, 9999));			     /* enough was told */
	assert_true(access_parse(&a, "4294967295", NULL, &err) < 0); /* means nobody */
	assert_true(access_parse(&a, NULL, "*", &err) < 0);
	for (unsigned i = 0; i <= ACCESS_NAMES_MAX; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), "%u,", i);
	assert_true(access_parse(&a, many, NULL, &err) < 0);
	assert_string_equal(err_get(&err, -1), "--allow-user takes 64 names at most");
	/* The longest list has more text than there is room for. */
	a = (struct access){.users = ACCESS_NAMES_MAX, .groups = ACCESS_NAMES_MAX};
	for (unsigned i = 0; i < ACCESS_NAMES_MAX; i++)
		a.user[i] = a.group[i] = 4000000000u + i;
	assert_true(strlen(access_text(&a, text)) < ACCESS_TEXT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),	cmocka_unit_test(test_errors),
		cmocka_unit_test(test_compare), cmocka_unit_test(test_compare_sets_one_back),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_access),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
