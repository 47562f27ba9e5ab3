/* Options of all kinds: from the command line and the environment, and what a wrong one is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/options.h"

#define ARGUMENTS_MAX 16
#define FIRST	      1
#define SECOND	      2

struct values {
	bool quiet, stacks;
	const char *output;
	uint64_t count, limit, wait_ns;
	uint32_t policy;
	struct option_list keys;
	struct option_pairs filters;
	uint64_t even;
};

static int parse_even(void *options, const char *text)
{
	struct values *v = options;

	v->even = (uint64_t)strlen(text);
	return v->even % 2 ? -1 : 0;
}

static const char *const policies[] = {"block", "thin", NULL};
static const struct option_own even = {
	.parse = parse_even, .size = sizeof(uint64_t), .takes = "an even text"};

#define V struct values
static const struct option first_table[] = {
	OPTION_LETTER('q', V, quiet, FLAG, "quiet", NULL, "say nothing"),
	OPTION_LETTER('o', V, output, TEXT, "output", "FILE", "write there"),
	OPTION_NUMBER(V, count, "count", "N", "so many"),
	OPTION_SIZE(V, limit, "memory-limit", "SIZE", "at most"),
	OPTION_TIME(V, wait_ns, "wait", "TIME", "so long"),
	OPTION_LIST(V, keys, "key", "FILE", "a key"),
	{0},
};
static const struct option second_table[] = {
	OPTION_PAIR(V, filters, "size-min", "SIZE", "larger ones"),
	OPTION_PAIR(V, filters, "size-max", "SIZE", "smaller ones"),
	OPTION_NUMBER(V, count, "count", "N", "the same again"),
	{.name = "policy",
	 .kind = OPTION_KIND_CHOICE,
	 .argument = "block|thin",
	 .help = "how",
	 .offset = offsetof(V, policy),
	 .marks = FIRST,
	 .words = policies},
	{.name = "stacks",
	 .kind = OPTION_KIND_FLAG,
	 .argument = "yes|no",
	 .help = "with stacks",
	 .offset = offsetof(V, stacks),
	 .marks = FIRST | SECOND},
	{.name = "even",
	 .kind = OPTION_KIND_OWN,
	 .help = "an own kind",
	 .offset = offsetof(V, even),
	 .marks = SECOND,
	 .own = &even},
	{0},
};
static const struct option_group groups[] = {{NULL, first_table}, {"More", second_table}, {0}};
static const struct option_renamed renamed[] = {{"at-most", "memory-limit"}, {0}};

static struct option_set set = {.groups = groups, .renamed = renamed};
static struct values values;
static struct option_sources sources;
static const struct option_target target = {&set, &values, &sources};
static char *argv[ARGUMENTS_MAX];
static int argc;

static void clear(void)
{
	options_done(&set, &values);
	memset(&values, 0, sizeof(values));
	memset(&sources, 0, sizeof(sources));
}

/* Parses the words of `line`, parted by single blanks. Returns as options_parse. */
static int parse(const char *line, struct err_text *err)
{
	static char text[256];
	char *rest;

	snprintf(text, sizeof(text), "%s", line);
	argc = 0;
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	clear();
	return options_parse(&target, argc, argv, err);
}

static void expect_error(const char *line, const char *sentence)
{
	struct err_text err = {{0}};

	assert_int_equal(parse(line, &err), -22);
	assert_string_equal(err.text, sentence);
}

static void test_kinds(void **state)
{
	struct err_text err;

	(void)state;
	assert_int_equal(parse("-q --output=x --count 7 --memory-limit 4M --wait 2s --key a --key "
			       "b --policy thin",
			       &err),
			 14);
	assert_true(values.quiet);
	assert_string_equal(values.output, "x");
	assert_int_equal(values.count, 7);
	assert_int_equal(values.limit, 4 << 20);
	assert_int_equal(values.wait_ns, 2000000000);
	assert_int_equal(values.keys.count, 2);
	assert_string_equal(values.keys.texts[1], "b");
	assert_int_equal(values.policy, 1);
	assert_int_equal(
		parse("--size-min 1 --size-max 2 --stacks yes --even=ab --at-most 1M -oy", &err),
		10);
	assert_int_equal(values.filters.count, 2);
	assert_string_equal(values.filters.list[1].name, "size-max");
	assert_string_equal(values.filters.list[1].value, "2");
	assert_true(values.stacks);
	assert_int_equal(values.even, 2);
	assert_int_equal(values.limit, 1 << 20);
	assert_string_equal(values.output, "y");
	assert_int_equal(parse("--stacks on --no-stacks --quiet=off", &err), 4);
	assert_false(values.stacks);
	assert_false(values.quiet);
}

