/* Options of all kinds: from the command line and the environment, and what a wrong one is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/cli/options.h"

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
	assert_int_equal(parse("--policy thin --policy block", &err), 4);
	assert_int_equal(values.policy, 0);
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

/* The beginning of a name is enough if no other one begins so, be it the first or the last. */
static void test_beginnings(void **state)
{
	struct err_text err = {{0}};

	(void)state;
	assert_int_equal(parse("--q --o x --c 7 --m 4M --w 2s --k a --p thin --st yes", &err), 15);
	assert_true(values.quiet);
	assert_string_equal(values.output, "x");
	assert_int_equal(values.count, 7);
	assert_int_equal(values.limit, 4 << 20);
	assert_int_equal(values.wait_ns, 2000000000);
	assert_int_equal(values.keys.count, 1);
	assert_int_equal(values.policy, 1);
	assert_true(values.stacks);
	assert_int_equal(parse("--e=ab", &err), 1);
	assert_int_equal(values.even, 2);
	expect_error("--s=1",
		     "--s is the beginning of several options: --size-min, --size-max, --stacks");
	expect_error("--quieter", "there is no option --quieter; did you mean --quiet?");
}

static void test_wrong(void **state)
{
	(void)state;
	expect_error("--cuont 7", "there is no option --cuont; did you mean --count?");
	expect_error("--memory-limti=1M",
		     "there is no option --memory-limti; did you mean --memory-limit?");
	expect_error("--size=1M",
		     "--size is the beginning of several options: --size-min, --size-max");
	assert_int_equal(parse("--mem 1M", NULL), 2);
	assert_int_equal(values.limit, 1 << 20);
	expect_error("--nonsense", "there is no option --nonsense (--help lists them)");
	expect_error("--no-output", "there is no option --no-output (--help lists them)");
	expect_error("--no-stacks=yes", "there is no option --no-stacks (--help lists them)");
	expect_error("--on-stacks", "there is no option --on-stacks (--help lists them)");
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

/* ---- --help ---- */

static void print_texts(void)
{
	options_print_wrapped("one", 4, 4);
	options_print_wrapped("", 4, 4);
	options_print_wrapped("a  b", 10, 4);
	options_print_wrapped(
		"123456789 123456789 123456789 123456789 123456789 123456789 123456789 "
		"123456789 ",
		0, 4);
	options_print_wrapped(
		"123456789 123456789 123456789 123456789 123456789 123456789 123456789 "
		"12345 7890 x",
		4, 4);
	options_print_wrapped(
		"123456789 123456789 123456789 123456789 123456789 123456789 123456789 "
		"12345 789 x",
		0, 0);
}

static void print_help(void)
{
	options_print_help(&set);
}

/* Two blanks at least are between a row and its text, or the text is in the next line. */
static void print_wide_rows(void)
{
	static const struct option rows[] = {
		OPTION_LETTER('n', V, output, TEXT, "names", "ABCDEFGHIJK", "three"),
		OPTION_TEXT(V, output, "names", "ABCDEFGHIJKL", "two"),
		OPTION_TEXT(V, output, "names", "ABCDEFGHIJKLM", "no room"),
		OPTION_FLAG(V, quiet, "as-long-as-it-can-", "two"),
		OPTION_FLAG(V, quiet, "as-long-as-it-can-b", "no room"),
		{0},
	};
	static const struct option_group wide[] = {{NULL, rows}, {0}};
	static const struct option_set wide_set = {.groups = wide};

	options_print_help(&wide_set);
}

static char *filled(const void *context, const char *text)
{
	return strcmp(text, context) ? NULL : strdup("in other words");
}

/* What `print` prints, captured. */
static void expect_printed(void (*print)(void), const char *expected)
{
	char got[4000];
	FILE *to = tmpfile(), *usual = stdout;

	assert_non_null(to);
	stdout = to;
	print();
	stdout = usual;
	rewind(to);
	got[fread(got, 1, sizeof(got) - 1, to)] = '\0';
	fclose(to);
	assert_string_equal(got, expected);
}

static void test_help(void **state)
{
	(void)state;
	expect_printed(print_texts,
		       "one\n"
		       "\n"
		       " a b\n"
		       "123456789 123456789 123456789 123456789 123456789 123456789 123456789 "
		       "123456789\n"
		       "123456789 123456789 123456789 123456789 123456789 123456789 123456789 "
		       "12345\n    7890 x\n"
		       "123456789 123456789 123456789 123456789 123456789 123456789 123456789 "
		       "12345 789\nx\n");
	expect_printed(print_help, "\nOptions:\n"
				   "  -q, --quiet               say nothing\n"
				   "  -o, --output FILE         write there\n"
				   "  -n, --count N             so many\n"
				   "      --memory-limit SIZE   at most\n"
				   "      --wait TIME           so long\n"
				   "      --key FILE            a key\n"
				   "\nMore:\n"
				   "      --size-min SIZE       larger ones\n"
				   "      --size-max SIZE       smaller ones\n"
				   "  -n, --count N             the same again\n"
				   "      --policy block|thin   how\n"
				   "      --stacks yes|no       with stacks\n"
				   "      --even                an own kind\n");
	expect_printed(print_wide_rows, "\nOptions:\n"
					"  -n, --names ABCDEFGHIJK   three\n"
					"      --names ABCDEFGHIJKL  two\n"
					"      --names ABCDEFGHIJKLM\n"
					"                            no room\n"
					"      --as-long-as-it-can-  two\n"
					"      --as-long-as-it-can-b\n"
					"                            no room\n");
	set.marks = SECOND;
	set.filled = filled;
	set.context = "an own kind";
	expect_printed(print_help, "\nOptions:\n\nMore:\n"
				   "      --stacks yes|no       with stacks\n"
				   "      --even                in other words\n");
	set.marks = 0;
	set.filled = NULL;
}

/* ---- names ---- */

static const char *elsewhere(const struct option_set *all, const char *name, size_t length)
{
	assert_ptr_equal(all, &set);
	return length == 4 && !memcmp(name, "away", 4) ? "collector go" : NULL;
}

static void test_names(void **state)
{
	static const struct {
		const char *name;
		size_t size;
		const char *expected;
	} variables[] = {
		{"key", 64, "HEAPCAST_KEY"}, {"size-min", 64, "HEAPCAST_SIZE_MIN"},
		{"", 64, "HEAPCAST_"},	     {"key", 13, "HEAPCAST_KEY"},
		{"key", 12, "HEAPCAST_KE"},  {"a1-Z", 64, "HEAPCAST_A1_Z"},
	};
	char out[65];

	(void)state;
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		memset(out, '#', sizeof(out));
		options_variable(variables[i].name, out, variables[i].size);
		assert_string_equal(out, variables[i].expected);
		assert_int_equal(out[strlen(out) + 1], '#');
	}
	for (int i = 0; i < 12; i++) {
		const struct option *o = options_at(&set, (size_t)i);

		assert_ptr_equal(o, i < 6 ? &first_table[i] : &second_table[i - 6]);
		/* The second --count is never found. */
		assert_int_equal(options_find(&set, o->name, strlen(o->name)), i == 8 ? 2 : i);
		assert_int_equal(options_find(&set, o->name, strlen(o->name) - 1), -2);
	}
	assert_null(options_at(&set, 12));
	assert_int_equal(options_find(&set, "at-most", 7), 3);
	assert_int_equal(options_find(&set, "at-mos", 6), -2);
	assert_string_equal(options_old_name(&set, "memory-limit"), "at-most");
	assert_null(options_old_name(&set, "count"));
	set.elsewhere = elsewhere;
	expect_error("--away=x", "--away is an option of `collector go` only");
	expect_error("--awax", "there is no option --awax (--help lists them)");
	set.elsewhere = NULL;
	expect_error("-xy", "there is no option -xy (--help lists them)");
	set.marks = SECOND;
	expect_error("-q", "there is no option -q (--help lists them)");
	set.marks = 0;
}

