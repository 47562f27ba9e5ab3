/* collector leaks: what was never freed, with backtraces. */
#include "collector/cli/question.h"
#include "collector/cli/ranking.h"

#include "base/ban.h"

#define FRAMES_SHOWN 8

static const struct option leaks_table[] = {
	OPTION_NUMBER(struct question_options, count, "count", "N", "rows shown (10)"),
	OPTION_TEXT(struct question_options, by, "by", "WHAT",
		    "a row for each site (call site, the default) or each backtrace"),
	SYMBOL_OPTIONS(struct question_options, symbols),
	{0},
};

static const struct option_group leaks_groups[] = {
	{NULL, leaks_table},
	{"Filters: only allocations that fit are counted", filter_table},
	{"Common options", common_table},
	{0},
};

static const struct question_options defaults = {.common.data = DEFAULT_DATA, .count = 10};

static int run_leaks(struct command_call *call)
{
	return ranking_run(call, VALUE_LEAKED, FRAMES_SHOWN);
}

const struct command command_leaks = {
	.name = "leaks",
	.summary = "what was never freed, with backtraces",
	.usage = "[OPTION...] [STREAM]",
	.about = "Blocks that were not freed when the program ended, by call site. A block whose\n"
		 "end was hidden by a loss in the recording is not among them. While a program\n"
		 "runs, this is what it has in use now.\n",
	.examples = "  collector leaks last\n"
		    "  collector leaks last --lifetime-min 10s --size-min 1K\n",
	.groups = leaks_groups,
	.options_size = sizeof(struct question_options),
	.defaults = &defaults,
	.arguments_max = 1,
	.run = run_leaks,
};
