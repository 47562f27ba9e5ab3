/* Filters as people write them: every form, every error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "tests/unit/query/recording.h"
#include "proto/stack_columns.h"

#define START_S 1700000000ull /* of the test's recordings */
#define RUN_NS	100000000000ull

static struct test_recording t;

/* A recording of 100 s. */
static int open_recording(void **state)
{
	struct stack_node nodes[] = {{.module = 1, .offset = 0x100},
				     {.parent = 1, .module = 1, .offset = 0x200}};
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	test_first_batch(&b, nodes, 2, "/nowhere/libexample.so", 0, false);
	builder_malloc(&b, 1, 1, 0x1000, 32);
	builder_close(&b, 0);
	builder_malloc(&b, RUN_NS, 1, 0x2000, 32);
	builder_end(&b, 0);
	test_open(&t, &b);
	builder_done(&b);
	return 0;
}

static int close_recording(void **state)
{
	(void)state;
	test_close(&t);
	return 0;
}

static struct filter set(const char *name, const char *value)
{
	struct filter f;
	struct err_text err = {0};
	int r;

	filter_init(&f);
	r = filter_set(&f, t.view, name, value, &err);
	if (r)
		fail_msg("%s=%s: %s", name, value, err.text);
	return f;
}

static void refused(const char *name, const char *value, const char *sentence)
{
	struct filter f;
	struct err_text err = {0};

	filter_init(&f);
	assert_int_equal(filter_set(&f, t.view, name, value, &err), -EINVAL);
	if (!strstr(err.text, sentence) || !strstr(err.text, name))
		fail_msg("%s=%s: \"%s\" does not speak of \"%s\"", name, value, err.text, sentence);
	filter_done(&f);
}

static bool is_epoch(const char *text)
{
	return strlen(text) >= 10 && strspn(text, "0123456789") == strlen(text);
}

static void test_times(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} forms[] = {
		{"0", 0},
		{"10", 10000000000},
		{"1.5", 1500000000},
		{".5", 500000000},
		{"10s", 10000000000},
		{"100ms", 100000000},
		{"5us", 5000},
		{"4h3m2s", 14582000000000},
		{"999999999", 999999999000000000},
		{"50%", RUN_NS / 2},
		{"0%", 0},
		{"100%", RUN_NS},
		{"12.5%", RUN_NS / 8},
		{"1700000010", 10000000000},
		{"1700000000.5", 500000000},
		{"1700000010000", 10000000000},
		{"1700000000250", 250000000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		uint64_t got = set("from", forms[i].text).from_ns;

		/* Epoch times pass through floating point: a microsecond is what that leaves. */
		if (got + 1000 < forms[i].ns || got > forms[i].ns + 1000)
			fail_msg("from=%s gives %llu", forms[i].text, (unsigned long long)got);
		if (!is_epoch(forms[i].text))
			assert_in_range(set("to", forms[i].text).to_ns + 1000, forms[i].ns,
					forms[i].ns + 2000);
		assert_in_range(set("alive-at", forms[i].text).alive_at_ns + 1000, forms[i].ns,
				forms[i].ns + 2000);
	}
	/* Whole ones last to their end. */
	assert_int_equal(set("to", "1700000010").to_ns, 10999999999);
	assert_int_equal(set("to", "1700000010000").to_ns, 10000999999);
	assert_int_equal(set("from", "1700000010000").from_ns, 10000000000);
	assert_int_equal(set("to", "1700000000").to_ns, 999999999);
	assert_true(set("to", "1699999999").before_start);
	refused("from", "", "takes a time");
	refused("from", "yesterday", "takes a time");
	refused("to", "-5", "takes a time");
	refused("to", "50%%", "takes a time");
	refused("to", "%", "takes a time");
	refused("to", "1e3", "takes a time");
	refused("to", "nan", "takes a time");
	refused("to", "1.2.3", "takes a time");
	refused("alive_at", "5 parsecs", "takes a time");
}

