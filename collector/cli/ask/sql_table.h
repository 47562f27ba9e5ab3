#pragma once
/* Shows answers of SQL as a table for people: a sink for sql_run. */
#include "collector/sql/sql.h"

/* The widths of columns are chosen by the first so many rows; later rows get the same widths. */
#define SQL_TABLE_ROWS 500

struct sql_table {
	unsigned columns, answers;
	uint64_t rows; /* of this answer so far */
	struct sql_cell {
		char *text; /* NULL: nothing */
		bool number;
	} * cells;   /* of the first rows; the column names are the first row */
	size_t kept; /* rows in it */
	unsigned *widths;
	bool *right; /* by column: true if its values are numbers, which stand at the right */
	bool begun;  /* the first rows have been printed */
};

struct sql_sink sql_table_sink(struct sql_table *table);
void sql_table_done(struct sql_table *table);
