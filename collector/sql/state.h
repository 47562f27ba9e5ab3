#pragma once
/*
 * Inside a session. A table is a description of columns with functions that walk over its rows
 * (struct table); module.c makes a module of SQLite of each. The table of allocations, which pushes
 * conditions down, is a module of its own (allocations.c).
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

/* A value's bytes, and so what one step can allocate beyond the account. */
#define SQL_VALUE_MAX (1 << 20)

struct chain_walk;
struct facts;

struct sql {
	struct view *view;
	struct recording *recording;
	struct sql_limits limits;
	sqlite3 *db;
	struct temp_files *temp;
	struct filter filter; /* unset, with when it ends, and the means to show how far it is */
	/* Of the run under way. */
	int64_t memory_before;
	int64_t allowed_bytes; /* of the process's limit for SQLite */
	uint64_t held_bytes;   /* by cursors, not of SQLite's memory: in the account, too */
	int ended;	       /* what ended it: a negative errno; 0: nothing */
	struct err_text why;   /* and the sentence */
	uint64_t rows_left;
	bool evaluating; /* while user text runs: the authorizer is strict */
	unsigned scans;	 /* cursors on allocations that hold blocks */
	struct facts
		*facts; /* what columns are looked up in (facts.h); made when first asked for */
};

/* Remembers why the statement ends; the first reason stays. Returns SQLITE_ERROR. */
int sql_fail(struct sql *sql, int error, const struct err_text *err);

/* ---- guard.c ---- */

int guard_connection(struct sql *sql, struct err_text *err);
void guard_done(struct sql *sql);
/* Ends what runs for the memory that it took. */
void guard_too_much(struct sql *sql);
/* Starts the clock and the accounts. */
void guard_begin(struct sql *sql);
/* Whether it has to end, by its limits or because it was withdrawn: for who works long without a
 * step of the machine. */
bool guard_ended(struct sql *sql);

/* ---- tables ---- */

struct table_column {
	const char *name, *type; /* type: as declared to SQLite; "INTEGER HIDDEN" for a parameter */
	const char *about;
};

#define ARGUMENTS_MAX 4

struct table_cursor {
	sqlite3_vtab_cursor base;
	struct sql *sql;
	const struct table *table;
	uint64_t at, end; /* rows by number: from the table's `first` on */
	bool keyed;
	int64_t key; /* rows that have it in the key column, if keyed */
	sqlite3_value *const
		*arguments; /* of hidden columns, in their order; NULL: not given. Only in begin */
	uint32_t node, frame; /* of frames: where in the stack */
	uint32_t position;
	void *work;	     /* the table's own */
	uint64_t held_bytes; /* of `work`, in the account */
};

struct table {
	const char *name, *about;
	const struct table_column *columns; /* ends with {0} */
	int key;			    /* the column that `begin` can look up; -1: none */
	int first_hidden;		    /* parameters from this column on; -1: none */
	uint64_t likely_rows;
	/* Sets at and end (at = end: none), and by `keyed` only those rows. 0 or negative errno. */
	int (*begin)(struct table_cursor *cursor, struct err_text *err);
	int (*next)(struct table_cursor *cursor, struct err_text *err); /* NULL: at++ */
	void (*column)(struct table_cursor *cursor, sqlite3_context *out, int column);
	void (*done)(struct table_cursor *cursor);	       /* may be NULL */
	uint64_t (*number)(const struct table_cursor *cursor); /* of the row, its own however it is
								  looked up; NULL: `at` */
};

extern const struct table table_stacks, table_frames, table_modules, table_maps, table_map_usage,
	table_threads, table_timeline, table_marks, table_culled, table_figures, table_gaps,
	table_calls, table_recording;
extern const struct table_column allocations_columns[];
#define ALLOCATIONS_ABOUT "a row an allocation that the recording holds, in the order of birth"

int tables_add(struct sql *sql);
int module_add(struct sql *sql, const struct table *table);
int allocations_add(struct sql *sql);
/* Tells SQLite the columns of a virtual table that connects. SQLITE_OK, or what it says. */
int table_declare(sqlite3 *db, const struct table_column *columns);
/* Rows numbered from `first` to `last`, or the one that is looked up: for begin. */
void cursor_rows(struct table_cursor *cursor, uint64_t first, uint64_t last);
/* Puts what `work` takes in the account, until `done`: a statement may have thousands of cursors.
 * For the end of begin, whose result it is: 0, or a negative errno where that is too much. */
int cursor_holds(struct table_cursor *cursor, uint64_t bytes);
int functions_add(struct sql *sql);
/* Of SQLite's functions those that would not end in time. */
int texts_add(struct sql *sql);
extern const struct function_about {
	const char *name, *about;
} functions_about[]; /* ends with {0} */

/* ---- values ---- */

/* SQLite's numbers end at 2^63 - 1: what is larger is shown as that. */
static inline int64_t sql_number(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static inline void put_number(sqlite3_context *out, uint64_t value)
{
	sqlite3_result_int64(out, sql_number(value));
}

/* Nothing for NO_TIME. */
static inline void put_time(sqlite3_context *out, uint64_t ns)
{
	if (ns != NO_TIME)
		put_number(out, ns);
}

/* A text that lives as long as the view; NULL: nothing. */
static inline void put_text(sqlite3_context *out, const char *text)
{
	if (text)
		sqlite3_result_text(out, text, -1, SQLITE_STATIC);
}

/* 0 is "none" of numbers that begin with 1. */
static inline void put_reference(sqlite3_context *out, uint32_t number)
{
	if (number)
		sqlite3_result_int64(out, number);
}
