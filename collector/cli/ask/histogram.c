/* collector histogram: how big blocks are, and how long they live. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/ask/header.h"
#include "collector/cli/ask/question.h"
#include "collector/cli/output.h"
#include "collector/cli/terminal.h"
#include "collector/answers/json.h"
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

static int print_histogram_json(const struct question *q, const struct histogram *h)
{
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	header_json_begin(&json, &out, q);
	json_string(&json, "value", value_name(q->value));
	json_histogram(&json, h);
	json_end(&json, '}');
	return output_json(q->command, stdout, &out);
}

static int histogram_run(struct command_call *call)
{
	const struct question_options *o = call->options;
	cleanup(histogram_done) struct histogram histogram = {0};
	struct err_text err = {0};
	struct question q;
	int r, status = question_open(call, VALUE_ALLOCATED, &q);

	if (status)
		return status;
	r = query_histogram(q.view, &q.filter, q.value, q.at_ns, &histogram, &err);
	if (r < 0) {
		status = question_failed(&q, r, &err);
	} else if (o->common.json) {
		status = print_histogram_json(&q, &histogram);
	} else {
		header_print(&q);
		print_sizes(&histogram);
		print_lifetimes(&q, &histogram);
	}
	question_close(&q);
	return status;
}

static const struct option_group groups[] = {
	{NULL, value_table},
	{"What to look at", question_table},
	{"Filters: only allocations that fit are counted", filter_table},
	{"Common options", common_table},
	{0},
};

static const struct question_options defaults = {.common.data = DEFAULT_DATA};

const struct command command_histogram = {
	.name = "histogram",
	.summary = "sizes and lifetimes of blocks",
	.usage = "[OPTION...] [STREAM]",
	.about = "How big blocks were, and how long they lived. A bar is a share of the blocks.\n",
	.examples = "  collector histogram last\n"
		    "  collector histogram last --function-regex '^parse_' --value leaked\n",
	.groups = groups,
	.options_size = sizeof(struct question_options),
	.defaults = &defaults,
	.arguments_max = 1,
	.run = histogram_run,
};
