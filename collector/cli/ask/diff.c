/* collector diff: compares two recordings, or two moments of one. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "collector/cli/ask/header.h"
#include "collector/cli/ask/incomplete.h"
#include "collector/cli/ask/kind.h"
#include "collector/cli/ask/ranking.h"
#include "collector/cli/ask/sites.h"
#include "collector/cli/terminal.h"
#include "collector/answers/results.h"

#include "base/ban.h"

#define FRAMES_SHOWN 5

/* Formats "+1.5 MiB". */
static const char *signed_size(char out[40], int64_t bytes)
{
	char size[32];

	snprintf(out, 40, "%c%s", bytes < 0 ? '-' : '+',
		 format_size(size, bytes < 0 ? -(double)bytes : (double)bytes));
	return out;
}

static const char *signed_count(char out[40], int64_t count)
{
	char text[32];

	snprintf(out, 40, "%c%s", count < 0 ? '-' : '+',
		 format_count(text, (uint64_t)(count < 0 ? -count : count)));
	return out;
}

/* Prints an entry. The side that has its backtrace looks it up. */
static void diff_print_row(const struct question *now, const struct diff_entry *e)
{
	char bytes[40], blocks[40], was[32], is[32], line[96];
	unsigned room = terminal_width() - SITE_INDENT;
	bool removed = e->new_node == NO_NODE;

	snprintf(line, sizeof(line), "%12s %12s", signed_size(bytes, e->bytes),
		 signed_count(blocks, e->blocks));
	terminal_text(e->bytes > 0 ? STYLE_RED : e->bytes < 0 ? STYLE_GREEN : STYLE_PLAIN, line, 0);
	terminal_blanks(3);
	terminal_name(STYLE_BOLD, e->function ? e->function : "?", room);
	putchar('\n');
	terminal_blanks(SITE_INDENT);
	if (e->base_node == NO_NODE)
		snprintf(line, sizeof(line), "new: %s", format_size(is, (double)e->now.bytes));
	else if (removed)
		snprintf(line, sizeof(line), "gone: was %s",
			 format_size(was, (double)e->base.bytes));
	else
		snprintf(line, sizeof(line), "%s, was %s", format_size(is, (double)e->now.bytes),
			 format_size(was, (double)e->base.bytes));
	fputs(line, stdout);
	if (e->bytes_error > 0)
		printf(", +- %s", format_size(is, e->bytes_error));
	putchar('\n');
	place_print(e->function, e->file, e->line, e->module);
	backtrace_print(removed ? now->base : now, removed ? e->base_node : e->new_node,
			FRAMES_SHOWN);
}

static void print_side(const char *name, const struct question *q, const struct usage *usage)
{
	char size[80], blocks[32], at[32], when[64] = "";

	if (q->at_ns < UINT64_MAX - 1)
		snprintf(when, sizeof(when), " at %s", format_duration(at, q->at_ns));
	printf("%-5s %12s in %12s block%s, %s%s of ", name, usage_bytes(size, sizeof(size), usage),
	       format_count(blocks, usage->blocks), usage->blocks == 1 ? "" : "s",
	       value_name(q->value), when);
	terminal_line(STYLE_PLAIN, q->stream, 30);
}

static void print_totals(const struct question *now, const struct diff *d)
{
	char bytes[40], blocks[40], size[32];
	double error = hypot(d->now.bytes_error, d->base.bytes_error);
	int64_t grown = (int64_t)(d->now.bytes - d->base.bytes),
		more = (int64_t)(d->now.blocks - d->base.blocks);

	print_side("base", now->base, &d->base);
	print_side("new", now, &d->now);
	printf("%-5s %12s in %12s blocks", "", signed_size(bytes, grown),
	       signed_count(blocks, more));
	if (error > 0)
		printf(", +- %s", format_size(size, error));
	printf("\n\n");
	printf("  added    %10s in %zu, removed ", format_size(size, (double)d->added_bytes),
	       d->added);
	printf("%s in %zu\n", format_size(size, (double)d->removed_bytes), d->removed);
	printf("  changed  +%s, ", format_size(size, (double)d->grown_bytes));
	printf("-%s in %zu; %zu %s the same\n", format_size(size, (double)d->shrunk_bytes),
	       d->changed, d->same, d->same == 1 ? "is" : "are");
}

/* Prints OLD=NEW as a word of a command line, in quotes if the shell needs them. */
static void print_word(const char *old, const char *new)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@%+-/";
	bool quoted = old[strspn(old, plain)] || new[strspn(new, plain)];

	printf("%s%s=%s%s\n", quoted ? "'" : "", old, new, quoted ? "'" : "");
}

static const char *parentheses(const char *function)
{
	return strchr(function, '(') ? "" : "()";
}

/*
 * Prints hints on functions that may have been renamed:
 *
 *	parse_old() went, parse_new() came with the same callers and 98 % of its bytes:
 *	  --map parse_old=parse_new
 */
