/* collector histogram: shows the sizes and lifetimes of blocks. */
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "collector/cli/ask/header.h"
#include "collector/cli/ask/kind.h"
#include "collector/cli/terminal.h"
#include "collector/answers/results.h"

#include "base/ban.h"

#define BAR_COLUMN 51 /* columns before the bar */

static void print_bar(uint64_t part, uint64_t whole)
{
	unsigned room = terminal_width() - BAR_COLUMN, length = 0;

	if (whole)
		length = (unsigned)((double)part * room / (double)whole + 0.5);
	while (length--)
		putchar('#');
	putchar('\n');
}

static void print_line(const char *what, const struct usage *usage, const struct usage *total)
{
	char bytes[32], blocks[32];

	printf("%-22s %10s %14s  ", what, format_size(bytes, (double)usage->bytes),
	       format_count(blocks, usage->blocks));
	print_bar(usage->blocks, total->blocks);
}

static void print_sizes(const struct histogram *h)
{
	terminal_heading("Sizes");
	terminal_line(STYLE_DIM, "                            BYTES         BLOCKS", 0);
	for (size_t i = 0; i < h->size_count; i++) {
		char from[32], to[32], what[80];

		if (h->sizes[i].to <= 1)
			snprintf(what, sizeof(what), "%s",
				 format_size(from, (double)h->sizes[i].from));
		else
			snprintf(what, sizeof(what), "%s to < %s",
				 format_size(from, (double)h->sizes[i].from),
				 format_size(to, (double)h->sizes[i].to + 1));
		print_line(what, &h->sizes[i].usage, &h->total);
	}
}

static void print_lifetimes(const struct question *q, const struct histogram *h)
{
	terminal_heading("Lifetimes");
	for (size_t i = 0; i < h->lifetime_count; i++) {
		const struct histogram_class *c = &h->lifetimes[i];
		char time[32], what[64];

		if (!c->usage.blocks)
			continue;
		if (c->to == UINT64_MAX)
			snprintf(what, sizeof(what), "%s or more", format_duration(time, c->from));
		else
			snprintf(what, sizeof(what), "less than %s",
				 format_duration(time, c->to + 1));
		print_line(what, &c->usage, &h->total);
	}
	if (h->leaked.blocks)
		print_line(q->recorded.live ? "in use" : "not freed", &h->leaked, &h->total);
	if (h->unknown.blocks)
		print_line("end unknown", &h->unknown, &h->total);
}

static int histogram_print(struct question *q)
{
	const struct histogram *h = q->result;

	header_print(q);
	if (!matches_print(q, h->total.blocks))
		return EXIT_DONE;
	print_sizes(h);
	print_lifetimes(q, h);
	return EXIT_DONE;
}

static int histogram_ask(struct question *q, struct err_text *err)
{
	return query_histogram(q->view, &q->filter, q->value, q->at_ns, q->result, err);
}

DEFINE_DONE(histogram_done)

static const struct question_kind histogram_question = {
	.value = VALUE_ALLOCATED,
	.tells_value = true,
	ASKED(struct histogram, histogram_ask, histogram_print, &histogram_answer,
	      histogram_done_result),
};

static const struct option_group groups[] = {
	{NULL, value_table},
	{"What to look at", question_table},
	FILTER_GROUPS,
};

const struct command command_histogram = {
	.name = "histogram",
	.summary = "sizes and lifetimes of blocks",
	.usage = "[OPTION...] [STREAM]",
	.about = "How big blocks were, and how long they lived. A bar is a share of the blocks.\n",
	.examples = "  collector histogram last\n"
		    "  collector histogram last --function-regex '^parse_' --value leaked\n",
	.groups = groups,
	.defaults = &question_defaults,
	ASKS(histogram_question),
};
