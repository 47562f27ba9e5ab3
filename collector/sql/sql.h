#pragma once
/*
 * SQL over a recording: SQLite with read-only virtual tables for the rows and for the other
 * contents of a recording (tables.c). No table is a copy. A scan of the allocations unpacks one
 * block of rows at a time. Conditions on single columns are pushed down into the filter, so that
 * blocks are skipped by their zones.
 *
 * The text of statements is hostile input. It may read these tables and nothing else (guard.c: an
 * authorizer, no files, no pragma that changes anything). It ends in time: by its limits of time,
 * memory, temporary files and rows, or when it is withdrawn. Sorting and grouping use memory up to
 * a limit, then a nameless file in TMPDIR or /var/tmp (temp.c).
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err_text;
struct filter;
struct progress;
struct recording;
struct row_bits;
struct view;

#define SQL_TEXT_MAX	 (1u << 20) /* bytes of statements */
#define SQL_MEMORY_BYTES (256ull << 20)
#define SQL_TEMP_BYTES	 (4ull << 30)

struct sql_limits {
	uint64_t time_ns; /* time of a whole sql_run; 0: unlimited */
	/* Of SQLite's memory, without the unpacked columns of blocks; 0: SQL_MEMORY_BYTES. */
	uint64_t memory_bytes;
	uint64_t temp_bytes;	      /* bytes in temporary files; 0: SQL_TEMP_BYTES */
	uint64_t rows;		      /* rows in all answers of a sql_run together; 0: unlimited */
	const atomic_bool *cancelled; /* may be NULL; true: the run ends soon with -ECANCELED */
	struct progress *progress;    /* may be NULL */
};

/* A session: a connection for one thread, with all tables. Without a view it has no tables. The
 * view must not be refreshed while the session exists. */
struct sql;
int sql_open(struct view *view, const struct sql_limits *limits, struct sql **ret_sql,
	     struct err_text *err);
void sql_close(struct sql *sql);

enum sql_kind { SQL_NULL, SQL_INTEGER, SQL_REAL, SQL_STRING, SQL_BYTES };

struct sql_value {
	enum sql_kind kind;
	int64_t integer;
	double real;
	/* For SQL_STRING (followed by a NUL) and SQL_BYTES; valid until the next row. */
	const char *text;
	size_t length;
};

/* Receives answers. A return value other than 0 stops sql_run, which returns it. */
struct sql_sink {
	/* Called before the rows of a statement that has columns. */
	int (*begin)(void *context, unsigned columns, const char *const *names);
	int (*row)(void *context, unsigned columns, const struct sql_value *values);
	/* `cut` is true if more rows were available than allowed. */
	int (*end)(void *context, bool cut);
	void *context;
};

/* The position of an error in the text, from 1; 0: unknown. */
struct sql_place {
	unsigned line, column;
	size_t offset; /* bytes before it */
};

/*
 * Runs all statements of the text, one after the other. Returns 0; -EINVAL if the text is not
 * valid, or asks for something that is not allowed; -ETIME, -ENOBUFS or -EFBIG at the limit of
 * time, memory or temporary files; -ECANCELED; an error of reading rows; or the value that the sink
 * returned. `ret_place` may be NULL.
 */
int sql_run(struct sql *sql, const char *text, const struct sql_sink *sink,
	    struct sql_place *ret_place, struct err_text *err);

/* Selects the rows for which a condition over the columns of the table `allocations` holds, for
 * filter.only. The caller frees *ret_rows. Returns the errors of sql_run. */
int sql_where(struct view *view, const char *condition, const struct sql_limits *limits,
	      struct row_bits **ret_rows, struct err_text *err);
/* Adds `condition` to the filter's other conditions. Returns the errors of sql_run. */
int sql_add_condition(struct filter *filter, struct view *view, const char *condition,
		      const struct sql_limits *limits, struct err_text *err);

#define SQL_NAME_MAX 64

struct sql_named {
	const char *name; /* NULL ends a table */
	double value;
};

/*
 * Evaluates a condition over named numbers, such as "leaked_bytes > 1M" (condition.c says what it
 * may contain besides SQL). NULL counts as false. Returns 0; -EINVAL if the condition is not valid;
 * -ENOENT for an unknown name, which is then in `unknown`; or another error of sql_run. To check a
 * condition before the numbers are known, the caller passes zeros.
 */
int sql_condition(const char *condition, const struct sql_named *values, bool *ret_true,
		  char unknown[SQL_NAME_MAX], struct err_text *err);

/* Appends the SQL condition that is equivalent to a filter on this recording, over the columns of
 * `allocations`, or of `maps`. Appends "1" if the filter has no condition. The caller must handle
 * `filter.only`, which has no text. Returns 0 or -ENOMEM. */
int sql_of_filter(const struct recording *recording, const struct filter *filter, bool of_maps,
		  struct buf *out);

/* Describes the tables to a user: calls one function per table, and then one per column of it. */
struct sql_describe {
	void (*table)(void *context, const char *name, const char *about);
	void (*column)(void *context, const char *name, const char *type, const char *about);
	void (*function)(void *context, const char *name, const char *about);
	void *context;
};
void sql_describe(const struct sql_describe *describe);
