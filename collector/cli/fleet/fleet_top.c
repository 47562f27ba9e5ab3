/* collector fleet --top. See fleet_top.h. */
#include "collector/cli/fleet/fleet_top.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/answers/fleet_top.h"
#include "collector/answers/json.h"
#include "collector/cli/fleet/fleet_source.h"
#include "collector/cli/output.h"
#include "collector/cli/terminal.h"
#include "collector/fleet/source.h"

#include "base/ban.h"

/* Returns FLEET_TOP_BYS for another word. */
static enum fleet_top_by by_of(const char *word)
{
	enum fleet_top_by by = 0;

	while (by < FLEET_TOP_BYS && strcmp(word, fleet_top_words[by]) != 0)
		by++;
	return by;
}

int fleet_top_check(const struct command_call *call)
{
	const struct fleet_options *o = call->options;
	uint64_t at;

	if (!o->top)
		return command_usage_error(call->command, "--at goes with --top only");
	if (by_of(o->top) == FLEET_TOP_BYS)
		return command_usage_error(
			call->command,
			"--top takes \"function\", \"site\" or \"backtrace\", not \"%.60s\"",
			o->top);
	if (o->at && parse_wall(o->at, &at) < 0)
		return command_usage_error(
			call->command,
			"--at takes a time of the clock, \"2026-11-30 14:05\", not \"%.60s\"",
			o->at);
	if (o->last_ns || o->step_ns || o->align || o->by || o->fail_if)
		return command_usage_error(call->command,
					   "--last, --step, --align, --by and --fail-if are about "
					   "comparisons: they do not go with --top");
	return EXIT_DONE;
}

static int ask_top(const struct fleet_source *source, const struct fleet_options *o,
		   const struct site_rules *rules, void *ret_top, struct err_text *err)
{
	struct fleet_top_question question = {
		.select = o->common.select,
		.by = by_of(o->top),
		.count = o->count != FLEET_COUNT_DEFAULT ? o->count : FLEET_TOP_ROWS,
		.rules = rules,
		.progress = fleet_progress,
	};
	int r = o->at ? parse_wall(o->at, &question.at_ns) : 0;

	return r ? r : fleet_top_ask(source, &question, ret_top, err);
}

/* ---- as text ---- */

static const char *bytes_text(char out[40], int64_t bytes)
{
	char size[32];

	snprintf(out, 40, "%s%s", bytes < 0 ? "-" : "",
		 format_size(size, bytes < 0 ? -(double)bytes : (double)bytes));
	return out;
}

static bool is_estimate(const struct fleet_top *t)
{
	return t->bytes_error > 0;
}

static void print_head(const struct fleet_top *t)
{
	static const char *const nouns[] = {"function", "call site", "backtrace"};
	char when[32], bytes[40], error[48] = "", size[32], blocks[FORMAT_COUNTED],
				  streams[FORMAT_COUNTED], backtraces[FORMAT_COUNTED],
				  groups[FORMAT_COUNTED];

	if (is_estimate(t))
		snprintf(error, sizeof(error), " +- %s", format_size(size, t->bytes_error));
	terminal_say(STYLE_PLAIN, 0, "In use at %s: %s%s in %s, of %s in %s",
		     fleet_time_text(when, t->at_ns), bytes_text(bytes, t->bytes), error,
		     format_counted(blocks, t->blocks > 0 ? (uint64_t)t->blocks : 0, "block"),
		     format_counted(streams, t->streams, "stream"),
		     format_counted(groups, t->groups, nouns[t->by]));
	if (t->by != FLEET_TOP_BACKTRACE)
		terminal_say(STYLE_PLAIN, 0, "There are %s.",
			     format_counted(backtraces, t->backtraces, "different backtrace"));
	if (t->unread)
		terminal_say(STYLE_YELLOW, 0, "%s could not be read. The first: %s",
			     format_counted(streams, t->unread, "stream"), t->unread_why);
	fleet_left_out_print(&t->left_out);
}

