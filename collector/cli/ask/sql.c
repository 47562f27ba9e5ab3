/* collector sql: answers any question, in SQL over a recording. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/cli/ask/incomplete.h"
#include "collector/cli/output.h"
#include "collector/cli/ask/question.h"
#include "collector/cli/ask/sql_table.h"
#include "collector/cli/terminal.h"
#include "collector/sql/render.h"
#include "collector/sql/sql.h"
#include "collector/cli/ask/kind.h"
#include "collector/answers/recorded.h"
#include "collector/answers/json.h"
#include "collector/answers/answer.h"

#include "base/ban.h"

struct sql_options {
	struct question_options question;
	const char *file;
	bool csv, json_lines, schema;
	uint64_t timeout_ns, memory_bytes, temp_bytes;
};

/* ---- the tables ---- */

static void show_table(void *context, const char *name, const char *about)
{
	(void)context;
	terminal_heading(name);
	terminal_blanks(2);
	terminal_paragraph(STYLE_PLAIN, about, 2);
}

#define ABOUT_COLUMN 38

static void show_line(const char *name, const char *type, const char *about)
{
	char text[80];
	int used = snprintf(text, sizeof(text), "    %-24s%s", name, type);

	fputs(text, stdout);
	terminal_blanks(used < ABOUT_COLUMN - 1 ? (unsigned)(ABOUT_COLUMN - used) : 2);
	terminal_paragraph(STYLE_PLAIN, about, ABOUT_COLUMN);
}

static void show_column(void *context, const char *name, const char *type, const char *about)
{
	(void)context;
	show_line(name, strstr(type, "HIDDEN") ? "parameter" : type, about);
}

static void show_function(void *context, const char *name, const char *about)
{
	bool *any = context;

	if (!*any)
		terminal_heading("functions");
	*any = true;
	printf("    %s\n", name);
	terminal_blanks(8);
	terminal_paragraph(STYLE_PLAIN, about, 8);
}

static int show_schema(void)
{
	bool any = false;

	sql_describe(&(struct sql_describe){show_table, show_column, show_function, &any});
	return EXIT_DONE;
}

/* ---- statements ---- */

static int sql_read_all(FILE *file, const char *name, struct buf *text, struct err_text *err)
{
	char part[65536];
	size_t n;

	while ((n = fread(part, 1, sizeof(part), file)) > 0) {
		buf_append(text, part, n);
		if (text->length > SQL_TEXT_MAX)
			return err_set(err, -EINVAL, "%s: statements may have %u bytes together",
				       name, SQL_TEXT_MAX);
	}
	if (ferror(file))
		return err_set(err, -EIO, "reading %s: %s", name, strerror(errno));
	if (text->length && memchr(text->data, 0, text->length))
		return err_set(err, -EINVAL, "%s is not a text", name);
	return buf_error(text);
}

static int read_statements(const char *path, struct buf *text, struct err_text *err)
{
	cleanup(cleanup_fclose) FILE *file = NULL;

	if (!strcmp(path, "-"))
		return sql_read_all(stdin, "standard input", text, err);
	file = fopen(path, "re");
	if (!file)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return sql_read_all(file, path, text, err);
}

/* Finds the statements and the stream among the arguments and options. */
static int find_statements(const struct command_call *call, const char **ret_stream,
			   struct buf *text, struct err_text *err)
{
	const struct sql_options *o = call->options;
	int count = call->argument_count;
	const char *statements = o->file || !count ? NULL : call->arguments[count - 1];

	*ret_stream = "last";
	if (o->file && count > 1)
		return err_set(err, -EINVAL,
			       "--file has the statements already: '%s' is one too many",
			       call->arguments[1]);
	if (o->file ? count > 0 : count > 1)
		*ret_stream = call->arguments[0];
	if (o->file)
		return read_statements(o->file, text, err);
	/* A single word is a stream, not a statement. */
	if (!statements ||
	    (count == 1 && strcmp(statements, "-") != 0 && !strpbrk(statements, " \t\n;")))
		return err_set(err, -EINVAL,
			       "say what is asked: collector sql last 'select ...'; --schema shows "
			       "the tables");
	if (!strcmp(statements, "-"))
		return read_statements("-", text, err);
	buf_string(text, statements);
	return buf_error(text);
}

