/* The process that asks debuginfod servers. collector/symbols starts it; it is not for people. */
#include "collector/cli/commands.h"
#include "collector/symbols/symbols.h"
#include "base/ban.h"

static int symbols_fetch_run(struct command_call *call)
{
	return symbols_fetch_main(call->arguments[0]);
}

const struct command command_symbols_fetch = {
	.name = "symbols-fetch",
	.summary = "fetches a debug file for another collector",
	.usage = "BUILD-ID",
	.about = "Prints the path of the file; started by other commands.\n",
	.hidden = true,
	.arguments_min = 1,
	.arguments_max = 1,
	.run = symbols_fetch_run,
};