static void test_arguments(void **state)
{
	struct err_text err;
	int first;

	(void)state;
	first = parse("a -q b --count 3 - -- --wait c", &err);
	assert_int_equal(argc - first, 5);
	assert_string_equal(argv[first], "a");
	assert_string_equal(argv[first + 1], "b");
	assert_string_equal(argv[first + 2], "-");
	assert_string_equal(argv[first + 3], "--wait");
	assert_string_equal(argv[first + 4], "c");
	set.stops = true;
	assert_int_equal(parse("-q cmd --count 3", &err), 1);
	assert_int_equal(values.count, 0);
	assert_int_equal(parse("-q -- --cmd", &err), 2);
	set.stops = false;
	assert_int_equal(parse("-q --help --nonsense", &err), 1);
	assert_true(sources.help);
	assert_int_equal(parse("", &err), 0);
}

static void test_wrong(void **state)
{
	(void)state;
	expect_error("--cuont 7", "there is no option --cuont; did you mean --count?");
	expect_error("--memory=1M", "there is no option --memory; did you mean --memory-limit?");
	expect_error("--nonsense", "there is no option --nonsense (--help lists them)");
	expect_error("--no-output", "there is no option --no-output (--help lists them)");
	expect_error("-x", "there is no option -x (--help lists them)");
	expect_error("--count", "--count needs a value: --count N");
	expect_error("-o", "-o needs a value: -o FILE");
	expect_error("--count many", "--count takes a whole number, not 'many'");
	expect_error("--at-most much",
		     "--memory-limit takes a size such as 4096, 512K or 8M, not 'much'");
	expect_error("--wait long", "--wait takes a time such as 10s, 5m or 500ms, not 'long'");
	expect_error("--quiet=maybe", "--quiet takes 0 or 1, not 'maybe'");
	expect_error("--stacks maybe", "--stacks takes yes|no, not 'maybe'");
	expect_error("--policy hard", "--policy takes block|thin, not 'hard'");
	expect_error("--even=odd", "--even takes an even text, not 'odd'");
	set.marks = FIRST;
	expect_error("--even=ab", "there is no option --even (--help lists them)");
	set.marks = 0;
}

static const char *get(const void *context, const char *name)
{
	for (const char *const *at = context; *at; at += 2)
		if (!strcmp(at[0], name))
			return at[1];
	return NULL;
}

static void test_environment(void **state)
{
	static const char *const variables[] = {"HEAPCAST_COUNT",
						"9",
						"HEAPCAST_AT_MOST",
						"2M",
						"HEAPCAST_KEY",
						"a,,b",
						"HEAPCAST_SIZE_MIN",
						"5",
						"HEAPCAST_QUIET",
						"",
						"HEAPCAST_STACKS",
						"on",
						"HEAPCAST_WAIT",
						"long",
						NULL};
	const struct option_environment from = {get, variables};
	struct err_text err = {{0}};

	(void)state;
	/* What the command line says need not make sense in the environment. */
	parse("--count 3 --wait 1s", &err);
	assert_int_equal(options_variables(&target, &from, &err), 0);
	assert_int_equal(values.count, 3);
	assert_int_equal(values.limit, 2 << 20);
	assert_int_equal(values.keys.count, 2);
	assert_string_equal(values.keys.texts[1], "b");
	assert_int_equal(values.filters.count, 1);
	assert_false(values.quiet);
	assert_int_equal(sources.of[0], OPTION_DEFAULT);
	assert_true(values.stacks);
	clear();
	assert_int_equal(options_variables(&target, &from, &err), -22);
	assert_string_equal(err.text,
			    "HEAPCAST_WAIT takes a time such as 10s, 5m or 500ms, not 'long'");
	clear();
	sources.now = OPTION_VARIABLE;
	assert_int_equal(options_put(&target, 5, "a,b", "x", &err), 0);
	argv[0] = (char *)(uintptr_t) "--key=c";
	assert_int_equal(options_parse(&target, 1, argv, &err), 1);
	assert_int_equal(values.keys.count, 1);
	assert_string_equal(values.keys.texts[0], "c");
	assert_int_equal(sources.of[5], OPTION_ARGUMENT);
}

static int done(void **state)
{
	(void)state;
	clear();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_environment),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}
