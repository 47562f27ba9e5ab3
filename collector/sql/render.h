#pragma once
/* Answers as JSON and CSV, for commands and the REST API: a sink for sql_run. */
#include "collector/export/export.h"
#include "collector/sql/sql.h"

enum sql_format {
	SQL_JSON,	/* an array of objects for each statement, a line each */
	SQL_JSON_LINES, /* an object a line */
	SQL_CSV,	/* RFC 4180: names, then rows; an empty line between two statements */
};

struct sql_render {
	enum sql_format format;
	struct buf *out;
	/* Called when there are some 64 KiB, and at the end of an answer; writes them out and
	 * clears the buffer. May be NULL. */
	int (*flush)(void *context, struct buf *out);
	void *context;
	/* Its own: */
	struct json json;
	char **names; /* of columns */
	unsigned columns, answers;
	/* There were more rows than may be. */
	bool cut;
};

struct sql_sink sql_render_sink(struct sql_render *render);
void sql_render_done(struct sql_render *render);
/* One row as an object, or one value: for answers of another shape. */
void sql_json_row(struct json *json, unsigned columns, char *const *names,
		  const struct sql_value *values);
void sql_json_value(struct json *json, const char *key, const struct sql_value *value);
