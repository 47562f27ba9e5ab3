/* collector timeline: shows what was in use over time, as a graph and a table. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/ask/header.h"
#include "collector/cli/ask/question.h"
#include "collector/cli/output.h"
#include "collector/cli/table.h"
#include "collector/cli/terminal.h"
#include "collector/cli/ask/timeline_bands.h"
#include "collector/formats/write/export.h"
#include "collector/answers/json.h"
#include "collector/answers/results.h"

#include "base/ban.h"

#define GRAPH_ROWS     10
#define COUNT_MAX      100000
#define PICTURE_POINTS 1000

static uint64_t highest(const struct timeline *t)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < t->count; i++)
		if (t->list[i].bytes_max > most)
			most = t->list[i].bytes_max;
	return most;
}

/* A column is a bucket: '#' up to the lowest use, '|' from there to the highest. */
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

static int print_timeline_json(const struct question *q, const struct timeline *t,
			       const struct timeline_bands *bands)
{
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	header_json_begin(&json, &out, q);
	json_timeline(&json, t, q->recorded.process.start_wall_ns);
	if (bands->series.count)
		json_series(&json, t, &bands->series, bands->weight);
	json_end(&json, '}');
	return output_json(q->command, stdout, &out);
}

static int timeline_ask(struct question *q, const struct question_options *o, uint32_t buckets,
			struct timeline_bands *bands, struct timeline *ret_timeline,
			struct err_text *err)
{
	struct timeline_question question = {.to_ns = NO_TIME, .buckets = buckets};
	int r = o->start ? query_time(q->view, "--start", o->start, &question.from_ns, err) : 0;

	if (r >= 0 && o->end)
		r = query_time(q->view, "--end", o->end, &question.to_ns, err);
	question.leaked_only = q->value == VALUE_LEAKED;
	if (r < 0)
		return r;
	if (!bands->asked)
		return query_timeline(q->view, &q->filter, &question, ret_timeline, err);
	return query_series(q->view, &q->filter, &question, &bands->question, ret_timeline,
			    &bands->series, err);
}

static int timeline_draw(struct question *q, const struct question_options *o,
			 struct timeline_bands *bands)
{
	cleanup(timeline_done) struct timeline t = {0};
	cleanup(buf_done) struct buf out = {0};
	struct err_text err = {0};
	int r = timeline_ask(q, o, PICTURE_POINTS, bands, &t, &err);

	if (!r)
		r = export_graph(
			&t,
			&(struct graph_options){.incomplete = q->recorded.completeness.line,
						.weight = bands->weight,
						.series = bands->asked ? &bands->series : NULL},
			&out, &err);
	return r < 0 ? question_failed(q, r, &err) : output_write(q->command, o->output, &out);
}

static int print(struct question *q, const struct question_options *o, struct timeline_bands *bands)
{
	cleanup(timeline_done) struct timeline graph = {0}, table = {0};
	struct err_text err = {0};
	char heading[64];
	int r = 0;

	if (o->common.json || !bands->asked)
		r = timeline_ask(q, o, (uint32_t)o->count, bands, &table, &err);
	if (!r && !o->common.json)
		r = timeline_ask(q, o, terminal_width() - GRAPH_LABEL, bands, &graph, &err);
	if (r < 0)
		return question_failed(q, r, &err);
	if (o->common.json)
		return print_timeline_json(q, &table, bands);
	header_print(q);
	snprintf(heading, sizeof(heading), "In use%s%s",
		 q->value == VALUE_LEAKED ? ", of what was " : "",
		 q->value == VALUE_LEAKED ? q->recorded.unfreed : "");
	terminal_heading(heading);
	if (bands->asked) {
		print_bands(&graph, bands);
		return EXIT_DONE;
	}
	print_graph(&graph);
	putchar('\n');
	table_head(&timeline_answer, STYLE_DIM);
	for (uint32_t i = 0; i < table.count; i++)
		table_row(&timeline_answer, &table.list[i]);
	return EXIT_DONE;
}

static int answer(struct question *q, const struct question_options *o)
{
	cleanup(timeline_bands_done) struct timeline_bands bands = {.asked = false};
	int status = timeline_bands_init(&bands, q, o);

	if (status)
		return status;
	return o->output ? timeline_draw(q, o, &bands) : print(q, o, &bands);
}

static int timeline_run(struct command_call *call)
{
	const struct question_options *o = call->options;

	if (!o->count || o->count > COUNT_MAX)
		return command_usage_error(call->command, "--count takes a number from 1 to %d",
					   COUNT_MAX);
	if (o->value && strcmp(o->value, "allocated") != 0 && strcmp(o->value, "leaked") != 0)
		return command_usage_error(call->command,
					   "--value takes allocated or leaked here, not '%s'",
					   o->value);
	return question_run(call, VALUE_ALLOCATED, answer);
}

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
	{0},
};

static const struct option_group groups[] = {
	{NULL, timeline_table},
	{"Filters: only allocations that fit are counted", filter_table},
	{"Common options", common_table},
	{0},
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
	.options_size = sizeof(struct question_options),
	.defaults = &defaults,
	.arguments_max = 1,
	.run = timeline_run,
};