/* From which number on it is a time since the epoch, and from which in milliseconds. */
static void test_epoch_begins(void **state)
{
	static const struct {
		const char *text;
		uint64_t from_ns, to_ns; /* of a program that began in 1970 */
		bool before;		 /* of one of 2023 */
	} cases[] = {
		{"999999999", 999999999000000000, 999999999000000000, false},
		{"1000000000", 1000000000000000000, 1000000000999999999, true},
		{"99999999999", NO_TIME - 1, NO_TIME - 1, false},
		{"100000000000", 100000000000000000, 100000000000999999, true},
		{"999999999.0", 999999999000000000, 999999999000000000, false},
		{"1000000000.0", 1000000000000000000, 1000000000000000000, true},
		{"99999999999.0", NO_TIME - 1, NO_TIME - 1, false},
		{"100000000000.0", 100000000000000000, 100000000000000000, true},
	};
	const struct test_recording of_2023 = t;
	Heapcast__Process process = HEAPCAST__PROCESS__INIT;
	struct builder b;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(set("to", cases[i].text).before_start, cases[i].before);
		assert_int_equal(set("alive_at", cases[i].text).before_start, cases[i].before);
		assert_false(set("from", cases[i].text).before_start);
	}
	builder_init(&b, 2);
	b.process = &process;
	builder_malloc(&b, 1, 1, 0x1000, 32);
	builder_end(&b, 0);
	test_open(&t, &b);
	builder_done(&b);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t to_ns = set("to", cases[i].text).to_ns;

		assert_true(set("from", cases[i].text).from_ns == cases[i].from_ns);
		/* Through floating point. */
		assert_in_range(to_ns - cases[i].to_ns + 256, 0, 512);
	}
	test_close(&t);
	t = of_2023;
}

static uint64_t matched(const struct filter *f)
{
	struct report report;
	struct err_text err = {0};

	assert_int_equal(query_report(t.view, f, &report, &err), 0);
	return report.allocations;
}

static void test_before_the_start(void **state)
{
	struct filter f = set("to", "1600000000");

	(void)state;
	assert_int_equal(matched(&f), 0);
	f = set("alive_at", "1600000000");
	assert_int_equal(matched(&f), 0);
	f = set("from", "1600000000");
	assert_int_equal(matched(&f), 2);
	f = set("from", "99999999999999999999999999");
	assert_int_equal(matched(&f), 0);
	f = set("to", "99999999999999999999999999");
	assert_int_equal(matched(&f), 2);
}

static void test_numbers(void **state)
{
	(void)state;
	assert_int_equal(set("size_min", "100").size_min, 100);
	assert_int_equal(set("size-max", "4K").size_max, 4096);
	assert_int_equal(set("size_max", "1.5M").size_max, 1572864);
	assert_true(set("size_max", "18446744073709551615").size_max == UINT64_MAX);
	assert_int_equal(set("size_max", "9007199254740993").size_max, 9007199254740993);
	assert_int_equal(set("address_min", "0x7f0000001000").address_min, 0x7f0000001000);
	assert_int_equal(set("address_max", "4096").address_max, 4096);
	assert_int_equal(set("lifetime_min", "10").lifetime_min_ns, 10000000000);
	assert_int_equal(set("lifetime_max", "4h3m2s").lifetime_max_ns, 14582000000000);
	assert_int_equal(set("backtrace_depth_min", "3").depth_min, 3);
	assert_int_equal(set("backtrace-depth-max", "7").depth_max, 7);
	assert_int_equal(set("backtraces", "2").backtrace, 2);
	assert_int_equal(set("deallocation_backtraces", "1").deallocation_backtrace, 1);
	assert_int_equal(set("thread", "1").thread, 1);
	refused("size_min", "-1", "takes a size");
	refused("size_min", "1X", "takes a size");
	refused("size_max", "999999999999999999999999", "takes a size");
	refused("address_min", "0xg", "takes an address");
	refused("address_min", "99999999999999999999999", "takes an address");
	refused("lifetime_min", "soon", "takes a duration");
	refused("lifetime_max", "10x", "takes a duration");
	refused("backtrace_depth_min", "4294967296", "takes a number");
	refused("backtraces", "0", "id of a backtrace, here 1 to 2");
	refused("backtraces", "3", "id of a backtrace");
	refused("deallocation_backtraces", "x", "id of a backtrace");
	refused("thread", "2", "number of a thread, here 1 to 1");
}

