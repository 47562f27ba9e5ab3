/* What a program and its commands are called in what it prints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cli/program.h"

static void says(const char *text, const char *expected)
{
	struct buf out = {0};

	program_words(&out, text);
	assert_string_equal(buf_text(&out), expected);
	buf_done(&out);
}

static void stays(const char *text)
{
	says(text, text);
}

/* ---- how it was started ---- */

static void test_titles(void **state)
{
	static const struct {
		const char *argv0, *own, *title, *hint;
	} cases[] = {
		{"agent", "agent", "agent", "agent run"},
		{"./agent", "agent", "agent", "agent run"},
		{"/opt/heapcast/collector", "collector", "collector", "agent run"},
		{"heapcast", "collector", "heapcast", "heapcast run"},
		{"heapcast agent", "agent", "heapcast", "heapcast run"},
		{"/usr/bin/heapcast-agent", "agent", "heapcast", "heapcast run"},
		{"heapcast-collector", "collector", "heapcast", "heapcast run"},
		{"/opt/heapcast-1/agent", "agent", "agent", "agent run"},
		{"my-heapcast", "agent", "agent", "agent run"},
		{"", "agent", "agent", "agent run"},
		{NULL, "collector", "collector", "agent run"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		program_started(cases[i].argv0, cases[i].own);
		assert_string_equal(program_title(), cases[i].title);
		says("agent run", cases[i].hint);
	}
}

/* ---- texts ---- */

static void test_own_names_stay(void **state)
{
	(void)state;
	program_started("agent", "agent");
	stays("agent run -- CMD, then: collector report FILE");
	stays("");
}

static void test_commands(void **state)
{
	(void)state;
	program_started("heapcast", "collector");
	says("collector top", "heapcast top");
	says("agent run -- CMD, then: collector report FILE",
	     "heapcast run -- CMD, then: heapcast report FILE");
	says("agent attach, agent serve, agent ctl and agent pair",
	     "heapcast attach, heapcast agent serve, heapcast agent ctl and heapcast agent pair");
	says("'collector help COMMAND' (`agent --help`)",
	     "'heapcast help COMMAND' (`heapcast agent --help`)");
	says("collector COMMAND, agent COMMAND", "heapcast COMMAND, heapcast agent COMMAND");
	says("agent --variables", "heapcast agent --variables");
	says("  collector gather &\n  agent run", "  heapcast gather &\n  heapcast run");
	says("Start collector list.", "Start heapcast list.");
	says("'collector\nledger', 'agent\nserve'", "'heapcast\nledger', 'heapcast agent\nserve'");
	says("collector pairs, collector pair: both", "heapcast pairs, heapcast pair: both");
	/* Once is enough: heapcast agent serve is not heapcast heapcast agent serve. */
	says("heapcast run and collector top", "heapcast run and heapcast top");
}

/* Remarks behind examples keep their column. */
static void test_columns(void **state)
{
	(void)state;
	program_started("heapcast", "collector");
	says("  agent run x         one\n  collector top       two\n  other               three\n",
	     "  heapcast run x      one\n  heapcast top        two\n  other               three\n");
	says("agent serve   near\nagent serve            far",
	     "heapcast agent serve  near\nheapcast agent serve   far");
	says("agent run && collector top      both", "heapcast run && heapcast top    both");
	says("  a    b", "  a    b");
	says("agent run    a    b", "heapcast run  a    b");
}

static void test_prose(void **state)
{
	static const char *const articles[] = {"the",  "a",    "no",	  "an",	   "each",
					       "this", "that", "another", "which", "one"};
	char text[80];

	(void)state;
	program_started("heapcast", "collector");
	for (size_t i = 0; i < sizeof(articles) / sizeof(*articles); i++) {
		snprintf(text, sizeof(text), "%s collector list", articles[i]);
		stays(text);
		snprintf(text, sizeof(text), "of %s agent run", articles[i]);
		stays(text);
	}
	/* Words that only end as an article does. */
	says("breathe collector list", "breathe heapcast list");
	says("data agent run", "data heapcast run");
	stays("a collector asks, agents answer: collector and agent");
	stays("agent runs, collector lists");
	stays("the agent");
	stays("agent ");
	stays("collector ");
	stays("agent");
	stays("collector");
	stays("agent\n  run"); /* two columns */
	stays("the collector\nlist");
	stays("agent top, collector run"); /* the other one's commands */
	stays("heapcast-agent serve, heapcast-collector list, ./agent run, bin/collector top");
	stays("subagent run, my_collector list");
	stays("collector list-of-things");
	says("agent run. collector list/ collector top...",
	     "heapcast run. heapcast list/ heapcast top...");
}

static void test_outputs(void **state)
{
	FILE *file = tmpfile();
	char text[80];
	size_t n;

	(void)state;
	program_started("heapcast", "collector");
	assert_non_null(file);
	program_print(file, "collector top\n");
	assert_int_equal(program_printf(file, "collector %s, %d\n", "leaks", 7),
			 (int)strlen("heapcast leaks, 7\n"));
	rewind(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	assert_string_equal(text, "heapcast top\nheapcast leaks, 7\n");
	fclose(file);

	assert_ptr_equal(program_text(text, sizeof(text), "collector top"), text);
	assert_string_equal(text, "heapcast top");
	assert_string_equal(program_text(text, 9, "collector top"), "heapcast");
}

/* ---- lists ---- */

static void test_sides(void **state)
{
	(void)state;
	assert_int_equal(program_of("run"), PROGRAM_AGENT);
	assert_int_equal(program_of("attach"), PROGRAM_AGENT);
	assert_int_equal(program_of("top"), PROGRAM_COLLECTOR);
	assert_int_equal(program_of("serve"), PROGRAM_COLLECTOR); /* both have it */
	assert_int_equal(program_of("ctl"), PROGRAM_COLLECTOR);
	assert_int_equal(program_of("pair"), PROGRAM_COLLECTOR);
	assert_int_equal(program_of("agent"), PROGRAM_NONE);
	assert_int_equal(program_of("to"), PROGRAM_NONE);
	assert_int_equal(program_of("topp"), PROGRAM_NONE);
	assert_int_equal(program_of(""), PROGRAM_NONE);
}

struct seen {
	size_t count, runs, serves;
};

static void see(void *context, const char *command)
{
	struct seen *seen = context;

	assert_true(program_of(command) != PROGRAM_NONE);
	seen->count++;
	seen->runs += !strcmp(command, "run");
	seen->serves += !strcmp(command, "serve");
}

static void test_each_once(void **state)
{
	struct seen seen = {0};

	(void)state;
	program_each(see, &seen);
	assert_in_range(seen.count, 20, 100);
	assert_int_equal(seen.runs, 1);
	assert_int_equal(seen.serves, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_titles),	 cmocka_unit_test(test_own_names_stay),
		cmocka_unit_test(test_commands), cmocka_unit_test(test_columns),
		cmocka_unit_test(test_prose),	 cmocka_unit_test(test_outputs),
		cmocka_unit_test(test_sides),	 cmocka_unit_test(test_each_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
