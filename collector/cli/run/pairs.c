/* collector pairs: lists the keys that this collector has by pairing, and revokes them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cli/program.h"
#include "base/error.h"
#include "base/secure/pairs.h"
#include "collector/cli/commands.h"
#include "collector/cli/run/pair_options.h"
#include "base/ban.h"

struct pairs_options {
	struct common_options common;
	const char *pairs;
};

static void say_pair(const char *folder, const char *name)
{
	struct pair_facts facts = {0};
	char seen[32] = "never";
	struct tm parts;

	pair_facts(folder, name, &facts);
	if (facts.seen && gmtime_r(&facts.seen, &parts))
		strftime(seen, sizeof(seen), "%Y-%m-%dT%H:%M:%SZ", &parts);
	printf("%-24s %-20s  %-20s  %s\n", name, *facts.when ? facts.when : "?", seen, facts.peer);
}

static int pairs_list(struct command_call *call, const char *folder)
{
	struct err_text err = {0}, remark = {0};
	struct pairs pairs;
	int r = pairs_open(&pairs, folder, PAIRS_ALL, &remark, &err);

	if (r < 0)
		return command_fault(call->command, r, &err);
	if (*remark.text)
		command_note(call->command, "%s", remark.text);
	if (pairs.count)
		printf("%-24s %-20s  %-20s  %s\n", "NAME", "PAIRED", "LAST CONNECTED", "WITH");
	for (size_t i = 0; i < pairs.count; i++)
		say_pair(folder, pairs.name[i].text);
	if (!pairs.count)
		program_printf(stdout, "There are no pairs in %s; 'collector pair' makes one.\n",
			       folder);
	pairs_done(&pairs);
	return EXIT_DONE;
}

static int revoke(struct command_call *call, const char *folder)
{
	struct err_text err = {0};

	if (call->argument_count < 2)
		return command_usage_error(call->command, "revoke what? 'collector pairs' lists");
	for (int i = 1; i < call->argument_count; i++) {
		int r = pair_remove(folder, call->arguments[i], &err);

		if (r == -ENOENT)
			return command_usage_error(call->command,
						   "there is no pair '%.60s' in %s ('collector "
						   "pairs' lists)",
						   call->arguments[i], folder);
		if (r < 0)
			return command_fault(call->command, r, &err);
		printf("revoked %s\n", call->arguments[i]);
	}
	return EXIT_DONE;
}

static int pairs_run(struct command_call *call)
{
	const struct pairs_options *o = call->options;
	const char *action = call->argument_count ? call->arguments[0] : "list";
	char folder[PATH_MAX];

	if (pairs_place(o->pairs, PAIRS_FOLDER, folder) < 0 || !*folder)
		return command_usage_error(call->command,
					   "there is no folder for keys: --pairs DIR names one");
	if (!strcmp(action, "list") && call->argument_count < 2)
		return pairs_list(call, folder);
	if (!strcmp(action, "revoke"))
		return revoke(call, folder);
	return command_usage_error(call->command, "takes list, or revoke NAME..., not '%.60s'",
				   action);
}

static const struct option table[] = {
	PAIRS_OPTION(struct pairs_options, pairs),
	{0},
};

static const struct option_group groups[] = {{NULL, table}, {0}};

static const struct pairs_options defaults = {.common.data = DEFAULT_DATA};

const struct command command_pairs = {
	.name = "pairs",
	.summary = "the agents that this collector is paired with; revokes keys",
	.usage = "[list | revoke NAME...]",
	.about = "list (or nothing) shows with whom this collector is paired: what the pair "
		 "is\n"
		 "called here, since when it is, when an agent with this key was connected last,\n"
		 "and with whom it was made.\n"
		 "\n"
		 "revoke removes the key. A collector that gathers closes its connections with\n"
		 "agents of this key within a second, and does not talk to them any more. The\n"
		 "board has its half of the key still, which is of no use:\n"
		 "'agent pair --forget' removes it there.\n",
	.examples = "  collector pairs\n"
		    "  collector pairs revoke lab7\n",
	.groups = groups,
	.options_size = sizeof(struct pairs_options),
	.defaults = &defaults,
	.arguments_max = -1,
	.run = pairs_run,
};
