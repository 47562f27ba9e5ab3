#pragma once
/*
 * SQL over a recording: SQLite, with read-only virtual tables on the rows and on what else a
 * recording knows (tables.c). No table is a copy: a scan of the allocations unpacks one block of
 * rows at a time, and what a condition says of single columns goes down into the filter, so that
 * blocks are passed over by their zones.
 *
 * A text of statements is hostile. It may read these tables and nothing else (guard.c: an
 * authorizer, no file, no pragma that changes anything), and it ends in time: by its limits of
 * time, memory, temporary files and rows, or when it is withdrawn. Sorting and grouping use memory
 * up to some size, then a file without a name in TMPDIR or /var/tmp (temp.c).
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
	uint64_t time_ns;      /* of a whole sql_run; 0: none */
	uint64_t memory_bytes; /* of SQLite's, beside the columns of the blocks that are looked at;
				  0: SQL_MEMORY_BYTES */
	uint64_t temp_bytes;   /* of temporary files; 0: SQL_TEMP_BYTES */
	uint64_t rows;	       /* of the answers of a sql_run together; 0: any */
	const atomic_bool *cancelled; /* may be NULL; true: it ends soon with -ECANCELED */
	struct progress *progress;    /* may be NULL */
};

/* A session: a connection with all tables, for one thread. The view must not be refreshed while it
 * is there. */
struct sql;
int sql_open(struct view *view, const struct sql_limits *limits, struct sql **ret_sql,
	     struct err_text *err);
void sql_close(struct sql *sql);

enum sql_kind { SQL_NULL, SQL_INTEGER, SQL_REAL, SQL_STRING, SQL_BYTES };

struct sql_value {
	enum sql_kind kind;
	int64_t integer;
	double real;
	const char
		*text; /* of SQL_STRING, with a NUL behind it, and SQL_BYTES; until the next row */
	size_t length;
};

/* Who takes answers. Not 0 stops, and is returned by sql_run. */
struct sql_sink {
	/* Before the rows of a statement that has columns. */
	int (*begin)(void *context, unsigned columns, const char *const *names);
	int (*row)(void *context, unsigned columns, const struct sql_value *values);
	/* `cut`: there were more rows, but no more are allowed. */
	int (*end)(void *context, bool cut);
	void *context;
};

/* Where in the text an error lies, from 1; 0: nowhere in particular. */
struct sql_place {
	unsigned line, column;
};

/*
 * Runs all statements of the text, one after the other. 0; -EINVAL: the text is not understood, or
 * asks for what is not allowed; -ETIME, -ENOBUFS, -EFBIG: the limit of time, of memory, of
 * temporary files; -ECANCELED; what reading rows failed with; or what the sink returned.
 * `ret_place` may be NULL.
 */
int sql_run(struct sql *sql, const char *text, const struct sql_sink *sink,
	    struct sql_place *ret_place, struct err_text *err);

/* The rows for which a condition over the columns of the table `allocations` holds, for
 * filter.only: free it. Errors as of sql_run. */
int sql_where(struct view *view, const char *condition, const struct sql_limits *limits,
	      struct row_bits **ret_rows, struct err_text *err);
/* Makes `condition` hold beside what the filter asks already. Errors as of sql_run. */
int sql_add_condition(struct filter *filter, struct view *view, const char *condition,
		      const struct sql_limits *limits, struct err_text *err);

/* The condition of SQL that says what a filter says of this recording, over the columns of
 * `allocations`, or of `maps`; "1" where nothing is asked. What `filter.only` holds has no text:
 * that is the caller's. 0 or -ENOMEM. */
int sql_of_filter(const struct recording *recording, const struct filter *filter, bool of_maps,
		  struct buf *out);

/* The tables, for people: a callback a table, then one a column. */
struct sql_describe {
	void (*table)(void *context, const char *name, const char *about);
	void (*column)(void *context, const char *name, const char *type, const char *about);
	void (*function)(void *context, const char *name, const char *about);
	void *context;
};
void sql_describe(const struct sql_describe *describe);
