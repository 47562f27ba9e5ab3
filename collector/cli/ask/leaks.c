/* collector leaks: lists what was not freed. Call sites or other groups are sorted by suspect bytes
 * (query/sums/survival.c). Recent blocks are counted apart. */
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
#include "collector/query/survivors.h"

#include "base/ban.h"

#define FRAMES_SHOWN 8

struct told_leaks {
	struct survivors survivors; /* must be first: the answer's rows describe it */
	struct groups backtraces; /* what was not freed, by backtrace; only for text by call site */
	enum grouping grouping;
};

static const struct {
	const char *noun, *heading;
} leaks_groupings[] = {
	[GROUP_BY_BACKTRACE] = {"backtrace", "BACKTRACE"},
	[GROUP_BY_SITE] = {"call site", "CALL SITE"},
	[GROUP_BY_FUNCTION] = {"function", "FUNCTION"},
};

/* Explains SUSPECT, for a program that may still free its blocks. */
static void leaks_print_growth(const struct survivors *s, const char *noun)
{
	char time[32];

	if (s->since_ns == NO_TIME || !s->count)
		return;
	format_duration(time, s->end_ns - s->since_ns);
	terminal_say(STYLE_DIM, 2,
		     "SUSPECT is what grows: what a %s would hold if it had always grown as in the "
		     "last %s, and no more than it holds. What was built before and kept is none.",
		     noun, time);
}

static void leaks_print_total(const struct question *q, const struct told_leaks *told)
{
	const struct survivors *s = &told->survivors;
	const char *noun = leaks_groupings[told->grouping].noun;
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
			     "other blocks of their %s were when those were freed. They are not "
			     "counted here.",
			     format_size(recent, (double)s->young.bytes),
			     format_count(count, s->young.blocks),
			     format_duration(time, s->young_ns), noun);
	leaks_print_growth(s, noun);
	putchar('\n');
}

/* Formats "; 12.0 KiB of it from the last 30 s" or "; nothing new in the last 30 s", for a program
 * that goes on. */
static void growth_words(const struct survivors *all, const struct survivor *s, char *out,
			 size_t size)
{
	char time[32], bytes[32];

	out[0] = 0;
	if (all->since_ns == NO_TIME)
		return;
	format_duration(time, all->end_ns - all->since_ns);
	if (s->late.blocks)
		snprintf(out, size, "; %s of it from the last %s",
			 format_size(bytes, (double)s->late.bytes), time);
	else
		snprintf(out, size, "; nothing new in the last %s", time);
}

/* Prints "2 of 40 not freed, 1.5 s to 8.0 s old; freed ones lived 3 ms at most". */
static void print_ages(const struct question *q, const struct survivors *all,
		       const struct survivor *s)
{
	char old[32], of[32], from[40] = "", to[32], freed[64] = "", time[32], growth[96];

	if (s->age_max_ns > s->age_min_ns)
		snprintf(from, sizeof(from), "%s to ", format_duration(time, s->age_min_ns));
	if (!s->whole_group)
		snprintf(freed, sizeof(freed), "; freed ones lived %s at most",
			 format_duration(time, s->lifetime_max_ns));
	growth_words(all, s, growth, sizeof(growth));
	terminal_say(STYLE_PLAIN, SITE_INDENT, "%s of %s %s, %s%s old%s%s",
		     format_count(old, s->in_use.blocks), format_count(of, s->allocated.blocks),
		     q->recorded.live ? "in use" : "not freed", from,
		     format_duration(to, s->age_max_ns), growth, freed);
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
	print_ages(q, &told->survivors, s);
	if (told->grouping == GROUP_BY_SITE)
		ways_print(q, &told->backtraces, s->node, &s->in_use);
	else
		backtrace_print(q, s->node, FRAMES_SHOWN);
}

static void leaks_print_heading(const struct question *q, enum grouping grouping)
{
	char heading[64];

	snprintf(heading, sizeof(heading), "  SUSPECT %s  BLOCKS  %s",
		 q->recorded.live ? "   IN USE" : "NOT FREED", leaks_groupings[grouping].heading);
	terminal_line(STYLE_DIM, heading, 0);
}

static int leaks_print(struct question *q)
{
	const struct told_leaks *told = q->result;
	const struct survivors *s = &told->survivors;
	uint64_t count = q->options->count;
	char rest[32];

	header_print(q);
	leaks_print_total(q, told);
	if (s->count)
		leaks_print_heading(q, told->grouping);
	for (size_t i = 0; i < s->count && i < count; i++)
		leaks_print_row(q, &s->list[i]);
	if (s->count > count)
		printf("and %s more %s%s\n", format_count(rest, s->count - count),
		       leaks_groupings[told->grouping].noun, s->count - count == 1 ? "" : "s");
	suppressing_print(q);
	hidden_print(q, 0);
	ledger_verdict_print(q);
	notes_print(q);
	return EXIT_DONE;
}

static int leaks_check(const struct question *q, enum grouping *ret_grouping,
		       uint64_t *ret_young_ns)
{
	const char *young = q->options->young;

	if (q->at_ns != NO_TIME)
		return command_usage_error(
			q->command,
			"no moment can be asked for: 'collector top %s' has what was in use then",
			q->stream);
	if (young && parse_duration(young, ret_young_ns) < 0)
		return command_usage_error(
			q->command, "--recent takes a time such as 10s, 5m or 500ms, not '%s'",
			young);
	return ranking_grouping(q->command, q->options->by, ret_grouping);
}

static int leaks_ask(struct question *q, struct err_text *err)
{
	struct told_leaks *told = q->result;
	uint64_t young_ns = NO_TIME;
	int r = leaks_check(q, &told->grouping, &young_ns);

	if (!r)
		r = suppressing_begin(q, err);
	if (!r)
		r = suppressing_ask(q, err);
	if (!r)
		r = query_survivors_by(q->view, &q->filter, told->grouping, young_ns,
				       &told->survivors, err);
	if (r || q->options->common.json || told->grouping != GROUP_BY_SITE)
		return r;
	return query_groups(q->view, &q->filter, GROUP_BY_BACKTRACE, VALUE_LEAKED, NO_TIME,
			    &told->backtraces, err);
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

#define ANSWER_OF struct survivors
static const struct answer_field leaks_by_fields[] = {
	ROWS_SAME(survivors_sum_answer),
	ROW_PAGE("groups", list, count, leak_by_answer,
		 "functions or backtraces, those with most suspect bytes first"),
	{0},
};
#undef ANSWER_OF
static const struct answer leaks_by_answer = {"leaks_by", leaks_by_fields};

static const struct question_kind leaks_by_question = {
	.value = VALUE_LEAKED,
	.tells_value = true,
	.tells_notes = true,
	.tells_hidden = true,
	ASKED(struct told_leaks, leaks_ask, leaks_print, &leaks_by_answer, told_leaks_done),
};

static int leaks_run(struct command_call *call)
{
	const struct question_options *o = call->options;

	return question_run_as(call, o->by && strcmp(o->by, "site") != 0 ? &leaks_by_question
									 : &leaks_question);
}

static const struct option leaks_table[] = {
	OPTION_COUNT("rows shown"),
	OPTION_TEXT(
		struct question_options, by, "by", "WHAT",
		"a row for each site (call site, the default), function or backtrace, judged by "
		"its own blocks"),
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
		"ended while the program ran, this is what was not freed in that time. Such a\n"
		"program goes on, and SUSPECT is what grows: at most twice what a site gathered\n"
		"in the later half of the time. What it built at its start and keeps comes last.\n",
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
