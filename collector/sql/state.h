#pragma once
/*
 * Internals of a session. A table is a description of columns, with functions that walk over its
 * rows (struct table). module.c makes an SQLite module from each. The table of allocations pushes
 * conditions down, so it has a module of its own (allocations.c).
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/match/mappings.h"
#include "collector/query/query.h"
#include "collector/sql/sql.h"
#include "collector/sql/temp.h"
#include "collector/recording/figures.h"

/* Maximum size of a value in bytes. It limits what one step can allocate before it is accounted. */
#define SQL_VALUE_MAX (1 << 20)

struct chain_walk;
struct facts;

struct sql {
	struct view *view;
	struct recording *recording;
	struct sql_limits limits;
	sqlite3 *db;
	struct temp_files *temp;
	struct filter filter; /* has no conditions; carries the deadline, and reports progress */
	/* Of the current run. */
	int64_t memory_before;
	int64_t allowed_bytes; /* share of the process's limit for SQLite */
	uint64_t held_bytes;   /* held by cursors outside of SQLite's memory; accounted, too */
	int ended;	       /* why the run ended: a negative errno; 0: it has not */
	struct err_text why;   /* error text for `ended` */
	uint64_t rows_left;
	bool evaluating; /* the user's text runs: the authorizer is strict */
	unsigned scans;	 /* number of cursors on allocations that hold blocks */
	/* Lookup tables of columns (facts.h), made on demand. */
	struct facts *facts;
};

/* Ends the statement. Only the first reason is kept. Returns SQLITE_ERROR. */
int sql_fail(struct sql *sql, int error, const struct err_text *err);

/* ---- where.c: conditions ---- */

/* Skips a quoted text, a name in brackets or a comment that begins at `p`. Returns its last
 * character, or `p` if none begins there, or NULL if it is not closed. A `--` comment may end with
 * the text. */
const char *sql_skip_quoted(const char *p);
/* Checks that a condition is a single expression: its brackets must balance. "1) or (2" would mean
 * something else than it seems to. Returns 0 or -EINVAL. */
int sql_one_expression(const char *condition, struct err_text *err);
/* The `begin` of a sink that needs only rows. */
int sql_no_begin(void *context, unsigned columns, const char *const *names);
int sql_no_end(void *context, bool cut);

/* ---- guard.c ---- */

int guard_connection(struct sql *sql, struct err_text *err);
void guard_done(struct sql *sql);
/* Ends the current run because it uses too much memory. */
void guard_too_much(struct sql *sql);
/* Sets the deadline and the number of rows of a new run. */
void guard_begin(struct sql *sql);
/* Tells whether the run must end, by its limits or because it was withdrawn. Code calls this that
 * runs long between two steps of SQLite's virtual machine. */
bool guard_ended(struct sql *sql);

/* ---- tables ---- */

struct table_column {
	/* type: as declared to SQLite; "INTEGER HIDDEN" for a parameter. */
	const char *name, *type;
	const char *about;
};

#define ARGUMENTS_MAX 4

struct table_cursor {
	sqlite3_vtab_cursor base;
	struct sql *sql;
	const struct table *table;
	uint64_t at, end; /* rows by number, starting at the table's `first` */
	bool keyed;
	int64_t key; /* value of the key column, if `keyed` */
	/* Values of the hidden columns, in their order; NULL: not given. Valid only in `begin`. */
	sqlite3_value *const *arguments;
	uint32_t node, frame; /* for the table `frames`: position in the stack */
	uint32_t position;
	void *work;	     /* private to the table */
	uint64_t held_bytes; /* size of `work`, which is accounted */
};

struct table {
	const char *name, *about;
	const struct table_column *columns; /* ends with {0} */
	int key;			    /* column that `begin` can look up; -1: none */
	int first_hidden;		    /* first column that is a parameter; -1: none */
	uint64_t likely_rows;
	/* Sets `at` and `end` (at = end: no rows). If `keyed`, only rows with that key are needed.
	 * Returns 0 or a negative errno. */
	int (*begin)(struct table_cursor *cursor, struct err_text *err);
	int (*next)(struct table_cursor *cursor, struct err_text *err); /* NULL: at++ */
	void (*column)(struct table_cursor *cursor, sqlite3_context *out, int column);
	void (*done)(struct table_cursor *cursor); /* may be NULL */
	/* Returns the row's unique number, which does not depend on how it was found. NULL:
	 * `at`. */
	uint64_t (*number)(const struct table_cursor *cursor);
};

extern const struct table table_stacks, table_frames, table_modules, table_maps, table_map_usage,
	table_threads, table_timeline, table_marks, table_culled, table_figures, table_gaps,
	table_calls, table_recording;
extern const struct table_column allocations_columns[];
#define ALLOCATIONS_ABOUT "a row an allocation that the recording holds, in the order of birth"

int tables_add(struct sql *sql);
int module_add(struct sql *sql, const struct table *table);
int allocations_add(struct sql *sql);

/* A virtual table of a connection. */
struct table_instance {
	sqlite3_vtab base;
	struct sql *sql;
	const struct table *table; /* NULL: allocations */
};

/* Declares the columns and makes the instance. Returns SQLITE_OK, or SQLite's error. */
int table_connect(sqlite3 *db, struct sql *sql, const struct table *table,
		  const struct table_column *columns, sqlite3_vtab **ret_table);
int table_disconnect(sqlite3_vtab *table);

/* Sets the cursor to the rows numbered from `first` to `last`, or to the row that is looked up. For
 * `begin`. */
void cursor_rows(struct table_cursor *cursor, uint64_t first, uint64_t last);
/* Accounts for the memory of `work` until `done`, because a statement may have thousands of
 * cursors. `begin` calls it last and returns its result: 0, or a negative errno if that is too
 * much. */
int cursor_holds(struct table_cursor *cursor, uint64_t bytes);
int functions_add(struct sql *sql);
/* Replaces those functions of SQLite that would not end in time. */
int texts_add(struct sql *sql);
extern const struct function_about {
	const char *name, *about;
} functions_about[]; /* ends with {0} */

/* ---- values ---- */

/* Caps a number at 2^63 - 1, where SQLite's integers end. */
static inline int64_t sql_number(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static inline void put_number(sqlite3_context *out, uint64_t value)
{
	sqlite3_result_int64(out, sql_number(value));
}

/* Sets the result to a time. NO_TIME becomes NULL. */
static inline void put_time(sqlite3_context *out, uint64_t ns)
{
	if (ns != NO_TIME)
		put_number(out, ns);
}

/* Sets the result to a text, which must live as long as the view. NULL stays NULL. */
static inline void put_text(sqlite3_context *out, const char *text)
{
	if (text)
		sqlite3_result_text(out, text, -1, SQLITE_STATIC);
}

/* Sets the result to a number that counts from 1. 0 becomes NULL. */
static inline void put_reference(sqlite3_context *out, uint32_t number)
{
	if (number)
		sqlite3_result_int64(out, number);
}