/* The second line of a row: where the call site is, or which backtrace it is. */
static void print_place(const struct fleet_top *t, const struct fleet_top_row *row,
			unsigned columns)
{
	cleanup(buf_done) struct buf line = {0};

	if (t->by == FLEET_TOP_BACKTRACE && row->backtrace)
		buf_printf(&line, "%016" PRIx64 ", ", row->backtrace);
	if (row->file && row->line)
		buf_printf(&line, "%s:%u ", row->file, row->line);
	else if (row->file)
		buf_printf(&line, "%s ", row->file);
	if (row->module)
		buf_printf(&line, "in %s", row->module);
	if (!line.length || !buf_text(&line))
		return;
	terminal_blanks(columns);
	terminal_text(STYLE_DIM, buf_text(&line),
		      terminal_width() > columns + 8 ? terminal_width() - columns : 8);
	putchar('\n');
}

/* As wide in each row of a table that has any. */
static const char *error_text(char out[48], const struct fleet_top *t,
			      const struct fleet_top_row *row)
{
	char size[32];

	if (row->bytes_error > 0)
		snprintf(out, 48, " +-%8s", format_size(size, row->bytes_error));
	else
		snprintf(out, 48, "%*s", is_estimate(t) ? 11 : 0, "");
	return out;
}

/*
 *	    IN USE     BLOCKS  SHARE  BACKTRACES  FUNCTION
 *	  41.2 MiB      1,234  31.5%          12  cache_put
 *
 * Estimates have their error behind them.
 */
static void print_rows(const struct fleet_top *t)
{
	static const char *const nouns[] = {"FUNCTION", "CALL SITE", "BACKTRACE"};
	char heading[96];

	snprintf(heading, sizeof(heading), "    IN USE %s      BLOCKS   SHARE  BACKTRACES  %s",
		 is_estimate(t) ? "           " : "", nouns[t->by]);
	putchar('\n');
	terminal_line(STYLE_DIM, heading, 0);
	for (size_t i = 0; i < t->row_count; i++) {
		const struct fleet_top_row *row = &t->rows[i];
		char bytes[40], error[48], blocks[40], number[40];
		int columns = printf(
			"%10s%s %12s %3" PRIu64 ".%" PRIu64 " %% %11s  ",
			bytes_text(bytes, row->bytes), error_text(error, t, row),
			format_count(blocks, row->blocks > 0 ? (uint64_t)row->blocks : 0),
			row->share / 10, row->share % 10, format_count(number, row->backtraces));

		terminal_name(STYLE_PLAIN, row->function ? row->function : "?",
			      terminal_width() > (unsigned)columns + 8
				      ? terminal_width() - (unsigned)columns
				      : 8);
		putchar('\n');
		print_place(t, row, (unsigned)columns);
	}
	if (t->groups > t->row_count)
		printf("and %" PRIu64 " more (--count)\n", t->groups - t->row_count);
}

static int show(const struct command_call *call, const struct fleet_top *t)
{
	const struct fleet_options *o = call->options;
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	if (!o->common.json) {
		print_head(t);
		print_rows(t);
		return EXIT_DONE;
	}
	output_json_begin(call->command, &json, &out);
	if (json_fleet_top(&json, t) < 0)
		return command_fault(call->command, -ENOMEM, NULL);
	json_end(&json, '}');
	return output_json(call->command, stdout, &out);
}

int fleet_top_run(struct command_call *call)
{
	const struct fleet_options *o = call->options;
	cleanup(fleet_top_done) struct fleet_top top = {0};
	struct err_text err = {0};
	int r = fleet_source_ask(o, ask_top, &top, &err);

	if (r == -ENODATA) {
		command_note(call->command, "%s", err_get(&err, r));
		return EXIT_NO;
	}
	return r < 0 ? command_input_fault(call->command, r, &err) : show(call, &top);
}
