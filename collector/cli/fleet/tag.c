/* collector tag: tags that the collector adds to streams. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"
#include "collector/catalogue/store.h"
#include "collector/catalogue/tag_rules.h"
#include "collector/cli/commands.h"
#include "collector/cli/output.h"
#include "collector/cli/table.h"
#include "collector/cli/terminal.h"
#include "base/ban.h"

struct tag_options {
	struct common_options common;
	bool list;
	uint64_t forget;
};

#define ANSWER_OF struct tag_rule
static const struct answer_field rule_fields[] = {
	ROW("number", number, NULL, "number of the rule",
	    SHOWN(1, "RULE", 4, .form = COLUMN_PLAIN)),
	ROW("tags", tags, NULL, "KEY=VALUE, separated by commas; an empty value takes the tag away",
	    SHOWN(2, "TAGS", -24)),
	ROW("select", selector, NULL, "the streams that get them, as for --select; empty: all",
	    SHOWN(3, "STREAMS", 0)),
	{0},
};
#undef ANSWER_OF
static const struct answer rule_answer = {"tag_rule", rule_fields};

static const struct answer_field rules_fields[] = {
	BY_HAND("rules", ANSWER_OBJECT, NULL, "in the order in which they are applied",
		.of = &rule_answer, .shape = ANSWER_LIST),
	{0},
};
static const struct answer rules_answer = {"tag_rules", rules_fields};

static int print_json(struct command_call *call, const struct tag_rule *rules, size_t count)
{
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	output_json_begin(call->command, &json, &out);
	json_array(&json, "rules");
	for (size_t i = 0; i < count; i++)
		json_object_of(&json, NULL, &rule_answer, &rules[i], NULL);
	json_end(&json, ']');
	json_end(&json, '}');
	return output_json(call->command, stdout, &out);
}

static int tag_list(struct command_call *call)
{
	const struct tag_options *o = call->options;
	struct err_text err = {0};
	struct tag_rule *rules;
	size_t count;
	int status = EXIT_DONE, r = access(o->common.data, R_OK | X_OK) < 0 ? -errno : 0;

	if (r < 0)
		return command_usage_error(call->command,
					   "the data folder %.200s: %s (--data names another)",
					   o->common.data, strerror(-r));
	r = tag_rules_read(o->common.data, &rules, &count, &err);
	if (r < 0)
		return command_fault(call->command, r, &err);
	if (o->common.json) {
		status = print_json(call, rules, count);
	} else if (!count) {
		program_printf(stdout, "No rules here. 'collector tag site=berlin host=gw-1' "
				       "makes one.\n");
	} else {
		table_head(&rule_answer, STYLE_PLAIN);
		for (size_t i = 0; i < count; i++)
			table_row(&rule_answer,
				  &(struct tag_rule){rules[i].number, rules[i].tags,
						     *rules[i].selector ? rules[i].selector
									: (char[]){"(all)"}});
	}
	tag_rules_free(rules, count);
	return status;
}

/* Says how many streams the new rule holds for now. */
static void tell_matches(struct command_call *call, uint64_t number, const char *tags,
			 const char *selector)
{
	const struct tag_options *o = call->options;
	struct stream_summary *list = NULL;
	struct store *store = NULL;
	size_t count = 0;
	int r = store_open(o->common.data, STORE_READ, &store, NULL);

	if (!r)
		r = *selector ? store_list_selected(store, selector, false, &list, &count, NULL)
			      : store_list_quickly(store, &list, &count, NULL);
	program_printf(stdout, "Rule %llu: %s for ", (unsigned long long)number, tags);
	if (r < 0 || !count)
		program_printf(stdout, "streams to come; none here matches yet.\n");
	else
		program_printf(stdout, "%zu stream%s here, and those to come.\n", count,
			       count == 1 ? "" : "s");
	store_list_free(list, count);
	store_close(store);
}

static int tag_add(struct command_call *call)
{
	const struct tag_options *o = call->options;
	cleanup(buf_done) struct buf selector = {0};
	struct err_text err = {0};
	uint64_t number;
	int r;

	for (int i = 1; i < call->argument_count; i++)
		if (!*call->arguments[i])
			return command_usage_error(call->command,
						   "which streams? A pattern is empty");
	for (int i = 1; i < call->argument_count; i++)
		buf_printf(&selector, "%s%s", i > 1 ? " " : "", call->arguments[i]);
	if (!buf_text(&selector))
		return command_fault(call->command, -ENOMEM, NULL);
	if (access(o->common.data, F_OK) < 0)
		return command_usage_error(call->command,
					   "there is no data folder %.200s: --data names another",
					   o->common.data);
	r = tag_rules_add(o->common.data, call->arguments[0], buf_text(&selector), &number, &err);
	if (r == -EINVAL)
		return command_usage_error(call->command, "%s", err.text);
	if (r < 0)
		return command_fault(call->command, r, &err);
	tell_matches(call, number, call->arguments[0], buf_text(&selector));
	return EXIT_DONE;
}

static int tag_forget(struct command_call *call)
{
	const struct tag_options *o = call->options;
	struct err_text err = {0};
	int r = tag_rules_remove(o->common.data, o->forget, &err);

	if (r == -ENOENT)
		return command_usage_error(
			call->command, "there is no rule %llu ('collector tag --list' shows all)",
			(unsigned long long)o->forget);
	if (r < 0)
		return command_fault(call->command, r, &err);
	program_printf(stdout, "Rule %llu is gone.\n", (unsigned long long)o->forget);
	return EXIT_DONE;
}

static int tag_run(struct command_call *call)
{
	const struct tag_options *o = call->options;

	if (o->list + (o->forget != 0) + (call->argument_count != 0) != 1)
		return command_usage_error(call->command,
					   "takes one of: KEY=VALUE and the streams, --list, "
					   "--forget RULE");
	if (o->list)
		return tag_list(call);
	return o->forget ? tag_forget(call) : tag_add(call);
}

static const struct option tag_table[] = {
	OPTION_FLAG(struct tag_options, list, "list", "list the rules"),
	OPTION_NUMBER(struct tag_options, forget, "forget", "RULE",
		      "remove the rule of this number"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, tag_table}, {"Common options", folder_table}, {0}};

static const struct tag_options defaults = {.common.data = DEFAULT_DATA};

const struct command command_tag = {
	.name = "tag",
	.answers = {&rules_answer},
	.summary = "tags of streams, beside those that agents have",
	.usage = "KEY=VALUE[,...] [NAME=PATTERN...] | --list | --forget RULE",
	.about =
		"Adds tags to all streams that match, to those that run and those to come, too.\n"
		"NAME=PATTERN is what --select takes; without it, all streams get the tags. KEY=\n"
		"takes a tag away. Tags that a board should have by itself are given to its agent\n"
		"(agent serve --tag).\n",
	.examples = "  collector tag site=berlin 'host=gw-1*'\n"
		    "  collector tag stage=canary 'version=1.5' 'tag:site=berlin'\n"
		    "  collector list --select 'tag:stage=canary state=live'\n"
		    "  collector tag --list\n",
	.groups = groups,
	.options_size = sizeof(struct tag_options),
	.defaults = &defaults,
	.arguments_max = -1,
	.run = tag_run,
};
