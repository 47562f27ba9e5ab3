/* Names that do not exist. See misnamed.h. */
#include "collector/sql/misnamed.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/cli/nearest.h"
#include "base/error.h"
#include "collector/sql/sql.h"

#include "base/ban.h"

#define NO_TABLE  "no such table: "
#define NO_COLUMN "no such column: "

/* Returns the name in a message without the table before it, or NULL. */
static const char *misnamed_name(const char *message, bool *ret_table)
{
	const char *name, *dot;

	*ret_table = !strncmp(message, NO_TABLE, strlen(NO_TABLE));
	if (!*ret_table && strncmp(message, NO_COLUMN, strlen(NO_COLUMN)) != 0)
		return NULL;
	name = message + strlen(*ret_table ? NO_TABLE : NO_COLUMN);
	dot = strrchr(name, '.');
	return dot ? dot + 1 : name;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

long misnamed_offset(const char *message, const char *text, size_t length)
{
	bool table;
	const char *name = misnamed_name(message, &table);
	size_t n = name ? strlen(name) : 0;

	for (size_t i = 0; n && i + n <= length; i++)
		if (!strncasecmp(text + i, name, n) && (!i || !is_word(text[i - 1])) &&
		    (i + n == length || !is_word(text[i + n])))
			return (long)i;
	return -1;
}

struct search {
	bool table;
	struct nearest nearest;
};

static void try_table(void *context, const char *name, const char *about)
{
	struct search *s = context;

	(void)about;
	if (s->table)
		nearest_try(&s->nearest, name);
}

static void try_column(void *context, const char *name, const char *type, const char *about)
{
	struct search *s = context;

	(void)type;
	(void)about;
	if (!s->table)
		nearest_try(&s->nearest, name);
}

static void try_function(void *context, const char *name, const char *about)
{
	(void)context;
	(void)name;
	(void)about;
}

void misnamed_suggest(struct err_text *err)
{
	struct err_text said = *err;
	struct search s;
	const char *name = misnamed_name(said.text, &s.table);

	if (!name)
		return;
	nearest_begin(&s.nearest, name, strlen(name));
	sql_describe(&(struct sql_describe){try_table, try_column, try_function, &s});
	if (s.nearest.found)
		err_set(err, 0, "%s; did you mean '%s'?", said.text, s.nearest.found);
}
