/* The scripts of the profiler whose API this is; here they are SQL. POST /data/ID/execute_script
 * runs a script and returns its output. /data/ID/allocation_filter_to_script and
 * /data/ID/map_filter_to_script turn a filter into a script. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "base/cleanup.h"
#include "collector/columns/row_block.h"
#include "collector/http/routes/asking.h"
#include "collector/http/routes/maps.h"
#include "collector/http/routes/sql_limits.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/query/match/mappings.h"
#include "collector/sql/render.h"

#include "base/ban.h"

#define PROLOGUE                                                                                   \
	"/* times are nanoseconds since the start; collector sql --schema shows the tables */\n"

DEFINE_CLEANUP(sql_close, struct sql *)

/* ---- SQL itself: sql.c ---- */

const struct route sql_route = {
	.path = "sql",
	.about = "the answer to a statement of SQL over the recording",
	.flags = ROUTE_OF_RECORDING | ROUTE_RUNS_SQL,
	.method = ROUTE_GET_OR_QUESTION,
	.parameters = sql_parameters,
	.takes_filter = takes_none,
	.answer = &sql_answer,
	.step = sql_step,
};

/* ---- running a script ---- */

static const struct answer_field printed_fields[] = {
	BY_HAND("kind", ANSWER_TEXT, NULL, "always println"),
	BY_HAND("value", ANSWER_TEXT, NULL, "a line: the names of columns, or a row"),
	{0},
};
static const struct answer printed_answer = {"printed", printed_fields};

struct told_run {
	const char *status, *message;
	double elapsed;
	struct sql_place place;
};

#define ANSWER_OF struct told_run
static const struct answer_field run_fields[] = {
	ROW("status", status, NULL, "ok or error"),
	ROW("elapsed", elapsed, "s", ""),
	ROW("message", message, NULL, "what went wrong", .when = IF_SET),
	ROW("line", place.line, NULL, "line of the text at which it went wrong", .when = IF_SET),
	ROW("column", place.column, NULL, "column of that line", .when = IF_SET),
	BY_HAND("output", ANSWER_OBJECT, NULL, "what was printed until then", .shape = ANSWER_LIST,
		.of = &printed_answer),
	{0},
};
#undef ANSWER_OF
static const struct answer script_run_answer = {"script_run", run_fields};

struct script {
	struct json json; /* inside the array of lines */
	struct buf out, line;
};

static int print_line(struct script *s)
{
	const char *line = buf_text(&s->line);

	if (!line)
		return -ENOMEM;
	json_object(&s->json, NULL);
	json_string(&s->json, "kind", "println");
	json_text(&s->json, "value", line, s->line.length);
	json_end(&s->json, '}');
	buf_clear(&s->line);
	return buf_error(&s->out);
}

static int scripts_begin(void *context, unsigned columns, const char *const *names)
{
	struct script *s = context;

	for (unsigned i = 0; i < columns; i++)
		buf_printf(&s->line, "%s%s", i ? "\t" : "", names[i]);
	return print_line(s);
}

static int scripts_row(void *context, unsigned columns, const struct sql_value *values)
{
	struct script *s = context;

	for (unsigned i = 0; i < columns; i++) {
		const struct sql_value *v = &values[i];

		if (i)
			buf_byte(&s->line, '\t');
		if (v->kind == SQL_INTEGER)
			buf_printf(&s->line, "%" PRId64, v->integer);
		else if (v->kind == SQL_REAL)
			buf_printf(&s->line, "%.15g", v->real);
		else if (v->kind == SQL_STRING)
			buf_append(&s->line, v->text, v->length);
	}
	return print_line(s);
}

static int scripts_end(void *context, bool cut)
{
	struct script *s = context;

	if (!cut)
		return 0;
	buf_string(&s->line, "(there are more rows)");
	return print_line(s);
}

/* Both {"status":"ok"} and {"status":"error"}, with the output so far, have HTTP status 200. */
static void write_run(struct asking *a, const struct script *s, int error,
		      const struct sql_place *place, double elapsed)
{
	const struct told_run told = {.status = error ? "error" : "ok",
				      .elapsed = elapsed,
				      .message = error ? err_get(&a->x->err, error) : NULL,
				      .place = error ? *place : (struct sql_place){0}};

	json_members(&a->json, &script_run_answer, &told, NULL);
	buf_string(&a->x->out, ",\"output\":");
	buf_append(&a->x->out, s->out.data, s->out.length);
}

static int run_script(struct asking *a, struct sql *sql, struct script *script, const char *text)
{
	struct sql_sink sink = {scripts_begin, scripts_row, scripts_end, script};
	struct sql_place place = {0};
	uint64_t begun = uv_hrtime();
	int r;

	json_init(&script->json, &script->out);
	json_array(&script->json, NULL);
	r = sql_run(sql, text, &sink, &place, &a->x->err);
	if (r == -ECANCELED)
		return r;
	if (r == -EMSGSIZE)
		err_set(&a->x->err, r, "it prints more than 64 MiB");
	if (buf_error(&script->out)) { /* the output is incomplete */
		buf_clear(&script->out);
		json_init(&script->json, &script->out);
		json_array(&script->json, NULL);
	}
	json_end(&script->json, ']');
	write_run(a, script, r, &place, (double)(uv_hrtime() - begun) / 1e9);
	return 0;
}

