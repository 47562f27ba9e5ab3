/* Snapshots as text and JSON. See snapshot_answers.h. */
#include "collector/cli/fleet/snapshot_answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/parse.h"
#include "collector/answers/json.h"
#include "collector/answers/results.h"
#include "collector/answers/snapshots.h"
#include "collector/answers/unnamed.h"
#include "collector/cli/ask/header.h"
#include "collector/cli/ask/incomplete.h"
#include "collector/cli/ask/question.h"
#include "collector/cli/ask/sites.h"
#include "collector/cli/fleet/snapshot_text.h"
#include "collector/cli/output.h"
#include "collector/cli/terminal.h"
#include "collector/query/query.h"

#include "base/ban.h"

#define NAME_COLUMNS  22 /* at least */
#define OTHER_COLUMNS 58

/* ---- list ---- */

/* What it is called, and if that is an id, its name. */
static void name_text(struct buf *out, const struct snapshot *s)
{
	if (s->called && !strchr(s->called, '@'))
		buf_printf(out, "%s (%s)", s->called, s->name);
	else
		buf_string(out, s->called ? s->called : s->name);
}

/* A host's name came from outside. A name that the terminal has no room for has a line. */
static void print_name(const struct snapshot *s, unsigned width)
{
	cleanup(buf_done) struct buf name = {0};
	unsigned columns;

	name_text(&name, s);
	columns = terminal_text(STYLE_PLAIN, buf_text(&name) ? buf_text(&name) : s->name, 0);
	if (columns > width) {
		putchar('\n');
		columns = 0;
	}
	terminal_blanks(width - columns);
}

static unsigned name_width(const struct snapshot *list, size_t count)
{
	unsigned width = NAME_COLUMNS, room = terminal_width();

	for (size_t i = 0; i < count; i++) {
		cleanup(buf_done) struct buf name = {0};
		unsigned columns;

		name_text(&name, &list[i]);
		columns = terminal_columns(buf_text(&name) ? buf_text(&name) : "");
		if (columns > width && columns + OTHER_COLUMNS <= room)
			width = columns;
	}
	return width;
}

static void print_list(const struct snapshot *list, size_t count)
{
	unsigned width;

	if (!count) {
		program_printf(
			stdout,
			"There are no snapshots yet: 'collector snapshot take' makes one.\n");
		return;
	}
	width = name_width(list, count);
	printf("%-*s %-16s %10s %11s %9s %7s\n", (int)width, "NAME", "TAKEN", "IN USE", "BLOCKS",
	       "PROCESSES", "MISSING");
	for (size_t i = 0; i < count; i++) {
		const struct snapshot *s = &list[i];
		struct usage total = snapshot_total(s);
		char bytes[32], blocks[32], when[40];

		print_name(s, width);
		printf(" %-16.16s %10s %11s %9zu %7zu\n",
		       snapshot_date(when, sizeof(when), s->wall_ns),
		       format_size(bytes, (double)total.bytes), format_count(blocks, total.blocks),
		       s->count - s->missing, s->missing);
	}
}

static const struct answer_field snapshots_fields[] = {
	BY_HAND("snapshots", ANSWER_OBJECT, NULL, "snapshots, the oldest first",
		.of = &snapshot_answer, .shape = ANSWER_LIST),
	{0},
};
const struct answer snapshots_answer = {"snapshots", snapshots_fields};

static int list_json(const struct command *command, const struct snapshot *list, size_t count)
{
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	output_json_begin(command, &json, &out);
	json_array(&json, "snapshots");
	for (size_t i = 0; i < count; i++) {
		json_object(&json, NULL);
		json_snapshot(&json, &list[i]);
		json_end(&json, '}');
	}
	json_end(&json, ']');
	json_end(&json, '}');
	return output_json(command, stdout, &out);
}

int snapshot_list_answer(const struct command *command, const struct common_options *options,
			 const struct snapshot *list, size_t count)
{
	if (options->json)
		return list_json(command, list, count);
	print_list(list, count);
	return EXIT_DONE;
}

/* ---- order ---- */

static int text_order(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int name_order(const char *function_a, const char *module_a, const char *function_b,
		      const char *module_b)
{
	int r = text_order(function_a, function_b);

	return r ? r : text_order(module_basename(module_a), module_basename(module_b));
}

static int groups_order(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->value.bytes != y->value.bytes)
		return x->value.bytes > y->value.bytes ? -1 : 1;
	if (x->value.blocks != y->value.blocks)
		return x->value.blocks > y->value.blocks ? -1 : 1;
	return name_order(x->function, x->module, y->function, y->module);
}

void snapshot_sort_groups(struct groups *groups)
{
	if (groups->count)
		qsort(groups->list, groups->count, sizeof(*groups->list), groups_order);
}

static uint64_t size_of_change(int64_t change)
{
	return change < 0 ? 0 - (uint64_t)change : (uint64_t)change;
}

static int diff_order(const void *a, const void *b)
{
	const struct diff_entry *x = a, *y = b;
	uint64_t p = size_of_change(x->bytes), q = size_of_change(y->bytes);

	if (p != q)
		return p > q ? -1 : 1;
	p = size_of_change(x->blocks);
	q = size_of_change(y->blocks);
	if (p != q)
		return p > q ? -1 : 1;
	return name_order(x->function, x->module, y->function, y->module);
}

void snapshot_sort_diff(struct diff *diff)
{
	if (diff->count)
		qsort(diff->list, diff->count, sizeof(*diff->list), diff_order);
}

/* ---- show ---- */

static const struct answer_field shown_fields[] = {
	ROW_INCOMPLETE,
	ROWS_BY_HAND(snapshot_answer),
	ROWS_BY_HAND(snapshot_functions_answer),
	BY_HAND("notes", ANSWER_OBJECT, NULL,
		"which names are missing, and why; none from the data base that collectors share",
		.of = &note_answer, .shape = ANSWER_LIST),
	{0},
};
const struct answer snapshot_shown_answer = {"snapshot_shown", shown_fields};

static int show_json(const struct command *command, uint64_t count, const struct snapshot *s,
		     const struct groups *groups, const struct question *q)
{
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	output_json_begin(command, &json, &out);
	if (q)
		incomplete_json(&json, "incomplete", &q->recorded.completeness);
	json_snapshot(&json, s);
	json_members(&json, &snapshot_functions_answer, groups,
		     &(struct answer_context){.count = count});
	if (q) {
		json_notes(&json, "notes", q->symbols);
	} else {
		json_array(&json, "notes");
		json_end(&json, ']');
	}
	json_end(&json, '}');
	return output_json(command, stdout, &out);
}

int snapshot_show_answer(const struct command *command, const struct common_options *options,
			 uint64_t count, const struct snapshot *s, struct groups *groups,
			 const struct question *q)
{
	const struct site_table table = {.count = count, .noun = "function"};

	snapshot_sort_groups(groups);
	if (options->json)
		return show_json(command, count, s, groups, q);
	if (q)
		incomplete_print(NULL, &q->recorded.completeness);
	snapshot_print_summary(s);
	snapshot_print_missing(s);
	snapshot_print_incomplete(s);
	snapshot_print_processes(s);
	putchar('\n');
	sites_print(q, groups, &table);
	if (q)
		notes_print(q);
	return EXIT_DONE;
}
