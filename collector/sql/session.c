/* Opens sessions, and runs statements. See sql.h. */
#include "collector/sql/sql.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "collector/sql/facts.h"
#include "collector/sql/misnamed.h"
#include "collector/sql/regroup.h"
#include "collector/sql/state.h"

#include "base/ban.h"

#define COLUMNS_MAX 200		 /* same limit as in guard.c */
#define MEMORY_MAX  (1ull << 50) /* caps the limit, so that sums of limits do not overflow */

static int open_database(struct sql *sql, struct err_text *err)
{
	int r = temp_files_new(sql->limits.temp_bytes, &sql->temp);

	if (r < 0)
		return err_set(err, r, "out of memory");
	if (sqlite3_open_v2(":memory:", &sql->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
			    temp_files_name(sql->temp)) != SQLITE_OK)
		return err_set(err, -EIO, "SQLite: %s",
			       sql->db ? sqlite3_errmsg(sql->db) : "out of memory");
	if ((sql->view && (tables_add(sql) != SQLITE_OK || functions_add(sql) != SQLITE_OK)) ||
	    texts_add(sql) != SQLITE_OK)
		return err_set(err, -EIO, "SQLite: %s", sqlite3_errmsg(sql->db));
	return guard_connection(sql, err);
}

int sql_open(struct view *view, const struct sql_limits *limits, struct sql **ret_sql,
	     struct err_text *err)
{
	struct sql *sql = calloc(1, sizeof(*sql));
	int r;

	if (!sql)
		return err_set(err, -ENOMEM, "out of memory");
	sql->view = view;
	sql->recording = view ? view_recording(view) : NULL;
	sql->limits = *limits;
	if (!sql->limits.memory_bytes)
		sql->limits.memory_bytes = SQL_MEMORY_BYTES;
	if (sql->limits.memory_bytes > MEMORY_MAX)
		sql->limits.memory_bytes = MEMORY_MAX;
	if (!sql->limits.temp_bytes)
		sql->limits.temp_bytes = SQL_TEMP_BYTES;
	filter_init(&sql->filter);
	sql->filter.cancel.asked = limits->cancelled;
	sql->filter.progress = limits->progress;
	r = open_database(sql, err);
	if (r < 0)
		sql_close(sql);
	else
		*ret_sql = sql;
	return r;
}

void sql_close(struct sql *sql)
{
	if (!sql)
		return;
	sqlite3_close(sql->db);
	guard_done(sql);
	temp_files_free(sql->temp);
	facts_free(sql->facts);
	free(sql);
}

/* ---- errors ---- */

static void session_find_place(const char *text, const char *at, struct sql_place *ret_place)
{
	*ret_place = (struct sql_place){1, 1, (size_t)(at - text)};
	for (; text < at; text++) {
		ret_place->column++;
		if (*text == '\n')
			*ret_place = (struct sql_place){ret_place->line + 1, 1, ret_place->offset};
	}
}

static int no_room(struct sql *sql, struct err_text *err)
{
	char text[32];
	int error;

	if (!temp_files_full(sql->temp, &error) || error)
		return err_set(err, -ENOSPC, "writing a temporary file (TMPDIR, /var/tmp): %s",
			       strerror(error ? error : ENOSPC));
	return err_set(err, -EFBIG,
		       "it needs more than %s of temporary files, the limit: let it sort or group "
		       "less at a time",
		       format_size(text, (double)sql->limits.temp_bytes));
}

/* Converts an error of SQLite to an errno with an error text. */
static int session_failed(struct sql *sql, int code, struct err_text *err)
{
	if ((code & 0xff) == SQLITE_NOMEM)
		guard_too_much(sql);
	if (sql->ended)
		return err_set(err, sql->ended, "%s", sql->why.text);
	switch (code & 0xff) {
	case SQLITE_FULL:
		return no_room(sql, err);
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return err_set(err, -EIO, "a temporary file (TMPDIR, /var/tmp): %s",
			       sqlite3_errmsg(sql->db));
	default:
		return err_set(err, -EINVAL, "%s", sqlite3_errmsg(sql->db));
	}
}

/* ---- rows ---- */

static struct sql_value session_value_of(sqlite3_stmt *statement, int column)
{
	struct sql_value value = {0};

	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_INTEGER:
		value.kind = SQL_INTEGER;
		value.integer = sqlite3_column_int64(statement, column);
		break;
	case SQLITE_FLOAT:
		value.kind = SQL_REAL;
		value.real = sqlite3_column_double(statement, column);
		break;
	case SQLITE_TEXT:
		value.kind = SQL_STRING;
		value.text = (const char *)sqlite3_column_text(statement, column);
		value.length = (size_t)sqlite3_column_bytes(statement, column);
		break;
	case SQLITE_BLOB:
		value.kind = SQL_BYTES;
		value.text = sqlite3_column_blob(statement, column);
		value.length = (size_t)sqlite3_column_bytes(statement, column);
		break;
	default:
		break;
	}
	if ((value.kind == SQL_STRING || value.kind == SQL_BYTES) && !value.text)
		value = (struct sql_value){.kind = SQL_STRING, .text = ""};
	return value;
}