/* ---- answers ---- */

static int sql_flush(void *context, struct buf *out)
{
	(void)context;
	if (out->length && fwrite(out->data, 1, out->length, stdout) != out->length)
		return -errno;
	buf_clear(out);
	return 0;
}

/* The answers of all statements, as a list. */
struct sql_list {
	struct sql_sink rows;
	struct buf *out;
	bool more;
};

static int sql_list_begin(void *context, unsigned columns, const char *const *names)
{
	struct sql_list *l = context;

	if (l->more)
		buf_byte(l->out, ',');
	l->more = true;
	return l->rows.begin(l->rows.context, columns, names);
}

static int sql_list_row(void *context, unsigned columns, const struct sql_value *values)
{
	struct sql_list *l = context;

	return l->rows.row(l->rows.context, columns, values);
}

static int sql_list_end(void *context, bool cut)
{
	struct sql_list *l = context;

	return l->rows.end(l->rows.context, cut);
}

static int run_as_json(struct sql *sql, const struct question *q, const char *text,
		       struct sql_place *place, struct err_text *err)
{
	cleanup(buf_done) struct buf out = {0};
	cleanup(sql_render_done) struct sql_render render = {
		.out = &out, .flush = sql_flush, .format = SQL_JSON};
	struct sql_list list = {.rows = sql_render_sink(&render), .out = &out};
	struct sql_sink sink = {sql_list_begin, sql_list_row, sql_list_end, &list};
	struct json json;
	int r;

	question_json_begin(&json, &out, q);
	json_array(&json, "answers");
	r = sql_run(sql, text, &sink, place, err);
	if (r < 0)
		return r;
	json_end(&json, ']');
	json_end(&json, '}');
	buf_byte(&out, '\n');
	return sql_flush(NULL, &out);
}

static int run_with(struct sql *sql, const struct sql_options *o, const char *text,
		    struct sql_place *place, struct err_text *err)
{
	cleanup(buf_done) struct buf out = {0};
	cleanup(sql_render_done) struct sql_render render = {
		.out = &out,
		.flush = sql_flush,
		.format = o->csv ? SQL_CSV : SQL_JSON_LINES,
	};
	cleanup(sql_table_done) struct sql_table table = {0};
	bool rendered = o->csv || o->json_lines;
	struct sql_sink sink = rendered ? sql_render_sink(&render) : sql_table_sink(&table);

	return sql_run(sql, text, &sink, place, err);
}

DEFINE_CLEANUP(sql_close, struct sql *)

/* An answer in CSV or JSON lines consists of rows only. So what is missing is reported on standard
 * error. */
static void say_incomplete(const struct question *q, const struct sql_options *o)
{
	if (o->question.common.json)
		return;
	if (o->csv || o->json_lines)
		incomplete_note(q->command, &q->recorded.completeness);
	else
		incomplete_print(NULL, &q->recorded.completeness);
}

static int run(struct question *q, const struct sql_options *o, const char *text)
{
	cleanup(cleanup_sql_close) struct sql *sql = NULL;
	struct sql_limits limits = {.time_ns = o->timeout_ns,
				    .memory_bytes = o->memory_bytes,
				    .temp_bytes = o->temp_bytes,
				    .rows = o->question.count,
				    .progress = q->filter.progress};
	struct sql_place place = {0};
	struct err_text err = {0};
	int r = sql_open(q->view, &limits, &sql, &err);

	if (!r)
		say_incomplete(q, o);
	if (!r)
		r = o->question.common.json ? run_as_json(sql, q, text, &place, &err)
					    : run_with(sql, o, text, &place, &err);
	if (r == -EPIPE)
		output_failed(EPIPE);
	if (r == -EINVAL && place.line)
		err_prefix(&err, r, "line %u, column %u", place.line, place.column);
	fflush(stdout);
	return r < 0 ? question_failed(q, r, &err) : EXIT_DONE;
}

