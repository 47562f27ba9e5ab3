/* The process that reads symbol files. collector/symbols starts it, so that a hostile file cannot
 * harm the collector; it is not for people. */
#include "collector/cli/commands.h"
#include "collector/symbols/symbols.h"
#include "base/ban.h"

static int symbols_worker_run(struct command_call *call)
{
	(void)call;
	return symbols_worker_main();
}

const struct command command_symbols_worker = {
	.name = "symbols-worker",
	.summary = "reads symbol files for another collector",
	.usage = "",
	.about = "Answers requests on standard input; started by other commands.\n",
	.hidden = true,
	.run = symbols_worker_run,
};
