/* Scripts of the profiler whose API this is; here they are SQL. POST /data/ID/execute_script runs
 * one and returns what it prints. /data/ID/allocation_filter_to_script and
 * /data/ID/map_filter_to_script turn a filter into a script. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/sql.h"
#include "collector/http/routes/what.h"
#include "collector/sql/render.h"
#include "collector/answers/json.h"

#include "base/ban.h"

#define PROLOGUE                                                                                   \
	"/* times are nanoseconds since the start; collector sql --schema shows the tables */\n"

DEFINE_CLEANUP(sql_close, struct sql *)

/* ---- running one ---- */

static const struct answer_field printed_fields[] = {
	BY_HAND("kind", ANSWER_TEXT, NULL, "println"),
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
	ROW("line", place.line, NULL, "of the text, where that is", .when = IF_SET),
	ROW("column", place.column, NULL, "likewise", .when = IF_SET),
	BY_HAND("output", ANSWER_OBJECT, NULL, "what was printed until then", .shape = ANSWER_LIST,
		.of = &printed_answer),
	{0},
};
#undef ANSWER_OF
const struct answer script_run_answer = {"script_run", run_fields};

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

/* Both {"status":"ok"} and {"status":"error"}, with what had been printed until then, are answers
 * with HTTP status 200. */
static int write_answer(struct exchange *x, struct script *s, int error,
			const struct sql_place *place, double elapsed)
{
	const struct told_run told = {.status = error ? "error" : "ok",
				      .elapsed = elapsed,
				      .message = error ? err_get(&x->err, error) : NULL,
				      .place = error ? *place : (struct sql_place){0}};
	struct json json;

	json_answer(&json, x);
	json_members(&json, &script_run_answer, &told, NULL);
	buf_string(&x->out, ",\"output\":");
	buf_append(&x->out, s->out.data, s->out.length);
	json_end(&json, '}');
	return buf_error(&x->out);
}

int execute_script_step(struct exchange *x)
{
	cleanup(cleanup_sql_close) struct sql *sql = NULL;
	struct sql_limits limits = http_sql_limits(&x->cancelled, &x->progress);
	struct script script = {.out.limit = HTTP_SQL_ANSWER_BYTES_MAX};
	struct sql_sink sink = {scripts_begin, scripts_row, scripts_end, &script};
	struct sql_place place = {0};
	uint64_t begun = uv_hrtime();
	const char *text = buf_text(&x->request.body);
	int r = no_parameters(x);

	if (!r && !text)
		r = -ENOMEM;
	if (!r)
		r = sql_open(x->source->view, &limits, &sql, &x->err);
	if (r < 0)
		return r;
	json_init(&script.json, &script.out);
	json_array(&script.json, NULL);
	r = sql_run(sql, text, &sink, &place, &x->err);
	if (r == -EMSGSIZE)
		err_set(&x->err, r, "it prints more than 64 MiB");
	if (buf_error(&script.out)) { /* what was printed is incomplete */
		buf_clear(&script.out);
		json_init(&script.json, &script.out);
		json_array(&script.json, NULL);
	}
	json_end(&script.json, ']');
	r = r == -ECANCELED
		    ? r
		    : write_answer(x, &script, r, &place, (double)(uv_hrtime() - begun) / 1e9);
	buf_done(&script.out);
	buf_done(&script.line);
	return r;
}

/* ---- a filter as one ---- */

const struct route_parameter allocation_script_parameters[] = {
	PASSED_OVER_LOOKS,
	PASSED_OVER_ORDER,
	PASSED_OVER_PAGES,
	{0},
};

static const struct answer_field script_fields[] = {
	BY_HAND("prologue", ANSWER_TEXT, NULL, "a comment"),
	BY_HAND("code", ANSWER_TEXT, NULL, "the statement"),
	{0},
};
const struct answer script_answer = {"script", script_fields};

static int write_script(struct exchange *x, const char *table, const char *more,
			const struct filter *filter)
{
	cleanup(buf_done) struct buf code = {0};
	struct json json;
	int r;

	buf_printf(&code, "select * from %s where ", table);
	r = sql_of_filter(x->source->recording, filter, !strcmp(table, "maps"), &code);
	buf_string(&code, more);
	if (!r && !buf_text(&code))
		r = -ENOMEM;
	if (r < 0)
		return r;
	json_answer(&json, x);
	json_string(&json, "prologue", PROLOGUE);
	json_string(&json, "code", buf_text(&code));
	json_end(&json, '}');
	return buf_error(&x->out);
}

/* A condition that is SQL already is used as it is, after a test run. */
int allocation_script_step(struct exchange *x)
{
	cleanup(buf_done) struct buf more = {0};
	cleanup(what_done) struct what what;
	int r = what_read(x, allocation_script_parameters, &what);

	for (size_t i = 0; !r && i < x->request.parameter_count; i++) {
		const struct parameter *p = &x->request.parameters[i];

		if (!strcmp(p->name, "custom_filter") && p->value[0])
			buf_printf(
				&more, " and (%s\n)",
				p->value); /* the line break also ends a comment in the condition */
	}
	if (!r && !buf_text(&more))
		r = -ENOMEM;
	return r ? r : write_script(x, "allocations", buf_text(&more), &what.filter);
}

/* Adds a parameter that maps take beside filters. Paging and pictures don't say which maps match.
 */
static int add_map_parameter(const struct parameter *p, struct buf *more)
{
	static const struct {
		const char *name, *yes, *no;
	} only[] = {
		{"readable", "readable = 1", "readable = 0"},
		{"writable", "writable = 1", "writable = 0"},
		{"executable", "executable = 1", "executable = 0"},
		{"jemalloc", "name like '%jemalloc%'", "name not like '%jemalloc%'"},
		{"bytehound", "name like '%heapcast%'", "name not like '%heapcast%'"},
	};
	uint64_t number;

	for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); i++)
		if (!strcmp(p->name, only[i].name))
			buf_printf(more, " and %s",
				   !strcmp(p->value, "only_true") ? only[i].yes : only[i].no);
	if (parse_u64(p->value, &number) < 0 && parse_size(p->value, &number) < 0)
		return 0;
	if (!strcmp(p->name, "peak_rss_min"))
		buf_printf(more, " and peak_rss >= %" PRIu64, number);
	else if (!strcmp(p->name, "peak_rss_max"))
		buf_printf(more, " and peak_rss <= %" PRIu64, number);
	else if (!strcmp(p->name, "id"))
		buf_printf(more, " and map = %" PRIu64, number);
	return 0;
}

int map_script_step(struct exchange *x)
{
	cleanup(buf_done) struct buf more = {0};
	cleanup(filter_done) struct filter filter;
	int r = maps_read_filter(x, &filter);

	for (size_t i = 0; !r && i < x->request.parameter_count; i++)
		r = add_map_parameter(&x->request.parameters[i], &more);
	if (!r && !buf_text(&more))
		r = -ENOMEM;
	return r ? r : write_script(x, "maps", buf_text(&more), &filter);
}