static int execute_script_write(struct asking *a)
{
	cleanup(cleanup_sql_close) struct sql *sql = NULL;
	struct sql_limits limits = http_sql_limits(&a->x->cancelled, &a->x->progress);
	struct script script = {.out.limit = HTTP_SQL_ANSWER_BYTES_MAX};
	const char *text = buf_text(&a->x->request.body);
	int r = text ? sql_open(a->view, &limits, &sql, &a->x->err) : -ENOMEM;

	if (!r)
		r = run_script(a, sql, &script, text);
	buf_done(&script.out);
	buf_done(&script.line);
	return r;
}

const struct route execute_script_route = {
	.path = "execute_script",
	.about = "runs statements of SQL, and answers with lines of text",
	.flags = ROUTE_OF_RECORDING | ROUTE_RUNS_SQL,
	.method = ROUTE_QUESTION,
	.answer = &script_run_answer,
	.write = execute_script_write,
};

/* ---- a filter as a script ---- */

struct told_script {
	const char *prologue, *code;
};

#define ANSWER_OF struct told_script
static const struct answer_field script_fields[] = {
	ROW("prologue", prologue, NULL, "a comment"),
	ROW("code", code, NULL, "the statement"),
	{0},
};
#undef ANSWER_OF
static const struct answer script_answer = {"script", script_fields};

static int write_script(struct asking *a, const char *table, const struct buf *more)
{
	cleanup(buf_done) struct buf code = {0};
	int r;

	buf_printf(&code, "select * from %s where ", table);
	r = sql_of_filter(a->x->source->recording, &a->values.filter, !strcmp(table, "maps"),
			  &code);
	buf_append(&code, more->data, more->length);
	if (!r)
		r = buf_error(more);
	if (!r && !buf_text(&code))
		r = -ENOMEM;
	return r ? r
		 : json_members(&a->json, &script_answer,
				&(struct told_script){PROLOGUE, buf_text(&code)}, NULL);
}

/* A condition that is already SQL is used as it is, after a test run. */
static int allocation_script_write(struct asking *a)
{
	cleanup(buf_done) struct buf more = {0};

	for (size_t i = 0; i < a->x->request.parameter_count; i++) {
		const struct parameter *p = &a->x->request.parameters[i];

		if (!strcmp(p->name, "custom_filter") && p->value[0])
			buf_printf(
				&more, " and (%s\n)",
				p->value); /* the line break also ends a comment in the condition */
	}
	return write_script(a, "allocations", &more);
}

const struct route allocation_script_route = {
	.path = "allocation_filter_to_script",
	.about = "the filter as a statement of SQL",
	.flags = ROUTE_OF_RECORDING,
	.parameters =
		(const struct route_parameter[]){
			PASSED_OVER_LOOKS, PASSED_OVER_ORDER, PASSED_OVER_PAGES, {0}},
	.answer = &script_answer,
	.write = allocation_script_write,
};

static void add_only(struct buf *more, enum request_only only, const char *yes, const char *no)
{
	if (only != ANY)
		buf_printf(more, " and %s", only == ONLY_TRUE ? yes : no);
}

/* The parameters of maps besides filters. Paging and pictures do not decide which maps match. */
static int map_script_write(struct asking *a)
{
	cleanup(buf_done) struct buf more = {0};
	const struct request_values *w = &a->values;
	int r = maps_check(a);

	if (r < 0)
		return r;
	if (w->map != NO_TIME)
		buf_printf(&more, " and map = %" PRIu64, w->map);
	add_only(&more, w->readable, "readable = 1", "readable = 0");
	add_only(&more, w->writable, "writable = 1", "writable = 0");
	add_only(&more, w->executable, "executable = 1", "executable = 0");
	add_only(&more, w->jemalloc, "name like '%jemalloc%'", "name not like '%jemalloc%'");
	add_only(&more, w->bytehound, "name like '%heapcast%'", "name not like '%heapcast%'");
	if (w->peak_rss_min)
		buf_printf(&more, " and peak_rss >= %" PRIu64, w->peak_rss_min);
	if (w->peak_rss_max != UINT64_MAX)
		buf_printf(&more, " and peak_rss <= %" PRIu64, w->peak_rss_max);
	return write_script(a, "maps", &more);
}

const struct route map_script_route = {
	.path = "map_filter_to_script",
	.about = "the filter of maps as a statement of SQL",
	.flags = ROUTE_OF_RECORDING,
	.parameters = maps_parameters,
	.takes_filter = mapping_takes_filter,
	.answer = &script_answer,
	.write = map_script_write,
};
