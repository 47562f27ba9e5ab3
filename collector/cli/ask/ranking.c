/* Prints call sites by what they hold. See ranking.h. */
#include "collector/cli/ask/ranking.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/saturated.h"
#include "collector/cli/ask/header.h"
#include "collector/cli/ask/sites.h"
#include "collector/cli/ask/suppressing.h"
#include "collector/cli/terminal.h"

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

/* Prints the total of the rows: "Leaked: 1.2 MiB in 345 blocks". */
static void ranking_print_total(const struct question *q, const struct groups *groups)
{
	static const char *const says[] = {
		[VALUE_ALLOCATED] = "Allocated",
		[VALUE_LEAKED] = "",
		[VALUE_FREED] = "Freed",
		[VALUE_IN_USE] = "In use",
		[VALUE_PEAK] = "In use at the peak",
	};
	char bytes[80], blocks[32], samples[48], at[32] = "", when[64] = "", words[96];
	struct usage all = groups->total;
	const char *what = q->filter.freed_at_once == ANSWER_YES ? "Temporary" : says[q->value];

	if (q->value == VALUE_LEAKED && q->filter.freed_at_once != ANSWER_YES)
		what = question_unfreed(q, true);
	if (q->value == VALUE_IN_USE && q->at_ns != NO_TIME)
		snprintf(when, sizeof(when), " at %s", format_duration(at, q->at_ns));
	putchar('\n');
	usage_samples(samples, sizeof(samples), &groups->total);
	add_most(&all.bytes, q->suppressed.total.bytes);
	add_most(&all.blocks, q->suppressed.total.blocks);
	printf("%s%s: %s in %s block%s%s%s%s\n\n", what, when,
	       usage_bytes(bytes, sizeof(bytes), &all), format_count(blocks, all.blocks),
	       all.blocks == 1 ? "" : "s", samples[0] ? ", from " : "", samples,
	       suppressing_words(q, words, sizeof(words)));
}

int ranking_print(struct question *q)
{
	static const char *const nouns[] = {[GROUP_BY_SITE] = "call site",
					    [GROUP_BY_FUNCTION] = "function",
					    [GROUP_BY_BACKTRACE] = "backtrace"};
	const struct told_ranking *told = q->result;

	header_print(q);
	if (question_is_filtered(q) && !q->suppressed.count &&
	    !matches_print(q, told->groups.total.blocks))
		return EXIT_DONE;
	ranking_print_total(q, &told->groups);
	if (told->groups.count)
		sites_print(q, &told->groups,
			    &(struct site_table){.count = q->options->count,
						 .frames = q->kind->frames,
						 .noun = nouns[told->grouping]});
	suppressing_print(q);
	hidden_print(q, 0);
	ledger_verdict_print(q);
	notes_print(q);
	return EXIT_DONE;
}

#define ANSWER_OF struct told_ranking
static const struct answer_field ranking_fields[] = {
	ROW("at_ns", at_ns, "ns", "the moment that was asked for, since the start",
	    WHEN_TIME(at_ns)),
	ROW("total", groups.total, NULL, "all groups together"),
	ROW("group_count", groups.count, "groups", "number of groups"),
	ROW_PAGE("groups", groups.list, groups.count, site_answer, "groups, the heaviest first"),
	{0},
};
#undef ANSWER_OF
const struct answer ranking_answer = {"ranking", ranking_fields};

/* Sorts by number of blocks, not by size: temporary blocks cost time, not memory. */
static int most_blocks_first(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->value.blocks != y->value.blocks)
		return x->value.blocks > y->value.blocks ? -1 : 1;
	if (x->value.bytes != y->value.bytes)
		return x->value.bytes > y->value.bytes ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

int ranking_ask(struct question *q, struct err_text *err)
{
	struct told_ranking *told = q->result;
	int status = ranking_grouping(q->command, q->options->by, &told->grouping);

	told->at_ns = q->at_ns;
	return status ? status
		      : query_groups(q->view, &q->filter, told->grouping, q->value, q->at_ns,
				     &told->groups, err);
}

int ranking_ask_temporary(struct question *q, struct err_text *err)
{
	struct told_ranking *told = q->result;
	int r;

	q->filter.freed_at_once = ANSWER_YES;
	r = ranking_ask(q, err);
	if (!r && told->groups.count)
		qsort(told->groups.list, told->groups.count, sizeof(*told->groups.list),
		      most_blocks_first);
	return r;
}

void ranking_done(void *result)
{
	groups_done(&((struct told_ranking *)result)->groups);
}

/* ---- --map ---- */

int ranking_renamed(const struct command *command, const struct option_list *list,
		    struct diff_renamed ret_renamed[RENAMED_MAX])
{
	if (list->count > RENAMED_MAX)
		return command_usage_error(command, "--map can be given %d times at most",
					   RENAMED_MAX);
	for (size_t i = 0; i < list->count; i++) {
		char *equals = strchr((char *)(uintptr_t)list->texts[i], '=');

		if (!equals || equals == list->texts[i] || !equals[1])
			return command_usage_error(
				command,
				"--map takes OLD=NEW, names of files or functions, not '%.80s'",
				list->texts[i]);
		*equals = '\0';
		ret_renamed[i] = (struct diff_renamed){module_basename(list->texts[i]),
						       module_basename(equals + 1), list->texts[i],
						       equals + 1};
	}
	return EXIT_DONE;
}