static void print_hints(const struct diff *d)
{
	if (d->hint_count)
		putchar('\n');
	for (size_t i = 0; i < d->hint_count; i++) {
		const struct diff_hint *h = &d->hints[i];

		terminal_say(STYLE_PLAIN, 2,
			     "%s%s went, %s%s came with the same callers and %.0f %% of its bytes:",
			     h->old, parentheses(h->old), h->name, parentheses(h->name),
			     h->percent);
		fputs("    --map ", stdout);
		print_word(h->old, h->name);
	}
}

static int diff_print(struct question *q)
{
	const struct diff *d = q->result;
	uint64_t count = q->options->count;
	char rest[32];

	incomplete_print("base", &q->base->recorded.completeness);
	incomplete_print("new", &q->recorded.completeness);
	if (!matches_print(q, d->base.blocks + d->now.blocks))
		return EXIT_DONE;
	print_totals(q, d);
	if (d->count) {
		putchar('\n');
		terminal_line(STYLE_DIM, "       BYTES       BLOCKS   CALL SITE", 0);
	}
	for (size_t i = 0; i < d->count && i < count; i++)
		diff_print_row(q, &d->list[i]);
	if (d->count > count)
		printf("and %s more that differ\n", format_count(rest, d->count - count));
	print_hints(d);
	hidden_print(q, 0);
	return EXIT_DONE;
}

/* ---- --fail-if ---- */

static void diff_values(struct sql_named *values, const void *result)
{
	static const struct diff nothing;
	const struct diff *d = result ? result : &nothing;
	double base = (double)d->base.bytes, now = (double)d->now.bytes;
	const struct sql_named all[] = {
		{"base_bytes", base},
		{"base_blocks", (double)d->base.blocks},
		{"new_bytes", now},
		{"new_blocks", (double)d->now.blocks},
		{"delta_bytes", now - base},
		{"delta_blocks", (double)d->now.blocks - (double)d->base.blocks},
		{"delta_percent", base > 0  ? (now - base) / base * 100
				  : now > 0 ? 100
					    : 0},
		{"added_bytes", (double)d->added_bytes},
		{"added_blocks", (double)d->added_blocks},
		{"removed_bytes", (double)d->removed_bytes},
		{"removed_blocks", (double)d->removed_blocks},
		{"grown_bytes", (double)d->grown_bytes},
		{"shrunk_bytes", (double)d->shrunk_bytes},
		{NULL, 0},
	};

	memcpy(values, all, sizeof(all));
}

/* ---- asking ---- */

static int diff_check(const struct command_call *call)
{
	const struct question_options *o = call->options;

	return o->base ? EXIT_DONE
		       : command_usage_error(call->command,
					     "what shall it be compared with? --base "
					     "STREAM or STREAM@TIME");
}

static int diff_ask(struct question *q, struct err_text *err)
{
	const struct question *b = q->base;
	enum grouping grouping;
	struct diff_renamed renamed[RENAMED_MAX];
	int status = ranking_grouping(q->command, q->options->by, &grouping);

	if (!status)
		status = ranking_renamed(q->command, &q->options->map, renamed);
	return status ? status
		      : query_diff_renamed(
				&(struct diff_side){b->view, &b->filter, b->value, b->at_ns},
				&(struct diff_side){q->view, &q->filter, q->value, q->at_ns},
				grouping, renamed, q->options->map.count, q->result, err);
}

DEFINE_DONE(diff_done)

static const struct question_kind diff_question = {
	.check = diff_check,
	.tells_value = true,
	.tells_hidden = true,
	ASKED(struct diff, diff_ask, diff_print, &diff_answer, diff_done_result),
	.values = diff_values,
};

static const struct option diff_table[] = {
	OPTION_TEXT(struct question_options, base, "base", "STREAM[@TIME]",
		    "what the stream is compared with"),
	OPTION_MAP,
	OPTION_COUNT("rows shown"),
	OPTION_BY,
	OPTION_TEXT(struct question_options, fail_if, "fail-if", "CONDITION",
		    "exit status 1 if it is true: 'delta_percent > 10 or added_bytes > 1M'; any "
		    "expression of SQL; an unknown name lists all there are"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, diff_table},
	VALUE_GROUPS,
};

const struct command command_diff = {
	.name = "diff",
	.summary = "what differs between two recordings, or two moments",
	.usage = "--base STREAM[@TIME] [OPTION...] STREAM[@TIME]",
	.about = "Compares what was leaked (or --value, or in use at TIME) with the base, call\n"
		 "site by call site. Places are matched by address within one build of a program\n"
		 "or library, and by module and function between builds. A function that looks\n"
		 "renamed is named below the rows, with the --map that says so.\n",
	.examples =
		"  collector diff --base before.heapcast after.heapcast\n"
		"  collector diff --base last@25% last@75% --by backtrace\n"
		"  collector diff --base before.heapcast --map parse_old=parse_new after.heapcast\n"
		"  collector diff --base 8b3b last --value peak --fail-if 'delta_percent > 10%'\n",
	.groups = groups,
	.defaults = &question_defaults,
	.arguments_min = 1,
	ASKS(diff_question),
};
