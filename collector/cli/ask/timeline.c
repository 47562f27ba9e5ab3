/* collector timeline: shows the memory in use over time, as a graph and a table. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/ask/header.h"
#include "collector/cli/ask/kind.h"
#include "collector/cli/output.h"
#include "collector/cli/table.h"
#include "collector/cli/terminal.h"
#include "collector/cli/ask/timeline_bands.h"
#include "collector/formats/write/export.h"
#include "collector/answers/results.h"

#include "base/ban.h"

#define GRAPH_ROWS     10
#define COUNT_MAX      100000
#define PICTURE_POINTS 1000

struct over_time {
	struct told_timeline told; /* must be first: the rows of the JSON describe it */
	struct timeline_bands bands;
	struct timeline graph; /* timeline of a graph without bands */
};

static uint64_t highest(const struct timeline *t)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < t->count; i++)
		if (t->list[i].bytes_max > most)
			most = t->list[i].bytes_max;
	return most;
}

/* Returns the character of a bucket in a row: '#' up to the lowest use, '|' from there to the
 * highest. */
static char timeline_mark(const struct timeline_bucket *b, unsigned row, uint64_t most)
{
	double step = (double)most / GRAPH_ROWS, floor = step * row;

	if ((double)b->bytes_min > floor)
		return '#';
	return (double)b->bytes_max > floor ? '|' : ' ';
}

static void print_graph(const struct timeline *t)
{
	uint64_t most = highest(t);
	char size[32];

	for (unsigned row = GRAPH_ROWS; row-- > 0 && most;) {
		char line[512];
		unsigned n = 0;

		if (row == GRAPH_ROWS - 1 || row == GRAPH_ROWS / 2 - 1)
			printf("%10s |", format_size(size, (double)most * (row + 1) / GRAPH_ROWS));
		else
			printf("%10s |", "");
		for (; n < t->count && n + 1 < sizeof(line); n++)
			line[n] = timeline_mark(&t->list[n], row, most);
		while (n && line[n - 1] == ' ')
			n--;
		line[n] = 0;
		puts(line);
	}
	print_time_axis(t, "0 B");
}

static int find_over_time(struct question *q, uint64_t buckets, struct timeline *ret_timeline,
			  struct err_text *err)
{
	const struct question_options *o = q->options;
	struct over_time *over = q->result;
	struct timeline_question question = {.to_ns = NO_TIME, .buckets = (uint32_t)buckets};
	int r = o->start ? query_moment(q->view, "--start", o->start, &question.from_ns, err) : 0;

	if (r >= 0 && o->end)
		r = query_time(q->view, "--end", o->end, &question.to_ns, err);
	question.leaked_only = q->value == VALUE_LEAKED;
	if (r < 0)
		return r;
	if (!over->bands.asked)
		return query_timeline(q->view, &q->filter, &question, ret_timeline, err);
	return query_series(q->view, &q->filter, &question, &over->bands.question, ret_timeline,
			    &over->told.series, err);
}

static int timeline_ask(struct question *q, struct err_text *err)
{
	const struct question_options *o = q->options;
	struct over_time *over = q->result;
	uint32_t width = terminal_width() - GRAPH_LABEL;
	int r = timeline_bands_init(&over->bands, q, &over->told.weight);
	bool is_table = o->common.json || !over->bands.asked;

	if (!r)
		r = find_over_time(q,
				   o->output  ? PICTURE_POINTS
				   : is_table ? o->count
					      : width,
				   &over->told.timeline, err);
	if (r || o->output || o->common.json || over->bands.asked)
		return r;
	return find_over_time(q, width, &over->graph, err);
}

static int timeline_draw(struct question *q, const struct told_timeline *t, bool in_bands)
{
	cleanup(buf_done) struct buf out = {0};
	struct err_text err = {0};
	int r = export_graph(&t->timeline,
			     &(struct graph_options){.incomplete = q->recorded.completeness.line,
						     .weight = t->weight,
						     .series = in_bands ? &t->series : NULL},
			     &out, &err);

	return r < 0 ? question_failed(q, r, &err)
		     : output_write(q->command, q->options->output, q->options->force, &out);
}

/* Most blocks in use, added up over the buckets: 0 if there were none. */
static uint64_t timeline_blocks(const struct timeline *t)
{
	uint64_t blocks = 0;

	for (uint32_t i = 0; i < t->count; i++)
		blocks += t->list[i].blocks_max;
	return blocks;
}