static int run_sql(struct command_call *call)
{
	const struct sql_options *o = call->options;
	cleanup(buf_done) struct buf text = {0};
	struct err_text err = {0};
	struct question q;
	const char *stream;
	int r, status;

	if (o->schema)
		return show_schema();
	if (o->csv + o->json_lines + o->question.common.json > 1)
		return command_usage_error(call->command,
					   "--csv, --json and --json-lines: one of them");
	r = find_statements(call, &stream, &text, &err);
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	status = question_open_selected(call, stream, VALUE_ALLOCATED, &q);
	if (status)
		return status;
	status = run(&q, o, buf_text(&text) ? buf_text(&text) : "");
	question_close(&q);
	return status;
}

static const struct answer_field sql_fields[] = {
	ROW_INCOMPLETE,
	BY_HAND("process", ANSWER_OBJECT, NULL, "which program was recorded, and how",
		.of = &recorded_answer),
	BY_HAND("answers", ANSWER_FREE, NULL,
		"for each statement its rows; a member for each column", .shape = ANSWER_LISTS),
	{0},
};
static const struct answer sql_answer = {"sql_answers", sql_fields};

static const struct option sql_table[] = {
	OPTION_LETTER('f', struct sql_options, file, TEXT, "file", "FILE",
		      "the statements are in this file; -: standard input"),
	OPTION_FLAG(struct sql_options, csv, "csv",
		    "comma separated values, names in the first line"),
	OPTION_FLAG(struct sql_options, json_lines, "json-lines",
		    "a JSON object a row, a line each"),
	OPTION_NUMBER(struct sql_options, question.count, "count", "N",
		      "rows of all answers together at most (all)"),
	OPTION_FLAG(struct sql_options, schema, "schema",
		    "show tables, columns and functions, and do nothing else"),
	{0},
};

static const struct option limit_table[] = {
	OPTION_TIME(struct sql_options, timeout_ns, "timeout", "TIME",
		    "give up after so long: 60s (never)"),
	OPTION_SIZE(struct sql_options, memory_bytes, "sql-memory", "SIZE",
		    "memory that statements may take (256M)"),
	OPTION_SIZE(
		struct sql_options, temp_bytes, "sql-temp", "SIZE",
		"temporary files that sorting and grouping may take, in TMPDIR or /var/tmp (4G)"),
	{0},
};

static const struct option symbol_table[] = {
	SYMBOL_OPTIONS(struct sql_options, question.symbols),
	OPTION_TEXT(
		struct sql_options, question.hide_rules, "hide-rules", "FILE",
		"functions that only pass allocations on, beside the ones that are known: a name a "
		"line, * at either end (docs/hide-rules.md)"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, sql_table},
	{"Limits", limit_table},
	{"Names", symbol_table},
	{"Common options", answer_table},
	{0},
};

static const struct sql_options defaults = {.question.common.data = DEFAULT_DATA};

const struct command command_sql = {
	.name = "sql",
	.answers = {&sql_answer},
	.summary = "any other question, in SQL over allocations, stacks, maps and more",
	.usage = "[OPTION...] [STREAM] 'SELECT...'",
	.about = "Runs statements of SQL (SQLite's) over read-only tables of a recording:\n"
		 "allocations, stacks, frames, modules, threads, maps, timeline, marks and more.\n"
		 "--schema shows them with all columns. Times are nanoseconds since the start.\n"
		 "Statements can read the recording and nothing else.\n",
	.examples = "  collector sql 'select function, sum(bytes) from allocations\n"
		    "                 where leaked group by function order by 2 desc limit 10'\n"
		    "  collector sql last --csv 'select start_ns, bytes from timeline(100)'\n"
		    "  collector sql last --file questions.sql --timeout 60s\n",
	.groups = groups,
	.options_size = sizeof(struct sql_options),
	.defaults = &defaults,
	.arguments_max = 2,
	.run = run_sql,
};
