#pragma once
/* Prints answers of SQL as a table for people. It is a sink for sql_run. */
#include "collector/sql/sql.h"

/* The first rows decide the widths of the columns. Later rows get the same widths. */
#define SQL_TABLE_ROWS 500

struct sql_table {
	unsigned columns, answers;
	uint64_t rows; /* rows of the current answer so far */
	struct sql_cell {
		char *text; /* NULL: no value */
		bool number;
	} * cells;   /* the first rows; row 0 holds the column names */
	size_t kept; /* number of rows in `cells` */
	unsigned *widths;
	bool *right; /* by column: true if its values are numbers, which are aligned right */
	bool begun;  /* the first rows have been printed */
};

struct sql_sink sql_table_sink(struct sql_table *table);
void sql_table_done(struct sql_table *table);
