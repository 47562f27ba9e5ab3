/* collector top: shows who holds the memory, with backtraces. With --live, follows a recording on
 * the screen. */
#include "collector/cli/ask/kind.h"
#include "collector/cli/ask/ranking.h"
#include "collector/cli/live/live.h"

#include "base/ban.h"

#define FRAMES_SHOWN 5

static const struct option top_table[] = {
	OPTION_COUNT("rows shown"),
	OPTION_BY,
	OPTION_FAIL_IF,
	{0},
};

static const struct option live_table[] = {
	OPTION_FLAG(struct question_options, live, "live",
		    "a screen that follows the program while it runs: q ends it, ? shows the keys"),
	OPTION_LETTER('p', struct question_options, pid, NUMBER, "pid", "PID",
		      "with --live: join this process, as `agent attach` does"),
	OPTION_TEXT(struct question_options, output, "record", "FILE",
		    "with --live of a process or a command: record into FILE (default: one in a "
		    "new folder of /tmp)"),
	{0},
};

static const struct option_group top_groups[] = {
	{NULL, value_table},
	{"Rows", top_table},
	{"While it runs", live_table},
	{"What to look at", question_table},
	FILTER_GROUPS,
};

static const struct question_kind top_question = {
	.value = VALUE_ALLOCATED, .frames = FRAMES_SHOWN, RANKING_ASKS(ranking_ask)};

static int top_run(struct command_call *call)
{
	const struct question_options *o = call->options;

	if (o->live)
		return live_run(call);
	if (o->pid || o->output)
		return command_usage_error(call->command, "--%s goes with --live only",
					   o->pid ? "pid" : "record");
	if (call->argument_count > 1)
		return command_usage_error(call->command, "too many arguments: collector top %s",
					   call->command->usage);
	return question_run(call);
}

const struct command command_top = {
	.name = "top",
	.summary = "the call sites that allocate, hold or leak most",
	.usage = "[OPTION...] [STREAM | --live -p PID | --live -- CMD [ARG...]]",
	.about = "Call sites by bytes, with the heaviest backtrace of each. --value says what is\n"
		 "counted: allocated (the default), leaked, freed, in use at the peak, or in use\n"
		 "at the moment that --at names.\n"
		 "\n"
		 "--live shows the same on a screen that moves: of a recording that is being\n"
		 "written, of a process (-p), or of a command that it starts.\n",
	.examples = "  collector top last --value peak\n"
		    "  collector top last --at 50% --by backtrace --count 3\n"
		    "  collector top --live\n"
		    "  collector top --live -- ./server --port 80\n",
	.groups = top_groups,
	.defaults = &question_defaults,
	.options_size = sizeof(struct question_options),
	.arguments_max = -1,
	.question = &top_question,
	.run = top_run,
};
