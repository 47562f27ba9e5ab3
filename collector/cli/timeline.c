/* collector timeline: what was in use over time, as a graph and a table. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/header.h"
#include "collector/cli/question.h"
#include "collector/cli/terminal.h"
#include "collector/export/export.h"
#include "collector/export/results.h"
#include "collector/store/store.h"
#include "collector/store/watched.h"

#include "base/ban.h"

#define GRAPH_ROWS  10
#define GRAPH_LABEL 12 /* columns before the graph */
#define COUNT_MAX   100000

static uint64_t highest(const struct timeline *t)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < t->count; i++)
		if (t->list[i].bytes_max > most)
			most = t->list[i].bytes_max;
	return most;
}

/* A column a bucket: '#' up to the lowest, '|' from there to the highest that was reached. */
static char mark(const struct timeline_bucket *b, unsigned row, uint64_t most)
{
	double step = (double)most / GRAPH_ROWS, floor = step * row;

	if ((double)b->bytes_min > floor)
		return '#';
	return (double)b->bytes_max > floor ? '|' : ' ';
}

static void print_graph(const struct timeline *t)
{
	uint64_t most = highest(t);
	char size[32], from[32], to[32];

	for (unsigned row = GRAPH_ROWS; row-- > 0 && most;) {
		char line[512];
		unsigned n = 0;

		if (row == GRAPH_ROWS - 1 || row == GRAPH_ROWS / 2 - 1)
			printf("%10s |", format_size(size, (double)most * (row + 1) / GRAPH_ROWS));
		else
			printf("%10s |", "");
		for (; n < t->count && n + 1 < sizeof(line); n++)
			line[n] = mark(&t->list[n], row, most);
		while (n && line[n - 1] == ' ')
			n--;
		line[n] = 0;
		puts(line);
	}
	printf("%10s +%.*s\n", "0 B", (int)(t->count < 400 ? t->count : 400),
	       "--------------------------------------------------------------------------------"
	       "--------------------------------------------------------------------------------"
	       "--------------------------------------------------------------------------------"
	       "--------------------------------------------------------------------------------"
	       "--------------------------------------------------------------------------------");
	format_duration(from, t->from_ns);
	format_duration(to, t->to_ns - 1);
	printf("%*s%s%*s\n", GRAPH_LABEL, "", from,
	       t->count > strlen(from) + strlen(to) ? (int)(t->count - strlen(from))
						    : (int)strlen(to) + 2,
	       to);
}

static void print_table(const struct timeline *t)
{
	terminal_text(
		STYLE_DIM,
		"      FROM     LOWEST    HIGHEST AT THE END    BLOCKS ALLOCATIONS      FREES", 0);
	putchar('\n');
	for (uint32_t i = 0; i < t->count; i++) {
		const struct timeline_bucket *b = &t->list[i];
		char from[32], low[32], high[32], end[32], blocks[32], births[32], deaths[32];

		printf("%10s %10s %10s %10s %9s %11s %10s\n", format_duration(from, b->start_ns),
		       format_size(low, (double)b->bytes_min),
		       format_size(high, (double)b->bytes_max), format_size(end, (double)b->bytes),
		       format_count(blocks, b->blocks), format_count(births, b->allocations),
		       format_count(deaths, b->deallocations));
	}
}

static int print_timeline_json(const struct question *q, const struct timeline *t)
{
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	header_json_begin(&json, &out, q);
	json_timeline(&json, t, recording_process(q->recording)->start_wall_ns);
	json_end(&json, '}');
	return print_json(q, &out);
}

static int ask(struct question *q, const struct question_options *o, uint32_t buckets,
	       struct timeline *ret_timeline, struct err_text *err)
{
	struct timeline_question question = {.to_ns = NO_TIME, .buckets = buckets};
	int r = o->start ? query_time(q->view, "--start", o->start, &question.from_ns, err) : 0;

	if (r >= 0 && o->end)
		r = query_time(q->view, "--end", o->end, &question.to_ns, err);
	question.leaked_only = q->value == VALUE_LEAKED;
	return r < 0 ? r : query_timeline(q->view, &q->filter, &question, ret_timeline, err);
}

static int answer(struct question *q, const struct question_options *o)
{
	cleanup(timeline_done) struct timeline graph = {0}, table = {0};
	struct err_text err = {0};
	char heading[64];
	int r = ask(q, o, (uint32_t)o->count, &table, &err);

	if (!r && !o->common.json)
		r = ask(q, o, terminal_width() - GRAPH_LABEL, &graph, &err);
	if (r < 0)
		return question_failed(q, r, &err);
	if (o->common.json)
		return print_timeline_json(q, &table);
	header_print(q);
	snprintf(heading, sizeof(heading), "In use%s%s", q->value == VALUE_LEAKED ? ", of what was " : "",
		 q->value == VALUE_LEAKED ? watched_unfreed(recording_process(q->recording)) : "");
	terminal_heading(heading);
	print_graph(&graph);
	putchar('\n');
	print_table(&table);
	return EXIT_DONE;
}

static int run(struct command_call *call)
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
	{0},
};

static const struct option_group groups[] = {
	{NULL, timeline_table},
	{"Filters: only allocations that fit are counted", filter_table},
	{"Common options", common_table},
	{0},
};

static const struct question_options defaults = {.common.data = DEFAULT_DATA, .count = 20};

const struct command command_timeline = {
	.name = "timeline",
	.summary = "what was in use over time",
	.usage = "[OPTION...] [STREAM]",
	.about = "A graph of the bytes in use, and a table. Each row and column is a part of the\n"
		 "time: the lowest and highest that was in use in it, exactly, however short. In\n"
		 "the graph # reaches up to the lowest and | from there to the highest.\n",
	.examples = "  collector timeline last\n"
		    "  collector timeline last --start 45% --end 55% --module libfoo.so\n",
	.groups = groups,
	.options_size = sizeof(struct question_options),
	.defaults = &defaults,
	.arguments_max = 1,
	.run = run,
};