static void print_table(const struct timeline *t)
{
	putchar('\n');
	table_head(&timeline_answer, STYLE_DIM);
	for (uint32_t i = 0; i < t->count; i++)
		table_row(&timeline_answer, &t->list[i]);
}

static int timeline_print(struct question *q)
{
	const struct over_time *over = q->result;
	char heading[64];

	if (q->options->output)
		return timeline_draw(q, &over->told, over->bands.asked);
	header_print(q);
	if (!matches_print(q, timeline_blocks(&over->told.timeline)))
		return EXIT_DONE;
	snprintf(heading, sizeof(heading), "In use%s%s",
		 q->value == VALUE_LEAKED ? ", of what was " : "",
		 q->value == VALUE_LEAKED ? q->recorded.unfreed : "");
	terminal_heading(heading);
	if (over->bands.asked) {
		print_bands(&over->told);
		return EXIT_DONE;
	}
	print_graph(&over->graph);
	print_table(&over->told.timeline);
	return EXIT_DONE;
}

static int timeline_check(const struct command_call *call)
{
	const struct question_options *o = call->options;

	if (!o->count || o->count > COUNT_MAX)
		return command_usage_error(call->command, "--count takes a number from 1 to %d",
					   COUNT_MAX);
	if (o->value && strcmp(o->value, "allocated") != 0 && strcmp(o->value, "leaked") != 0)
		return command_usage_error(call->command,
					   "--value takes allocated or leaked here, not '%s'",
					   o->value);
	return EXIT_DONE;
}

static void over_time_done(void *result)
{
	struct over_time *over = result;

	timeline_bands_done(&over->bands);
	told_timeline_done(&over->told);
	timeline_done(&over->graph);
}

static const struct question_kind timeline_question = {
	.value = VALUE_ALLOCATED,
	.check = timeline_check,
	ASKED(struct over_time, timeline_ask, timeline_print, &told_timeline_answer,
	      over_time_done),
};

static const struct option timeline_table[] = {
	OPTION_TEXT(struct question_options, start, "start", "TIME",
		    "show from here: 10s, 50%, since the epoch"),
	OPTION_TEXT(struct question_options, end, "end", "TIME", "show up to here"),
	OPTION_NUMBER(struct question_options, count, "count", "N", "rows of the table (20)"),
	OPTION_TEXT(struct question_options, value, "value", "WHAT",
		    "allocated (the default), or leaked: only blocks that were not freed"),
	OPTION_TEXT(
		struct question_options, by, "by", "WHAT",
		"in bands: of the largest of each site, function, module or backtrace, or custom: "
		"of --series"),
	OPTION_NUMBER(struct question_options, bands, "bands", "N",
		      "so many of the largest, up to 32 (8); the rest is a band, too"),
	OPTION_LIST(struct question_options, series, "series", "NAME:FILTER=VALUE",
		    "a band of --by custom, with & between filters; may be given again; a block "
		    "belongs to the first that it fits (default: what leaked, and what was freed)"),
	OPTION_TEXT(struct question_options, weight, "weight", "WHAT",
		    "of bands and pictures: bytes (the default) or blocks"),
	OPTION_TEXT(struct question_options, output, "output", "FILE",
		    "draw it as SVG into this file; - is standard output"),
	OPTION_FORCE,
	{0},
};

static const struct option_group groups[] = {
	{NULL, timeline_table},
	FILTER_GROUPS,
};

static const struct question_options defaults = {
	.common.data = DEFAULT_DATA, .count = 20, .bands = SERIES_USUAL};

const struct command command_timeline = {
	.name = "timeline",
	.summary = "what was in use over time",
	.usage = "[OPTION...] [STREAM]",
	.about = "A graph of the bytes in use, and a table. Each row and column is a part of the\n"
		 "time, with the lowest and the highest use in it, exact however short they were.\n"
		 "In the graph # reaches up to the lowest and | from there to the highest.\n"
		 "\n"
		 "--by shows bands on top of each other, a letter each, up to the highest use:\n"
		 "each column has those of the moment at which most was in use.\n",
	.examples = "  collector timeline last\n"
		    "  collector timeline last --start 45% --end 55% --module libfoo.so\n"
		    "  collector timeline last --by site --output sites.svg\n"
		    "  collector timeline last --by custom --series 'big:size_min=1M' \\\n"
		    "      --series 'parser:function_regex=^parse_'\n",
	.groups = groups,
	.defaults = &defaults,
	ASKS(timeline_question),
};
