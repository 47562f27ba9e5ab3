/* collector top: shows who holds the memory, with backtraces. */
#include "collector/cli/ask/fail_if.h"
#include "collector/cli/ask/question.h"
#include "collector/cli/ask/ranking.h"

#include "base/ban.h"

#define FRAMES_SHOWN 5

static const struct option top_table[] = {
	OPTION_NUMBER(struct question_options, count, "count", "N", "rows shown (10)"),
	OPTION_TEXT(
		struct question_options, by, "by", "WHAT",
		"a row for each site (call site, the default), function (whatever the line and the "
		"build) or backtrace"),
	OPTION_FAIL_IF,
	{0},
};

static const struct option_group top_groups[] = {
	{NULL, value_table},
	{"Rows", top_table},
	{"What to look at", question_table},
	{"Filters: only allocations that fit are counted", filter_table},
	{"Common options", common_table},
	{0},
};

static const struct question_options defaults = {.common.data = DEFAULT_DATA, .count = 10};

static int run_top(struct command_call *call)
{
	return ranking_run(call, VALUE_ALLOCATED, FRAMES_SHOWN);
}

const struct command command_top = {
	.name = "top",
	.summary = "the call sites that allocate, hold or leak most",
	.usage = "[OPTION...] [STREAM]",
	.about = "Call sites by bytes, with the heaviest backtrace of each. --value says what is\n"
		 "counted: allocated (the default), leaked, freed, in use at the peak, or in use\n"
		 "at the moment that --at names.\n",
	.examples = "  collector top last --value peak\n"
		    "  collector top last --at 50% --by backtrace --count 3\n",
	.groups = top_groups,
	.options_size = sizeof(struct question_options),
	.defaults = &defaults,
	.arguments_max = 1,
	.run = run_top,
};