/* The line of the file, the source, and which source wins. */
static void test_sources(void **state)
{
	struct err_text err = {{0}};

	(void)state;
	clear();
	sources.now = OPTION_FILE;
	sources.line_now = 17;
	assert_int_equal(options_put(&target, 2, "5", "count", &err), 0);
	assert_int_equal(options_put(&target, 5, "a", "key", &err), 0);
	sources.line_now = 18;
	assert_int_equal(options_put(&target, 5, "b,c", "key", &err), 0);
	assert_int_equal(options_put(&target, 2, "many", "count", &err), -22);
	assert_string_equal(err.text, "count takes a whole number, not 'many'");
	assert_int_equal(sources.of[2], OPTION_FILE);
	assert_int_equal(sources.line[2], 17);
	assert_int_equal(sources.line[5], 18);
	assert_int_equal(values.keys.count, 2); /* a file has no commas */
	assert_string_equal(values.keys.texts[1], "b,c");
	sources.now = OPTION_VARIABLE;
	assert_int_equal(options_put(&target, 5, ",d,,e,", "x", &err), 0);
	assert_int_equal(values.keys.count, 2);
	assert_string_equal(values.keys.texts[0], "d");
	assert_string_equal(values.keys.texts[1], "e");
	assert_int_equal(options_put(&target, 0, "", "x", &err), 0);
	assert_int_equal(sources.of[0], OPTION_DEFAULT); /* it says nothing */
	assert_int_equal(options_put(&target, 1, "", "x", &err), 0);
	assert_int_equal(sources.of[1], OPTION_VARIABLE); /* a text may be empty */
	sources.now = OPTION_FILE;
	assert_int_equal(options_put(&target, 5, "late", "x", &err), 0);
	assert_string_equal(values.keys.texts[0], "d");
	assert_int_equal(sources.of[5], OPTION_VARIABLE);
	options_done(&set, &values);
	assert_null(values.keys.texts);
	assert_int_equal(values.keys.count, 0);
	assert_null(values.filters.list);
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
		cmocka_unit_test(test_kinds),	    cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_beginnings),  cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_environment), cmocka_unit_test(test_help),
		cmocka_unit_test(test_names),	    cmocka_unit_test(test_sources),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}
