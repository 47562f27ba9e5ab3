#pragma once
/* Renders answers as JSON and CSV, for commands and the REST API. It is a sink for sql_run. */
#include "collector/answers/json.h"
#include "collector/sql/sql.h"

enum sql_format {
	SQL_JSON,	/* per statement an array of objects, each on a line */
	SQL_JSON_LINES, /* one object per line */
	SQL_CSV,	/* RFC 4180: names, then rows; an empty line between two statements */
};

struct sql_render {
	enum sql_format format;
	struct buf *out;
	/* Called when about 64 KiB have been collected, and at the end of an answer. Writes out and
	 * clears the buffer. May be NULL. */
	int (*flush)(void *context, struct buf *out);
	void *context;
	/* Internal: */
	struct json json;
	char **names; /* names of the columns */
	unsigned columns, answers;
	/* True if more rows were available than allowed. */
	bool cut;
};

struct sql_sink sql_render_sink(struct sql_render *render);
void sql_render_done(struct sql_render *render);
/* Writes a row as an object, or a single value, for answers of another shape. */
void sql_json_row(struct json *json, unsigned columns, char *const *names,
		  const struct sql_value *values);
void sql_json_value(struct json *json, const char *key, const struct sql_value *value);
