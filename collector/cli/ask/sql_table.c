/* Prints SQL answers as a table. See sql_table.h. */
#include "collector/cli/ask/sql_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/cli/terminal.h"

#include "base/ban.h"

#define WIDTH_MAX 100 /* maximum width of a column on a terminal */
#define GAP	  2

static void sql_table_forget(struct sql_table *t)
{
	for (size_t i = 0; t->cells && i < t->kept * t->columns; i++)
		free(t->cells[i].text);
	free(t->cells);
	t->cells = NULL;
	t->kept = 0;
}

void sql_table_done(struct sql_table *table)
{
	sql_table_forget(table);
	free(table->widths);
	free(table->right);
	*table = (struct sql_table){.answers = table->answers};
}

/* Copies text. Replaces each NUL, which a C string cannot hold, by another character that a
 * terminal does not show. */
static char *copy(const char *text, size_t length)
{
	char *copied = malloc(length + 1);

	for (size_t i = 0; copied && i < length; i++)
		copied[i] = text[i] ? text[i] : '\1';
	if (copied)
		copied[length] = '\0';
	return copied;
}

/* Returns NULL if there is no value or no memory; `ret_error` tells which. */
static char *sql_table_text_of(const struct sql_value *value, int *ret_error)
{
	char number[40], *text = NULL;

	switch (value->kind) {
	case SQL_NULL:
		return NULL;
	case SQL_INTEGER:
		snprintf(number, sizeof(number), "%" PRId64, value->integer);
		text = strdup(number);
		break;
	case SQL_REAL:
		snprintf(number, sizeof(number), "%.10g", value->real);
		text = strdup(number);
		break;
	case SQL_STRING:
		text = copy(value->text, value->length);
		break;
	case SQL_BYTES:
		text = malloc(2 * value->length + 1);
		for (size_t i = 0; text && i <= value->length; i++)
			snprintf(text + 2 * i, 3, i < value->length ? "%02x" : "",
				 i < value->length ? (uint8_t)value->text[i] : 0);
		break;
	}
	if (!text)
		*ret_error = -ENOMEM;
	return text;
}

static unsigned width_of(const char *text)
{
	unsigned width = text ? terminal_columns(text) : 0;

	return isatty(STDOUT_FILENO) && width > WIDTH_MAX ? WIDTH_MAX : width;
}

static void print_cell(const struct sql_table *t, unsigned column, const char *text, bool heading)
{
	unsigned width = width_of(text), room = t->widths[column];
	bool last = column + 1 == t->columns;

	if (column)
		terminal_blanks(GAP);
	if (t->right[column] && width < room)
		terminal_blanks(room - width);
	if (text)
		terminal_text(heading ? STYLE_BOLD : STYLE_PLAIN, text, width);
	if (!t->right[column] && width < room && !last)
		terminal_blanks(room - width);
}

static void sql_table_print_row(const struct sql_table *t, const struct sql_cell *cells,
				bool heading)
{
	for (unsigned i = 0; i < t->columns; i++)
		print_cell(t, i, cells[i].text, heading);
	putchar('\n');
}

static void sql_table_measure(struct sql_table *t)
{
	for (unsigned i = 0; i < t->columns; i++) {
		bool numbers = true, some = false;

		for (size_t row = 0; row < t->kept; row++) {
			const struct sql_cell *cell = &t->cells[row * t->columns + i];
			unsigned width = width_of(cell->text);

			t->widths[i] = width > t->widths[i] ? width : t->widths[i];
			some = some || (row && cell->text);
			numbers = numbers && (!row || !cell->text || cell->number);
		}
		t->right[i] = numbers && some;
	}
}

static void print_kept(struct sql_table *t)
{
	if (t->begun || !t->kept)
		return;
	t->begun = true;
	sql_table_measure(t);
	for (size_t row = 0; row < t->kept; row++)
		sql_table_print_row(t, &t->cells[row * t->columns], !row);
	sql_table_forget(t);
}

static int sql_table_begin(void *context, unsigned columns, const char *const *names)
{
	struct sql_table *t = context;
	int error = 0;

	sql_table_done(t);
	if (t->answers++)
		putchar('\n');
	t->columns = columns;
	t->cells = calloc((size_t)(SQL_TABLE_ROWS + 1) * columns, sizeof(*t->cells));
	t->widths = calloc(columns, sizeof(*t->widths));
	t->right = calloc(columns, sizeof(*t->right));
	if (!t->cells || !t->widths || !t->right)
		return -ENOMEM;
	t->kept = 1;
	for (unsigned i = 0; i < columns; i++) {
		t->cells[i].text = strdup(names[i]);
		if (!t->cells[i].text)
			error = -ENOMEM;
	}
	return error;
}

static int print_later(struct sql_table *t, const struct sql_value *values)
{
	int error = 0;

	for (unsigned i = 0; i < t->columns; i++) {
		char *text = sql_table_text_of(&values[i], &error);

		print_cell(t, i, text, false);
		free(text);
	}
	putchar('\n');
	if (!error && ferror(stdout))
		error = -EPIPE;
	return error;
}

static int sql_table_row(void *context, unsigned columns, const struct sql_value *values)
{
	struct sql_table *t = context;
	int error = 0;

	t->rows++;
	if (t->kept == SQL_TABLE_ROWS + 1)
		print_kept(t);
	if (t->begun)
		return print_later(t, values);
	for (unsigned i = 0; i < columns; i++)
		t->cells[t->kept * columns + i] = (struct sql_cell){
			sql_table_text_of(&values[i], &error),
			values[i].kind == SQL_INTEGER || values[i].kind == SQL_REAL};
	t->kept++;
	return error;
}

static int sql_table_end(void *context, bool cut)
{
	struct sql_table *t = context;

	print_kept(t);
	if (cut)
		printf("(there are more rows: --count)\n");
	return 0;
}

struct sql_sink sql_table_sink(struct sql_table *table)
{
	return (struct sql_sink){sql_table_begin, sql_table_row, sql_table_end, table};
}
