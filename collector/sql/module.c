/* Makes SQLite modules from descriptions of tables (struct table). The tables are eponymous: they
 * exist by their names without CREATE, and nothing is written. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "collector/sql/state.h"

#include "base/ban.h"

#define USES_KEY       1 /* flags of idxNum; argument n is ARGUMENT_FIRST << n */
#define ARGUMENT_FIRST 2

struct registered {
	struct sql *sql;
	const struct table *table;
};

static int table_declare(sqlite3 *db, const struct table_column *columns)
{
	cleanup(buf_done) struct buf text = {0};

	buf_string(&text, "CREATE TABLE x(");
	for (const struct table_column *c = columns; c->name; c++)
		buf_printf(&text, "%s\"%s\" %s", c == columns ? "" : ", ", c->name, c->type);
	buf_string(&text, ")");
	return buf_text(&text) ? sqlite3_declare_vtab(db, buf_text(&text)) : SQLITE_NOMEM;
}

int table_connect(sqlite3 *db, struct sql *sql, const struct table *table,
		  const struct table_column *columns, sqlite3_vtab **ret_table)
{
	struct table_instance *instance = sqlite3_malloc(sizeof(*instance));
	int r = instance ? table_declare(db, columns) : SQLITE_NOMEM;

	if (r != SQLITE_OK) {
		sqlite3_free(instance);
		return r;
	}
	*instance = (struct table_instance){.sql = sql, .table = table};
	*ret_table = &instance->base;
	return SQLITE_OK;
}

int table_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

static int module_connect_table(sqlite3 *db, void *context, int argc, const char *const *argv,
				sqlite3_vtab **ret_table, char **ret_error)
{
	const struct registered *registered = context;

	(void)argc;
	(void)argv;
	(void)ret_error;
	return table_connect(db, registered->sql, registered->table, registered->table->columns,
			     ret_table);
}

/* Plans a query. A parameter must be given by equality. An equality on the key becomes a look-up.
 * SQLite evaluates all other conditions. */
static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct table *table = ((struct table_instance *)(void *)base)->table;
	int argument = 1, number = 0, key = -1, hidden[ARGUMENTS_MAX] = {-1, -1, -1, -1};

	for (int i = 0; i < info->nConstraint; i++) {
		int column = info->aConstraint[i].iColumn;
		bool parameter = table->first_hidden >= 0 && column >= table->first_hidden;

		if (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (!info->aConstraint[i].usable && parameter)
			return SQLITE_CONSTRAINT;
		if (parameter)
			hidden[column - table->first_hidden] = i;
		else if (info->aConstraint[i].usable && column >= 0 && column == table->key)
			key = i;
	}
	if (key >= 0) {
		number |= USES_KEY;
		info->aConstraintUsage[key].argvIndex = argument++;
	}
	for (int i = 0; i < ARGUMENTS_MAX; i++) {
		if (hidden[i] < 0)
			continue;
		number |= ARGUMENT_FIRST << i;
		info->aConstraintUsage[hidden[i]].argvIndex = argument++;
		info->aConstraintUsage[hidden[i]].omit = 1;
	}
	info->idxNum = number;
	info->estimatedRows = key >= 0 ? 4 : (sqlite3_int64)table->likely_rows;
	info->estimatedCost = key >= 0 ? 10 : (double)table->likely_rows * 2 + 20;
	return SQLITE_OK;
}

static struct table_cursor *cursor_of(sqlite3_vtab_cursor *base)
{
	return (struct table_cursor *)(void *)base;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
	const struct table_instance *instance = (struct table_instance *)(void *)base;
	struct table_cursor *cursor = sqlite3_malloc(sizeof(*cursor));

	if (!cursor)
		return SQLITE_NOMEM;
	*cursor = (struct table_cursor){.sql = instance->sql, .table = instance->table};
	*ret_cursor = &cursor->base;
	return SQLITE_OK;
}

static void module_clear(struct table_cursor *cursor)
{
	if (cursor->table->done)
		cursor->table->done(cursor);
	cursor->work = NULL;
	cursor->sql->held_bytes -= cursor->held_bytes;
	cursor->held_bytes = 0;
	cursor->at = cursor->end = 0;
	cursor->node = cursor->frame = cursor->position = 0;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	module_clear(cursor_of(base));
	sqlite3_free(base);
	return SQLITE_OK;
}

static int module_fail(struct table_cursor *cursor, int error, const struct err_text *err)
{
	cursor->at = cursor->end;
	return sql_fail(cursor->sql, error, err);
}

static int filter_cursor(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
			 sqlite3_value **argv)
{
	struct table_cursor *cursor = cursor_of(base);
	sqlite3_value *arguments[ARGUMENTS_MAX] = {NULL};
	struct err_text err = {0};
	int next = 0, r;

	(void)text;
	(void)argc;
	module_clear(cursor);
	cursor->keyed = number & USES_KEY;
	if (cursor->keyed) {
		/* A value that is negative or not a number matches no key. */
		int kind = sqlite3_value_numeric_type(argv[next]);

		if (kind != SQLITE_INTEGER && kind != SQLITE_FLOAT)
			return SQLITE_OK;
		cursor->key = sqlite3_value_int64(argv[next++]);
		if (cursor->key < 0)
			return SQLITE_OK;
	}
	for (int i = 0; i < ARGUMENTS_MAX; i++)
		if (number & ARGUMENT_FIRST << i)
			arguments[i] = argv[next++];
	cursor->arguments = arguments;
	r = cursor->table->begin(cursor, &err);
	cursor->arguments = NULL;
	return r < 0 ? module_fail(cursor, r, &err) : SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
	struct table_cursor *cursor = cursor_of(base);
	struct err_text err = {0};
	int r = 0;

	if (cursor->table->next)
		r = cursor->table->next(cursor, &err);
	else
		cursor->at++;
	return r < 0 ? module_fail(cursor, r, &err) : SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return cursor_of(base)->at >= cursor_of(base)->end;
}

static int give_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int column)
{
	struct table_cursor *cursor = cursor_of(base);

	cursor->table->column(cursor, out, column);
	return SQLITE_OK;
}

static int give_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_row)
{
	const struct table_cursor *cursor = cursor_of(base);

	*ret_row =
		(sqlite3_int64)(cursor->table->number ? cursor->table->number(cursor) : cursor->at);
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.xConnect = module_connect_table,
	.xBestIndex = best_index,
	.xDisconnect = table_disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter_cursor,
	.xNext = next_row,
	.xEof = at_end,
	.xColumn = give_column,
	.xRowid = give_rowid,
};

int module_add(struct sql *sql, const struct table *table)
{
	struct registered *registered = sqlite3_malloc(sizeof(*registered));

	if (!registered)
		return SQLITE_NOMEM;
	*registered = (struct registered){sql, table};
	return sqlite3_create_module_v2(sql->db, table->name, &module, registered, sqlite3_free);
}

void cursor_rows(struct table_cursor *cursor, uint64_t first, uint64_t last)
{
	cursor->at = first;
	cursor->end = last + 1;
	if (!cursor->keyed)
		return;
	cursor->at = (uint64_t)cursor->key;
	cursor->end = cursor->at >= first && cursor->at <= last ? cursor->at + 1 : cursor->at;
}

int cursor_holds(struct table_cursor *cursor, uint64_t bytes)
{
	cursor->held_bytes += bytes;
	cursor->sql->held_bytes += bytes;
	return guard_ended(cursor->sql) ? cursor->sql->ended : 0;
}