static int give_row(sqlite3_stmt *statement, unsigned columns, const struct sql_sink *sink)
{
	struct sql_value values[COLUMNS_MAX];

	for (unsigned i = 0; i < columns; i++)
		values[i] = session_value_of(statement, (int)i);
	return sink->row(sink->context, columns, values);
}

static int begin_answer(sqlite3_stmt *statement, unsigned columns, const struct sql_sink *sink)
{
	const char *names[COLUMNS_MAX];

	for (unsigned i = 0; i < columns; i++) {
		names[i] = sqlite3_column_name(statement, (int)i);
		if (!names[i])
			return -ENOMEM;
	}
	return sink->begin(sink->context, columns, names);
}

/* Steps through the rows of a statement. Returns 1 if more rows exist than are allowed. */
static int step_through(struct sql *sql, sqlite3_stmt *statement, const struct sql_sink *sink,
			struct err_text *err)
{
	unsigned columns = (unsigned)sqlite3_column_count(statement);
	int code, r = columns ? begin_answer(statement, columns, sink) : 0;
	bool cut = false;

	while (!r && !cut && (code = sqlite3_step(statement)) != SQLITE_DONE) {
		/* The deadline is also checked per row: rows may take few steps, but much time in
		 * the sink. */
		if (code != SQLITE_ROW || guard_ended(sql))
			return session_failed(sql, code, err);
		cut = sql->limits.rows && !sql->rows_left;
		sql->rows_left--;
		r = cut ? 0 : give_row(statement, columns, sink);
	}
	if (!r && columns)
		r = sink->end(sink->context, cut);
	return r ? r : cut;
}

DEFINE_CLEANUP(sqlite3_finalize, sqlite3_stmt *)

/* Words an error of compiling. SQLite reports where an unknown column is, but not where an unknown
 * table is, so the name is searched in the statement. A session without our tables (`--fail-if`)
 * skips that: there the caller explains the name. */
static int not_prepared(struct sql *sql, int code, const char *text, int offset,
			const char **ret_at, struct err_text *err)
{
	struct err_text said = {0};
	int r = session_failed(sql, code, &said);
	long found = offset < 0 && sql->view ? misnamed_offset(said.text, text, strlen(text)) : -1;

	if (found >= 0)
		*ret_at = text + found;
	if (r == -EINVAL && sql->view)
		misnamed_suggest(&said);
	return err_set(err, r, "%s", said.text);
}

static bool same_names(sqlite3_stmt *a, sqlite3_stmt *b)
{
	int columns = sqlite3_column_count(a);
	bool same = columns == sqlite3_column_count(b);

	for (int i = 0; same && i < columns; i++) {
		const char *name = sqlite3_column_name(a, i), *other = sqlite3_column_name(b, i);

		same = name && other && !strcmp(name, other);
	}
	return same;
}

/* Replaces the statement by one that reads sums, if there is one (regroup.h). */
static void use_sums(struct sql *sql, const char *text, size_t length, sqlite3_stmt **statement)
{
	char *other = sql->view ? regroup(text, length) : NULL;
	sqlite3_stmt *sums = NULL;

	if (other && sqlite3_prepare_v2(sql->db, other, -1, &sums, NULL) == SQLITE_OK && sums &&
	    same_names(*statement, sums)) {
		sqlite3_finalize(*statement);
		*statement = take_ptr(sums);
	}
	sqlite3_finalize(sums);
	sqlite3_free(other);
}

/* Runs the first statement of the text. *ret_rest is the text behind it. */
static int run_one(struct sql *sql, const char *text, const char **ret_rest,
		   const struct sql_sink *sink, const char **ret_at, struct err_text *err)
{
	cleanup(cleanup_sqlite3_finalize) sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(sql->db, text, -1, &statement, ret_rest);
	int offset = code == SQLITE_OK ? -1 : sqlite3_error_offset(sql->db);

	*ret_at = text + (offset > 0 ? offset : (int)strspn(text, " \t\r\n"));
	if (code != SQLITE_OK)
		return not_prepared(sql, code, text, offset, ret_at, err);
	if (!statement)
		return 0;
	if (!sqlite3_stmt_readonly(statement))
		return err_set(err, -EINVAL,
			       "statements only read the recording: this one would write");
	use_sums(sql, text, (size_t)(*ret_rest - text), &statement);
	return step_through(sql, statement, sink, err);
}

int sql_run(struct sql *sql, const char *text, const struct sql_sink *sink,
	    struct sql_place *ret_place, struct err_text *err)
{
	const char *rest = text, *at = text;
	int r = 0;

	if (strlen(text) > SQL_TEXT_MAX)
		return err_set(err, -EINVAL, "statements may have %u bytes together", SQL_TEXT_MAX);
	guard_begin(sql);
	sql->evaluating = true;
	while (!r && *rest)
		r = run_one(sql, rest, &rest, sink, &at, err);
	sql->evaluating = false;
	if (ret_place)
		session_find_place(text, at, ret_place);
	return r > 0 ? 0 : r;
}
