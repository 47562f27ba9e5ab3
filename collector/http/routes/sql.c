/* /data/ID/sql: the answer to an SQL statement. The whole answer is made in one step, within
 * limits, because the recording must not grow while a statement runs. */
#include "collector/http/routes/sql_limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "collector/formats/write/put.h"
#include "collector/answers/json.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/values.h"
#include "collector/sql/render.h"

#include "base/ban.h"

DEFINE_CLEANUP(sql_close, struct sql *)

struct asked {
	struct sql_limits limits;
	const char *query; /* the request owns it */
	bool csv;
};

static int read_query(void *context, const struct view *view, const char *name, const char *value,
		      struct err_text *err)
{
	(void)view;
	(void)name;
	(void)err;
	((struct asked *)context)->query = value;
	return 0;
}

static int read_format(void *context, const struct view *view, const char *name, const char *value,
		       struct err_text *err)
{
	(void)view;
	((struct asked *)context)->csv = !strcmp(value, "csv");
	if (strcmp(value, "csv") != 0 && strcmp(value, "json") != 0)
		return err_set(err, -EINVAL, "%s takes json or csv, not \"%.60s\"", name, value);
	return 0;
}

static int read_timeout(void *context, const struct view *view, const char *name, const char *value,
			struct err_text *err)
{
	uint64_t *to = &((struct asked *)context)->limits.time_ns;

	(void)view;
	if (parse_duration(value, to) < 0 || !*to || *to > HTTP_SQL_TIME_NS)
		return err_set(err, -EINVAL, "%s takes a duration up to 60s, not \"%.60s\"", name,
			       value);
	return 0;
}

static int read_rows(void *context, const struct view *view, const char *name, const char *value,
		     struct err_text *err)
{
	uint64_t *to = &((struct asked *)context)->limits.rows;

	(void)view;
	if (parse_u64(value, to) < 0 || !*to)
		return err_set(err, -EINVAL, "%s takes a whole number above 0, not \"%.60s\"", name,
			       value);
	return 0;
}

const struct route_parameter sql_parameters[] = {
	PARAMETER_BY("query", read_query, "a statement of SQL",
		     "the statement; a POST can have it in its body instead. collector sql "
		     "--schema shows the tables"),
	PARAMETER_BY("format", read_format, "json or csv", "format of the answer; default json"),
	PARAMETER_BY("timeout", read_timeout, "duration",
		     "the statement ends after so long; default 60s, which is also the most"),
	PARAMETER_BY("count", read_rows, "whole number", "at most so many rows; default 100000"),
	{0},
};

static bool no_filter(const char *name)
{
	(void)name;
	return false;
}

/* ---- JSON: one object ---- */

struct table {
	struct exchange *x;
	struct json json;
	char **names;
	unsigned columns;
	bool begun, cut;
	uint64_t rows;
};

static int sql_begin(void *context, unsigned columns, const char *const *names)
{
	struct table *t = context;

	if (t->begun)
		return err_set(
			&t->x->err, -EINVAL,
			"one statement at a time is answered here: execute_script takes several");
	t->begun = true;
	t->names = calloc(columns, sizeof(*t->names));
	if (!t->names)
		return -ENOMEM;
	json_array(&t->json, "columns");
	for (; t->columns < columns; t->columns++) {
		json_string(&t->json, NULL, names[t->columns]);
		t->names[t->columns] = strdup(names[t->columns]);
		if (!t->names[t->columns])
			return -ENOMEM;
	}
	json_end(&t->json, ']');
	json_array(&t->json, "rows");
	return 0;
}

static int sql_row(void *context, unsigned columns, const struct sql_value *values)
{
	struct table *t = context;

	t->rows++;
	sql_json_row(&t->json, columns, t->names, values);
	return buf_error(&t->x->out);
}

static int sql_end(void *context, bool cut)
{
	struct table *t = context;

	t->cut = cut;
	json_end(&t->json, ']');
	return 0;
}

