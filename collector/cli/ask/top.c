/* collector top: shows who holds the memory, with backtraces. */
#include "collector/cli/ask/kind.h"
#include "collector/cli/ask/ranking.h"

#include "base/ban.h"

#define FRAMES_SHOWN 5

static const struct option top_table[] = {
	OPTION_COUNT("rows shown"),
	OPTION_BY,
	OPTION_FAIL_IF,
	{0},
};

static const struct option_group top_groups[] = {
	{NULL, value_table},
	{"Rows", top_table},
	{"What to look at", question_table},
	FILTER_GROUPS,
};

static const struct question_kind top_question = {
	.value = VALUE_ALLOCATED, .frames = FRAMES_SHOWN, RANKING_ASKS(ranking_ask)};

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
	.defaults = &question_defaults,
	ASKS(top_question),
};