static void test_words(void **state)
{
	struct filter f;
	struct err_text err = {0};

	(void)state;
	assert_int_equal(set("lifetime", "only_leaked").lifetime, LIFETIME_ONLY_LEAKED);
	assert_int_equal(set("lifetime", "all").lifetime, LIFETIME_ALL);
	assert_int_equal(set("lifetime", "only_freed").lifetime, LIFETIME_ONLY_FREED);
	assert_int_equal(set("lifetime", "only_temporary").lifetime, LIFETIME_ONLY_FREED);
	assert_int_equal(set("temporary", "yes").freed_at_once, ANSWER_YES);
	assert_int_equal(set("freed_at_once", "yes").freed_at_once, ANSWER_YES);
	assert_int_equal(set("lifetime", "only_whole_group_leaked").lifetime,
			 LIFETIME_ONLY_WHOLE_GROUP_LEAKED);
	assert_int_equal(set("lifetime", "only_chain_leaked").lifetime, LIFETIME_ONLY_CHAIN_LEAKED);
	refused("lifetime", "leaked", "only_leaked");
	refused("lifetime", "", "only_leaked");
	filter_init(&f);
	assert_int_equal(filter_set(&f, t.view, "sizemin", "1", &err), -ENOENT);
	assert_non_null(strstr(err.text, "sizemin"));
	assert_int_equal(filter_set(&f, t.view, "", "1", &err), -ENOENT);
	assert_int_equal(filter_set(&f, t.view, "from_", "1", &err), -ENOENT);
}

/* What bands can be by. */
static void test_groupings(void **state)
{
	static const char *const words[] = {[GROUP_BY_BACKTRACE] = "backtrace",
					    [GROUP_BY_SITE] = "site",
					    [GROUP_BY_FUNCTION] = "function",
					    [GROUP_BY_MODULE] = "module"};
	struct series_filters filters = {.count = 0};
	struct err_text err = {0};

	(void)state;
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct series_question q = {.filters = &filters, .grouping = GROUP_BY_MODULE - i};

		assert_int_equal(series_by(words[i], "by", &q, &filters, &err), 0);
		assert_int_equal(q.grouping, i);
		assert_null(q.filters);
	}
	assert_int_equal(series_by("", "by", &(struct series_question){0}, &filters, &err),
			 -EINVAL);
}

static void test_every_filter_is_known(void **state)
{
	static const char *const names[] = {
#define NAME(type, member, unset, reader, name, ...) name,
		FILTERS(NAME)
#undef NAME
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct err_text err = {0};
		struct filter f;

		filter_init(&f);
		assert_int_not_equal(filter_set(&f, t.view, names[i], "\001", &err), -ENOENT);
		filter_done(&f);
	}
}

/* Sets a filter to some value that it takes. */
static void set_any(struct filter *f, const char *name)
{
	static const char *const values[] = {"1",	    "yes",	     "main",
					     "only_leaked", "libexample.so", "a"};
	struct err_text err = {0};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (!filter_set(f, t.view, name, values[i], &err))
			return;
	fail_msg("%s: %s", name, err.text);
}

/* Two texts of one filter are two conditions. Returns whether the filter takes both. */
static bool check_texts(const char *name)
{
	static const char *const texts[] = {"main", "a"};
	struct buf keys[2] = {0};
	unsigned taken = 0;

	for (size_t i = 0; i < 2; i++) {
		struct err_text err;
		struct filter f;

		filter_init(&f);
		taken += !filter_set(&f, t.view, name, texts[i], &err);
		assert_int_equal(filter_put_key(&f, &keys[i]), 0);
		filter_done(&f);
	}
	if (taken == 2 && strcmp(name, "hide") != 0)
		assert_false(keys[0].length == keys[1].length &&
			     !memcmp(keys[0].data, keys[1].data, keys[0].length));
	buf_done(&keys[0]);
	buf_done(&keys[1]);
	return taken == 2;
}

static void test_texts_are_in_keys(void **state)
{
	static const char *const names[] = {
#define NAME(type, member, unset, reader, name, ...) name,
		FILTERS(NAME)
#undef NAME
	};
	unsigned taken = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		taken += check_texts(names[i]);
	assert_true(taken >= 3);
}