static const struct answer_field sql_fields[] = {
	BY_HAND("columns", ANSWER_TEXT, NULL, "names of the columns", .shape = ANSWER_LIST),
	BY_HAND("rows", ANSWER_FREE, NULL, "rows as objects, with a member for each column",
		.shape = ANSWER_LIST),
	BY_HAND("row_count", ANSWER_U64, "rows", ""),
	BY_HAND("cut", ANSWER_BOOL, NULL, "true: there were more rows than count"),
	{0},
};
const struct answer sql_answer = {"sql", sql_fields};

static int answer_json(struct exchange *x, struct sql *sql, const char *text,
		       struct sql_place *ret_place)
{
	struct table t = {.x = x};
	struct sql_sink sink = {sql_begin, sql_row, sql_end, &t};
	int r;

	json_answer(&t.json, x);
	r = sql_run(sql, text, &sink, ret_place, &x->err);
	if (!r && !t.begun) { /* the text has no statement */
		json_array(&t.json, "columns");
		json_end(&t.json, ']');
		json_array(&t.json, "rows");
		json_end(&t.json, ']');
	}
	for (unsigned i = 0; i < t.columns; i++)
		free(t.names[i]);
	free(t.names);
	json_u64(&t.json, "row_count", t.rows);
	json_bool(&t.json, "cut", t.cut);
	json_end(&t.json, '}');
	return r;
}

/* Says in a header that the answer was cut: CSV has no other place for it. */
static void say_cut(struct exchange *x, uint64_t rows)
{
	size_t used = strlen(x->incomplete);

	snprintf(x->incomplete + used, sizeof(x->incomplete) - used,
		 "%sIncomplete: the answer has more rows than %llu (count).", used ? " " : "",
		 (unsigned long long)rows);
}

static int answer_csv(struct exchange *x, struct sql *sql, const char *text, uint64_t rows,
		      struct sql_place *ret_place)
{
	struct sql_render render = {.format = SQL_CSV, .out = &x->out};
	struct sql_sink sink = sql_render_sink(&render);
	int r;

	x->content_type = "text/csv; charset=utf-8";
	r = sql_run(sql, text, &sink, ret_place, &x->err);
	if (render.cut)
		say_cut(x, rows);
	sql_render_done(&render);
	return r;
}

/* ---- all ---- */

static int fail(struct exchange *x, int r, const struct sql_place *place)
{
	if (r == -EMSGSIZE)
		err_set(&x->err, r,
			"the answer has more than 64 MiB: ask for fewer rows (limit, count)");
	if (r == -EINVAL && place->line)
		err_prefix(&x->err, r, "line %u, column %u", place->line, place->column);
	if (r == -EINVAL)
		snprintf(x->parameter, sizeof(x->parameter), "query");
	return r;
}

int sql_step(struct exchange *x)
{
	cleanup(cleanup_sql_close) struct sql *sql = NULL;
	struct asked asked = {.limits = http_sql_limits(&x->cancelled, &x->progress)};
	struct sql_place place = {0};
	const char *text;
	int r = read_parameters_of(x, x->source->view, sql_parameters, &asked, NULL, no_filter);

	if (r < 0)
		return r;
	text = x->post ? buf_text(&x->request.body) : asked.query;
	if (!text)
		return fail(
			x,
			err_set(&x->err, -EINVAL, "query is missing: it takes a statement of SQL"),
			&place);
	if (x->post && asked.query)
		return fail(x, err_set(&x->err, -EINVAL, "the query is in the body already"),
			    &place);
	x->out.limit = HTTP_SQL_ANSWER_BYTES_MAX;
	r = sql_open(x->source->view, &asked.limits, &sql, &x->err);
	if (!r)
		r = asked.csv ? answer_csv(x, sql, text, asked.limits.rows, &place)
			      : answer_json(x, sql, text, &place);
	if (!r)
		r = buf_error(&x->out);
	x->out.limit = 0;
	return r < 0 ? fail(x, r, &place) : 0;
}
