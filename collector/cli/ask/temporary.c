/* collector temporary: shows temporary blocks, which were freed before their thread allocated
 * again. */
#include "collector/cli/ask/kind.h"
#include "collector/cli/ask/ranking.h"

#include "base/ban.h"

#define FRAMES_SHOWN 5

static const struct option temporary_table[] = {
	OPTION_COUNT("rows shown"),
	OPTION_BY,
	{0},
};

static const struct option_group temporary_groups[] = {
	{NULL, temporary_table},
	{"What to look at", question_table},
	FILTER_GROUPS,
};

static const struct question_kind temporary_question = {
	.value = VALUE_ALLOCATED, .frames = FRAMES_SHOWN, RANKING_ASKS(ranking_ask_temporary)};

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
	.defaults = &question_defaults,
	ASKS(temporary_question),
};
