#pragma once
/* Answers of SQL as a table for people: a sink for sql_run. */
#include "collector/sql/sql.h"

/* the first rows, which say how wide columns are; later ones are put into the same */
#define SQL_TABLE_ROWS 500

struct sql_table {
	unsigned columns, answers;
	uint64_t rows; /* of this answer */
	struct sql_cell {
		char *text; /* NULL: nothing */
		bool number;
	} * cells;   /* of the first rows, with the names in front */
	size_t kept; /* rows in it */
	unsigned *widths;
	bool *right; /* by column: numbers */
	bool begun;  /* the first rows are printed */
};

struct sql_sink sql_table_sink(struct sql_table *table);
void sql_table_done(struct sql_table *table);
