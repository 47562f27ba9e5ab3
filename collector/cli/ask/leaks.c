/* collector leaks: what was not freed. Call sites with most suspect bytes come first
 * (query/sums/survival.c); recent blocks are set apart. */
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/saturated.h"
#include "collector/cli/ask/header.h"
#include "collector/cli/ask/kind.h"
#include "collector/cli/ask/ranking.h"
#include "collector/cli/ask/sites.h"
#include "collector/cli/ask/suppressing.h"
#include "collector/cli/terminal.h"
#include "collector/answers/results.h"

#include "base/ban.h"

#define FRAMES_SHOWN 8

struct told_leaks {
	struct survivors survivors; /* first: the answer's rows are these */
	struct groups backtraces;   /* of what was not freed; only for the text */
};

static void leaks_print_total(const struct question *q, const struct survivors *s)
{
	char bytes[32], blocks[32], recent[32], count[32], time[32], words[96];
	struct usage all = s->in_use;

	add_most(&all.bytes, q->suppressed.total.bytes);
	add_most(&all.blocks, q->suppressed.total.blocks);
	printf("\n%s: %s in %s block%s%s\n", question_unfreed(q, true),
	       format_size(bytes, (double)all.bytes), format_count(blocks, all.blocks),
	       all.blocks == 1 ? "" : "s", suppressing_words(q, words, sizeof(words)));
	if (q->recorded.sampled && !all.blocks)
		printf("  There is no sample: it is less than %s in 95 of 100 cases.\n",
		       format_size(bytes, usage_unseen(q, &all)));
	if (s->young.blocks)
		terminal_say(STYLE_DIM, 2,
			     "%s in %s of these are recent: younger than %s, or no older than "
			     "other blocks of their call site were when those were freed. They are "
			     "not counted here.",
			     format_size(recent, (double)s->young.bytes),
			     format_count(count, s->young.blocks),
			     format_duration(time, s->young_ns));
	putchar('\n');
}

/* "2 of 40 not freed, 1.5 s to 8.0 s old; freed ones lived 3 ms at most" */
static void print_ages(const struct survivor *s)
{
	char old[32], all[32], from[40] = "", to[32], freed[64] = "", time[32];

	if (s->age_max_ns > s->age_min_ns)
		snprintf(from, sizeof(from), "%s to ", format_duration(time, s->age_min_ns));
	if (!s->whole_group)
		snprintf(freed, sizeof(freed), "; freed ones lived %s at most",
			 format_duration(time, s->lifetime_max_ns));
	terminal_say(STYLE_PLAIN, SITE_INDENT, "%s of %s not freed, %s%s old%s",
		     format_count(old, s->in_use.blocks), format_count(all, s->allocated.blocks),
		     from, format_duration(to, s->age_max_ns), freed);
}

static void leaks_print_row(const struct question *q, const struct survivor *s)
{
	const struct told_leaks *told = q->result;
	char bytes[32], suspect[32], blocks[32];
	unsigned room = terminal_width() - SITE_INDENT;

	printf("%9s %9s %7s  ", format_size(suspect, (double)s->suspect_bytes),
	       format_size(bytes, (double)s->in_use.bytes), format_count(blocks, s->in_use.blocks));
	terminal_name(STYLE_BOLD, s->function ? s->function : "?", room);
	putchar('\n');
	place_print(s->function, s->file, s->line, s->module);
	print_ages(s);
	ways_print(q, &told->backtraces, s->node, &s->in_use);
}

static int leaks_print(struct question *q)
{
	const struct survivors *s = &((const struct told_leaks *)q->result)->survivors;
	uint64_t count = q->options->count;
	char rest[32];

	header_print(q);
	leaks_print_total(q, s);
	if (s->count)
		terminal_line(STYLE_DIM, "  SUSPECT NOT FREED  BLOCKS  CALL SITE", 0);
	for (size_t i = 0; i < s->count && i < count; i++)
		leaks_print_row(q, &s->list[i]);
	if (s->count > count)
		printf("and %s more call site%s\n", format_count(rest, s->count - count),
		       s->count - count == 1 ? "" : "s");
	suppressing_print(q);
	hidden_print(q, 0);
	ledger_verdict_print(q);
	notes_print(q);
	return EXIT_DONE;
}