/* Each filter is a condition of its own, in what is asked and in keys; but `hide` is none. */
static void test_every_filter_is_asked(void **state)
{
	static const char *const names[] = {
#define NAME(type, member, unset, reader, name, ...) name,
		FILTERS(NAME)
#undef NAME
	};
	struct buf keys[sizeof(names) / sizeof(names[0]) + 1] = {0};
	size_t count = sizeof(names) / sizeof(names[0]);

	(void)state;
	for (size_t i = 0; i <= count; i++) {
		struct filter f;

		filter_init(&f);
		assert_int_equal(filter_asked(&f), 0);
		assert_int_equal(filter_columns(&f), 0);
		if (i < count)
			set_any(&f, names[i]);
		assert_int_equal(filter_put_key(&f, &keys[i]), 0);
		if (i < count && !strcmp(names[i], "hide"))
			assert_int_equal(filter_asked(&f), 0);
		else if (i < count)
			assert_int_not_equal(filter_asked(&f), 0);
		filter_done(&f);
	}
	for (size_t i = 0; i < count; i++)
		for (size_t k = i + 1; k <= count; k++) {
			bool same = keys[i].length == keys[k].length &&
				    !memcmp(keys[i].data, keys[k].data, keys[i].length);

			assert_int_equal(same, k == count && !strcmp(names[i], "hide"));
		}
	for (size_t i = 0; i <= count; i++)
		buf_done(&keys[i]);
}

static void test_expressions(void **state)
{
	struct filter f = set("function_regex", "libexample.*0x200");
	char long_one[5000];
	struct report report;
	struct err_text err = {0};

	(void)state;
	assert_int_equal(matched(&f), 2);
	filter_done(&f);
	f = set("function_regex", "0x100"); /* a caller */
	assert_int_equal(matched(&f), 2);
	filter_done(&f);
	f = set("function_regex", "^0x100");
	assert_int_equal(matched(&f), 0);
	filter_done(&f);
	f = set("negative_function_regex", "0x100");
	assert_int_equal(matched(&f), 0);
	filter_done(&f);
	f = set("negative-function-regex", "nothing like it");
	assert_int_equal(matched(&f), 2);
	filter_done(&f);
	f = set("source_regex", ".");
	assert_int_equal(matched(&f), 0);
	filter_done(&f);
	f = set("negative_source_regex", ".");
	assert_int_equal(matched(&f), 2);
	filter_done(&f);
	refused("function_regex", "(", "character 2");
	refused("source_regex", "[z-a]", "regular expression");
	refused("negative_function_regex", "\\C", "regular expression");
	memset(long_one, 'a', sizeof(long_one) - 1);
	long_one[sizeof(long_one) - 1] = 0;
	refused("function_regex", long_one, "at most 4096 bytes");
	/* One that would run for years is stopped. */
	f = set("function_regex", "^(((.+)+)+)+[^\\]]$");
	assert_int_equal(query_report(t.view, &f, &report, &err), -EINVAL);
	assert_non_null(strstr(err.text, "too many steps"));
	filter_done(&f);
}

static void test_set_twice(void **state)
{
	struct filter f = set("function_regex", "a");
	struct err_text err = {0};

	(void)state;
	assert_int_equal(filter_set(&f, t.view, "function_regex", "b", &err), 0);
	assert_string_equal(f.function_regex, "b");
	assert_int_equal(filter_set(&f, t.view, "function_regex", "(", &err), -EINVAL);
	assert_string_equal(f.function_regex, "b");
	filter_done(&f);
}

/* What --help says of each filter: how its value looks, by an example that is one. Choices are
 * listed in front, as the page reads them. */
static void check_text(const char *name, const char *takes, const char *about)
{
	const char *example = strrchr(about, ':');
	char value[64] = "", choice[32] = "";

	if (!strcmp(takes, "WHICH")) {
		sscanf(about, "%31[a-z_]", choice);
		set(name, choice);
		return;
	}
	if (!example || sscanf(example, ": %63[^, ]", value) != 1)
		fail_msg("--%s %s has no example: %s", name, takes, about);
	if (value[0] == '\'') {
		memmove(value, value + 1, strlen(value));
		value[strlen(value) - 1] = '\0';
	}
	/* This recording has few threads and backtraces, and no such module. */
	if (strcmp(name, "thread") && !strstr(name, "backtraces") && strcmp(name, "module")) {
		struct filter f = set(name, value);

		filter_done(&f);
	}
	if (strlen(about) > 110)
		fail_msg("--%s: more than a short sentence: %s", name, about);
}

static void test_texts(void **state)
{
	(void)state;
#define CHECK_TEXT(type, member, unset, reader, name, takes, about, ...)                           \
	check_text(name, takes, about);
	FILTERS(CHECK_TEXT)
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_epoch_begins),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_before_the_start),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_groupings),
		cmocka_unit_test(test_every_filter_is_known),
		cmocka_unit_test(test_texts_are_in_keys),
		cmocka_unit_test(test_every_filter_is_asked),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_set_twice),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, open_recording, close_recording);
}
