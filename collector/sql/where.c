/* Uses an SQL condition as a filter. The rows for which it holds are selected once, as one bit per
 * row. See sql.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"
#include "collector/sql/state.h"

#include "base/ban.h"

DEFINE_CLEANUP(sql_close, struct sql *)

int sql_no_begin(void *context, unsigned columns, const char *const *names)
{
	(void)context;
	(void)columns;
	(void)names;
	return 0;
}

static int pick_row(void *context, unsigned columns, const struct sql_value *values)
{
	struct row_bits *rows = context;
	uint64_t row = (uint64_t)values[0].integer;

	if (columns && values[0].kind == SQL_INTEGER && row < rows->rows)
		rows->bits[row / 8] |= (uint8_t)(1u << row % 8);
	return 0;
}

int sql_no_end(void *context, bool cut)
{
	(void)context;
	(void)cut;
	return 0;
}

const char *sql_skip_quoted(const char *p)
{
	const char *end;

	if (*p == '\'' || *p == '"' || *p == '`')
		return strchr(p + 1, *p);
	if (*p == '[')
		return strchr(p, ']');
	if (p[0] == '-' && p[1] == '-')
		return p + strcspn(p, "\n") - 1;
	if (p[0] != '/' || p[1] != '*')
		return p;
	end = strstr(p + 2, "*/");
	return end ? end + 1 : NULL;
}

int sql_one_expression(const char *condition, struct err_text *err)
{
	int depth = 0;

	for (const char *p = condition; *p; p++) {
		p = sql_skip_quoted(p);
		if (!p)
			return err_set(err, -EINVAL, "a quotation mark or a comment is not closed");
		depth += *p == '(';
		depth -= *p == ')';
		if (depth < 0 || *p == ';')
			return err_set(err, -EINVAL, "a condition ends too early, at '%.20s'", p);
	}
	return 0;
}

int sql_where(struct view *view, const char *condition, const struct sql_limits *limits,
	      struct row_bits **ret_rows, struct err_text *err)
{
	cleanup(cleanup_sql_close) struct sql *sql = NULL;
	cleanup(cleanup_free) struct row_bits *rows =
		row_bits_new(recording_rows(view_recording(view)));
	cleanup(buf_done) struct buf text = {0};
	struct sql_sink sink = {sql_no_begin, pick_row, sql_no_end, rows};
	struct sql_limits mine = *limits;
	int r = sql_one_expression(condition, err);

	mine.rows = 0;
	buf_string(&text, "select id from allocations where (");
	buf_string(&text, condition);
	buf_string(&text, "\n)"); /* the newline ends a comment in the condition */
	if (!r && (!rows || !buf_text(&text)))
		r = err_set(err, -ENOMEM, "out of memory");
	if (!r)
		r = sql_open(view, &mine, &sql, err);
	if (!r)
		r = sql_run(sql, buf_text(&text), &sink, NULL, err);
	if (!r)
		*ret_rows = take_ptr(rows);
	return r;
}

int sql_add_condition(struct filter *filter, struct view *view, const char *condition,
		      const struct sql_limits *limits, struct err_text *err)
{
	struct row_bits *rows;
	int r = sql_where(view, condition, limits, &rows, err);

	if (r < 0)
		return r;
	/* Both have one bit per row of the same recording, which did not grow in between. */
	for (uint64_t i = 0; filter->only && i <= rows->rows / 8; i++)
		rows->bits[i] &= filter->only->bits[i];
	free(filter->only);
	filter->only = rows;
	return 0;
}