static int leaks_ask(struct question *q, struct err_text *err)
{
	struct told_leaks *told = q->result;
	const char *young = q->options->young;
	uint64_t young_ns = NO_TIME;
	int r;

	if (young && parse_duration(young, &young_ns) < 0)
		return command_usage_error(
			q->command, "--recent takes a time such as 10s, 5m or 500ms, not '%s'",
			young);
	r = suppressing_begin(q, err);
	if (!r)
		r = suppressing_ask(q, err);
	if (!r)
		r = query_survivors(q->view, &q->filter, young_ns, &told->survivors, err);
	if (r || q->options->common.json)
		return r;
	return query_groups(q->view, &q->filter, GROUP_BY_BACKTRACE, VALUE_LEAKED, NO_TIME,
			    &told->backtraces, err);
}

static int leaks_by_ask(struct question *q, struct err_text *err)
{
	int r = suppressing_begin(q, err);

	if (!r)
		r = suppressing_ask(q, err);
	return r ? r : ranking_ask(q, err);
}

static void told_leaks_done(void *result)
{
	struct told_leaks *told = result;

	survivors_done(&told->survivors);
	groups_done(&told->backtraces);
}

static const struct question_kind leaks_question = {
	.value = VALUE_LEAKED,
	.tells_notes = true,
	.tells_hidden = true,
	ASKED(struct told_leaks, leaks_ask, leaks_print, &survivors_answer, told_leaks_done),
};

static const struct question_kind leaks_by_question = {
	.value = VALUE_LEAKED, .frames = FRAMES_SHOWN, RANKING_ASKS(leaks_by_ask)};

static int leaks_run(struct command_call *call)
{
	const struct question_options *o = call->options;

	return question_run_as(call, o->by && strcmp(o->by, "site") != 0 ? &leaks_by_question
									 : &leaks_question);
}

static const struct option leaks_table[] = {
	OPTION_COUNT("rows shown"),
	OPTION_TEXT(struct question_options, by, "by", "WHAT",
		    "a row for each site (call site, the default), function or backtrace (then by "
		    "bytes)"),
	OPTION_TEXT(struct question_options, young, "recent", "TIME",
		    "blocks younger than this are recent (a hundredth of the recording)"),
	OPTION_SUPPRESS,
	OPTION_FAIL_IF,
	OPTIONS_OF_NAMES,
	{0},
};

static const struct option_group leaks_groups[] = {
	{NULL, leaks_table},
	FILTER_GROUPS,
};

const struct command command_leaks = {
	.name = "leaks",
	.summary = "what was never freed, with backtraces",
	.usage = "[OPTION...] [STREAM]",
	.about =
		"Blocks that were not freed when the program ended, by call site. Sites whose\n"
		"blocks are not freed any more once they are as old as these come first. SUSPECT\n"
		"is the bytes not freed: each block counts by the share of its site's blocks that\n"
		"reached its age and were never freed. Recent blocks are left out: most blocks of\n"
		"their site were freed later than at their age. Blocks are not counted either if\n"
		"a loss in the recording hides whether they were freed.\n"
		"Blocks that the C library and others keep on purpose are suppressed, and those\n"
		"of --suppress; the list at the end says how many. They count neither as SUSPECT\n"
		"nor for leaked_bytes of --fail-if.\n"
		"While a program runs, this is what it has in use now. If recording began or\n"
		"ended while the program ran, this is what was not freed in that time.\n",
	.examples = "  collector leaks last\n"
		    "  collector leaks last --lifetime-min 10s --size-min 1K\n"
		    "  collector leaks last --lifetime only_whole_group_leaked\n"
		    "  collector leaks last --suppress lsan.supp\n"
		    "  collector leaks last --fail-if 'suspect_bytes > 1M'\n",
	.question = &leaks_question,
	.question_by = &leaks_by_question,
	.groups = leaks_groups,
	.options_size = sizeof(struct question_options),
	.defaults = &question_defaults,
	.arguments_max = 1,
	.run = leaks_run,
};
