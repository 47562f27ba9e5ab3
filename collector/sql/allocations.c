/* The module of the table `allocations`. See allocations.h. */
#include "collector/sql/allocations.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "collector/columns/row_block.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

/* Limit for scans. Each holds one or a few blocks of unpacked columns, up to about 4 MiB each,
 * which no limit of SQLite counts. */
#define SCANS_MAX 8

static int allocations_connect_table(sqlite3 *db, void *context, int argc, const char *const *argv,
				     sqlite3_vtab **ret_table, char **ret_error)
{
	(void)argc;
	(void)argv;
	(void)ret_error;
	return table_connect(db, context, NULL, allocations_columns, ret_table);
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	return allocations_best_index(((struct table_instance *)(void *)base)->sql, info);
}

static struct allocations_cursor *cursor_of(sqlite3_vtab_cursor *base)
{
	return (struct allocations_cursor *)(void *)base;
}

int allocations_open(struct sql *sql, struct allocations_cursor *c)
{
	struct err_text err;

	if (sql->scans >= SCANS_MAX) {
		err_set(&err, -EINVAL,
			"a statement may look through allocations in %d places at once", SCANS_MAX);
		return sql_fail(sql, -EINVAL, &err);
	}
	c->sql = sql;
	c->done = true;
	sql->scans++;
	return SQLITE_OK;
}

void allocations_close(struct allocations_cursor *c)
{
	c->sql->scans--;
	row_walk_free(c->walk);
	row_cache_free(c->single);
	free(c->stacks);
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
	struct allocations_cursor *c = calloc(1, sizeof(*c));
	int r = c ? allocations_open(((struct table_instance *)(void *)base)->sql, c)
		  : SQLITE_NOMEM;

	if (r != SQLITE_OK) {
		free(c);
		return r;
	}
	*ret_cursor = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	allocations_close(cursor_of(base));
	free(base);
	return SQLITE_OK;
}

int allocations_fail(struct allocations_cursor *c, int error, const struct err_text *err)
{
	c->done = true;
	return sql_fail(c->sql, error, err);
}

/* ---- a scan ---- */

/* Moves to the next row of the block whose stack is in the list. Returns false if there is none. */
static bool next_of_block(struct allocations_cursor *c)
{
	for (; c->k < c->rows.count; c->k++) {
		c->i = walked_row(&c->rows, c->k);
		if (allocations_listed(c, c->i))
			return true;
	}
	return false;
}

static int advance(struct allocations_cursor *c, struct err_text *err)
{
	while (!next_of_block(c)) {
		int r = guard_ended(c->sql) ? c->sql->ended : row_walk_next(c->walk, &c->rows, err);

		c->k = 0;
		c->done = r <= 0;
		if (r <= 0)
			return r;
		c->block = c->rows.block;
	}
	return 0;
}

int allocations_walk(struct allocations_cursor *c, const struct allocations_plan *plan,
		     struct err_text *err)
{
	row_walk_free(take_ptr(c->walk));
	c->rows = (struct walked_rows){0};
	c->k = 0;
	c->done = true;
	return row_walk_new(c->sql->view, &c->filter, c->columns, plan->first_row, plan->end_row,
			    &c->walk, err);
}

static int begin_scan(struct allocations_cursor *c, const struct allocations_plan *plan,
		      struct err_text *err)
{
	int r = allocations_walk(c, plan, err);

	if (r < 0)
		return r;
	c->done = false;
	return advance(c, err);
}

/* ---- a single row ---- */

/* Reads a single row. SQLite evaluates the other conditions. */
static int allocations_look_up(struct allocations_cursor *c, uint64_t row, struct err_text *err)
{
	if (row >= recording_rows(c->sql->recording))
		return 0;
	if (c->single_columns != c->columns) {
		row_cache_free(take_ptr(c->single));
		c->single_columns = c->columns;
	}
	if (!c->single && row_cache_new(c->sql->recording, c->columns, &c->single) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	c->block = row_cache_get(c->single, row, &c->i, err);
	if (!c->block)
		return -EIO;
	c->done = false;
	return 0;
}

/* Starts a scan, or reads a single row. `alive_at_ns` always needs a scan: a block read without
 * columns has only its zone, which does not tell which rows are alive. */
static int filter_cursor(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
			 sqlite3_value **argv)
{
	struct allocations_cursor *c = cursor_of(base);
	struct allocations_plan plan;
	struct err_text err = {0};
	int r = allocations_read_plan(c, text, argc, argv, &plan);

	if (r < 0)
		return SQLITE_NOMEM;
	row_walk_free(take_ptr(c->walk));
	c->done = true;
	c->site_of = 0;
	c->columns = (unsigned)number | (c->stacks ? ROWS_STACK : 0);
	if (plan.by_id && c->filter.alive_at_ns == NO_TIME)
		r = allocations_look_up(c, plan.first_row, &err);
	else
		r = begin_scan(c, &plan, &err);
	return r < 0 ? allocations_fail(c, r, &err) : SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
	struct allocations_cursor *c = cursor_of(base);
	struct err_text err = {0};
	int r = 0;

	if (!c->walk) {
		c->done = true;
		return SQLITE_OK;
	}
	c->k++;
	r = advance(c, &err);
	return r < 0 ? allocations_fail(c, r, &err) : SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return cursor_of(base)->done;
}

static int give_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int column)
{
	struct allocations_cursor *c = cursor_of(base);
	struct err_text err = {0};
	int r = allocations_put(c, out, column, &err);

	if (r < 0) {
		allocations_fail(c, r, &err);
		sqlite3_result_error(out, err_get(&err, r), -1);
		return SQLITE_ERROR;
	}
	return SQLITE_OK;
}

static int give_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_row)
{
	const struct allocations_cursor *c = cursor_of(base);

	*ret_row = (sqlite3_int64)(c->block->first_row + c->i);
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.xConnect = allocations_connect_table,
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

int allocations_add(struct sql *sql)
{
	return sqlite3_create_module_v2(sql->db, "allocations", &module, sql, NULL);
}
