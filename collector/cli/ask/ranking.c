/* Prints call sites in order of what they hold. See ranking.h. */
#include "collector/cli/ask/ranking.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/ask/fail_if.h"
#include "collector/cli/ask/header.h"
#include "collector/cli/ask/question.h"
#include "collector/cli/ask/sites.h"
#include "collector/cli/output.h"
#include "collector/cli/terminal.h"
#include "collector/answers/json.h"
#include "collector/answers/unnamed.h"
#include "collector/answers/results.h"

#include "base/ban.h"

int ranking_grouping(const struct command *command, const char *by, enum grouping *ret_grouping)
{
	*ret_grouping = GROUP_BY_SITE;
	if (!by || !strcmp(by, "site"))
		return EXIT_DONE;
	*ret_grouping = GROUP_BY_BACKTRACE;
	if (!strcmp(by, "backtrace"))
		return EXIT_DONE;
	*ret_grouping = GROUP_BY_FUNCTION;
	if (!strcmp(by, "function"))
		return EXIT_DONE;
	return command_usage_error(command, "--by takes site, function or backtrace, not '%s'", by);
}

/* Prints what the rows are about: "Leaked: 1.2 MiB in 345 blocks". */
static void ranking_print_total(const struct question *q, const struct groups *groups)
{
	static const char *const says[] = {
		[VALUE_ALLOCATED] = "Allocated",
		[VALUE_LEAKED] = "",
		[VALUE_FREED] = "Freed",
		[VALUE_IN_USE] = "In use",
		[VALUE_PEAK] = "In use at the peak",
	};
	char bytes[80], blocks[32], samples[48], at[32] = "", when[64] = "";
	const char *what = q->filter.freed_at_once == ANSWER_YES ? "Temporary" : says[q->value];

	if (q->value == VALUE_LEAKED && q->filter.freed_at_once != ANSWER_YES)
		what = question_unfreed(q, true);
	if (q->value == VALUE_IN_USE && q->at_ns != NO_TIME)
		snprintf(when, sizeof(when), " at %s", format_duration(at, q->at_ns));
	putchar('\n');
	usage_samples(samples, sizeof(samples), &groups->total);
	printf("%s%s: %s in %s block%s%s%s\n\n", what, when,
	       usage_bytes(bytes, sizeof(bytes), &groups->total),
	       format_count(blocks, groups->total.blocks), groups->total.blocks == 1 ? "" : "s",
	       samples[0] ? ", from " : "", samples);
}

static int ranking_print_text(const struct question *q, const struct groups *groups,
			      const struct site_table *table)
{
	header_print(q);
	ranking_print_total(q, groups);
	if (groups->count)
		sites_print(q, groups, table);
	ledger_verdict_print(q);
	notes_print(q);
	return EXIT_DONE;
}

static int print_groups_json(const struct question *q, const struct groups *groups,
			     const struct site_table *table)
{
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	header_json_begin(&json, &out, q);
	json_string(&json, "value", value_name(q->value));
	if (q->at_ns != NO_TIME)
		json_u64(&json, "at_ns", q->at_ns);
	json_usage(&json, "total", &groups->total);
	json_u64(&json, "group_count", groups->count);
	sites_json(&json, "groups", q, groups, table);
	json_notes(&json, "notes", q->symbols);
	json_end(&json, '}');
	return output_json(q->command, stdout, &out);
}

/* Temporary blocks cost time, not memory, so their number matters and not their size. */
static int most_blocks_first(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->value.blocks != y->value.blocks)
		return x->value.blocks > y->value.blocks ? -1 : 1;
	if (x->value.bytes != y->value.bytes)
		return x->value.bytes > y->value.bytes ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static const char *const nouns[] = {[GROUP_BY_SITE] = "call site",
				    [GROUP_BY_FUNCTION] = "function",
				    [GROUP_BY_BACKTRACE] = "backtrace"};

static int ranking_answer(struct question *q, const struct question_options *o, unsigned frames)
{
	cleanup(groups_done) struct groups groups = {0};
	struct err_text err = {0};
	enum grouping grouping;
	struct site_table table = {.count = o->count, .frames = frames};
	int status = ranking_grouping(q->command, o->by, &grouping), r;

	if (status)
		return status;
	table.noun = nouns[grouping];
	r = query_groups(q->view, &q->filter, grouping, q->value, q->at_ns, &groups, &err);
	if (r < 0)
		return question_failed(q, r, &err);
	if (q->filter.freed_at_once == ANSWER_YES && groups.count)
		qsort(groups.list, groups.count, sizeof(*groups.list), most_blocks_first);
	return fail_if_answer(q, o->fail_if,
			      o->common.json ? print_groups_json(q, &groups, &table)
					     : ranking_print_text(q, &groups, &table));
}

static int run(struct command_call *call, enum value default_value, enum filter_answer at_once,
	       unsigned frames)
{
	const struct question_options *o = call->options;
	struct question q;
	int status = fail_if_check(call, o->fail_if);

	if (!status)
		status = question_open(call, default_value, &q);
	if (status)
		return status;
	if (at_once != ANSWER_ANY)
		q.filter.freed_at_once = at_once;
	status = ranking_answer(&q, o, frames);
	question_close(&q);
	return status;
}

int ranking_run(struct command_call *call, enum value default_value, unsigned frames)
{
	return run(call, default_value, ANSWER_ANY, frames);
}

int ranking_run_temporary(struct command_call *call, unsigned frames)
{
	return run(call, VALUE_ALLOCATED, ANSWER_YES, frames);
}
