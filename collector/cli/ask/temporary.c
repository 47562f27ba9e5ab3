/* collector temporary: shows temporary blocks, which were freed before their thread allocated
 * again. */
#include "collector/cli/ask/question.h"
#include "collector/cli/ask/ranking.h"

#include "base/ban.h"

#define FRAMES_SHOWN 5

static const struct option temporary_table[] = {
	OPTION_NUMBER(struct question_options, count, "count", "N", "rows shown (10)"),
	OPTION_TEXT(
		struct question_options, by, "by", "WHAT",
		"a row for each site (call site, the default), function (whatever the line and the "
		"build) or backtrace"),
	{0},
};

static const struct option_group temporary_groups[] = {
	{NULL, temporary_table},
	{"What to look at", question_table},
	{"Filters: only allocations that fit are counted", filter_table},
	{"Common options", common_table},
	{0},
};

static const struct question_options defaults = {.common.data = DEFAULT_DATA, .count = 10};

static int run_temporary(struct command_call *call)
{
	return ranking_run_temporary(call, FRAMES_SHOWN);
}

const struct command command_temporary = {
	.name = "temporary",
	.summary = "temporary blocks: freed before the next allocation, by call site",
	.usage = "[OPTION...] [STREAM]",
	.about =
		"Temporary blocks are those that were freed, or moved by a realloc, before their\n"
		"thread allocated again, as heaptrack counts them: a variable could often replace\n"
		"them. Sites with most such blocks come first. A block is not counted if the\n"
		"clock is too coarse to tell whether its free or the next allocation came first.\n"
		"(The fields `temporary` of JSON and of the REST API hold whatever was freed.)\n",
	.examples = "  collector temporary last\n"
		    "  collector temporary last --size-max 64 --by backtrace\n",
	.groups = temporary_groups,
	.options_size = sizeof(struct question_options),
	.defaults = &defaults,
	.arguments_max = 1,
	.run = run_temporary,
};
