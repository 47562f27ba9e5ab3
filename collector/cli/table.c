/* Prints tables. See table.h. */
#include "collector/cli/table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/parse.h"
#include "collector/answers/answer.h"

#include "base/ban.h"

#define COLUMNS_MAX 10

struct table_column {
	const struct answer_field *field; /* NULL: behind the last column */
	size_t at;
};

/* Lists the columns in their order. */
static void table_list(const struct answer *answer, size_t at,
		       struct table_column list[COLUMNS_MAX + 1])
{
	for (const struct answer_field *f = answer->fields; f->name || f->of; f++) {
		if (f->kind == ANSWER_MEMBERS)
			table_list(f->of, at + f->at, list);
		if (!f->column.place)
			continue;
		assert(f->column.place <= COLUMNS_MAX);
		list[f->column.place - 1].field = f;
		list[f->column.place - 1].at = at + (f->stride ? f->item_at : f->at);
	}
}

static void table_date(char *out, size_t size, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / 1000000000);
	struct tm local;

	if (!localtime_r(&seconds, &local) || !strftime(out, size, "%Y-%m-%d %H:%M", &local))
		snprintf(out, size, "?");
}

static void table_number(const struct answer_field *f, uint64_t value, char *out, size_t size)
{
	const char *unit = f->unit ? f->unit : "";

	if (f->column.form & COLUMN_DATE)
		table_date(out, size, value);
	else if (f->kind == ANSWER_BOOL || f->kind == ANSWER_FLAG)
		snprintf(out, size, "%s", value ? "yes" : "no");
	else if (f->column.form & COLUMN_PLAIN)
		snprintf(out, size, "%" PRIu64, value);
	else if (f->kind == ANSWER_USAGE || !strcmp(unit, "bytes"))
		format_size(out, (double)value);
	else if (!strcmp(unit, "ns"))
		format_duration(out, value);
	else
		format_count(out, value);
}

static const char *table_value(const struct answer_field *f, const char *at,
			       char room[ANSWER_TEXT_MOST])
{
	const char *text = answer_text(f, at, room);
	bool is_text = f->kind == ANSWER_TEXT || f->kind == ANSWER_CHARS ||
		       f->kind == ANSWER_WORD || f->kind == ANSWER_ID || f->kind == ANSWER_HEX;
	bool nothing = is_text ? !text || !*text : !answer_number(f, at);

	if ((f->column.form & COLUMN_DASH && nothing) ||
	    (f->column.form & COLUMN_KNOWN && !*(const bool *)(at - f->at + f->column.known_at)))
		return "-";
	if (is_text)
		return text ? text : "-";
	table_number(f, answer_number(f, at), room, ANSWER_TEXT_MOST);
	return room;
}

static void table_cell(const struct answer_column *c, const char *text, enum style style)
{
	unsigned width = (unsigned)(c->width < 0 ? -c->width : c->width),
		 used = terminal_columns(text), blanks = used < width ? width - used : 0;

	terminal_blanks(c->width > 0 ? blanks : 0);
	if (c->form & COLUMN_CUT)
		terminal_cut(text, width);
	else
		terminal_text(style, text, 0);
	terminal_blanks(c->width < 0 ? blanks : 0);
}

static void table_print(const struct answer *answer, const char *object, enum style style)
{
	struct table_column list[COLUMNS_MAX + 1] = {0};
	char room[ANSWER_TEXT_MOST];

	table_list(answer, 0, list);
	for (size_t i = 0; list[i].field; i++) {
		const struct answer_field *f = list[i].field;

		terminal_blanks((i > 0) + f->column.gap);
		table_cell(&f->column,
			   object ? table_value(f, object + list[i].at, room) : f->column.title,
			   style);
	}
}

void table_head(const struct answer *answer, enum style style)
{
	table_print(answer, NULL, style);
	putchar('\n');
}

void table_cells(const struct answer *answer, const void *object)
{
	table_print(answer, object, STYLE_PLAIN);
}

void table_row(const struct answer *answer, const void *object)
{
	table_cells(answer, object);
	putchar('\n');
}
