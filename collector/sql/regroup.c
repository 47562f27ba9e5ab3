/* Rewrites statements over allocations. See regroup.h. */
#include "collector/sql/regroup.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "collector/sql/allocation_sums.h"

#include "base/ban.h"

#define TOKENS_MAX 512
#define ITEMS_MAX  64

enum clause { SELECT, FROM, WHERE, GROUP, HAVING, ORDER, LIMIT };
enum kind { WORD, NUMBER, STRING, SIGN };

struct token {
	const char *at;
	uint32_t length;
	enum kind kind;
};

/* What stands between two commas of a list. Columns are bits, by number. */
struct item {
	const struct token *first;
	uint32_t tokens;  /* without the name behind AS */
	uint64_t columns; /* that are not summed up */
	bool sums;
	const struct token *name; /* NULL: none is given */
};

struct items {
	struct item list[ITEMS_MAX];
	uint32_t count;
};

struct statement {
	struct token list[TOKENS_MAX + 1]; /* the last one is empty */
	uint32_t count, at;
	enum clause clause;
	struct items of[LIMIT + 1];
	uint32_t depth;
	bool sums; /* an aggregate is there */
	struct buf out;
	const char *copied; /* the text before it is in `out` */
};

/* ---- tokens ---- */

static bool is_word(const struct token *t, const char *word)
{
	return t->kind == WORD && strlen(word) == t->length &&
	       !sqlite3_strnicmp(t->at, word, (int)t->length);
}

static bool is_sign(const struct token *t, char sign)
{
	return t->kind == SIGN && t->length == 1 && *t->at == sign;
}

static bool is_one_of(const struct token *t, const char *const *list)
{
	for (; *list; list++)
		if (is_word(t, *list))
			return true;
	return false;
}

/* Takes a token; *p moves behind it. Returns false for what no simple statement has. */
static bool regroup_take(struct statement *s, const char **p)
{
	const char *from = *p, *to = from;
	enum kind kind = SIGN;

	if (isalpha((unsigned char)*from) || *from == '_') {
		kind = WORD;
		while (isalnum((unsigned char)*to) || *to == '_')
			to++;
	} else if (isdigit((unsigned char)*from)) {
		kind = NUMBER;
		while (isalnum((unsigned char)*to) || *to == '.')
			to++;
	} else if (*from == '\'') {
		kind = STRING;
		to = sql_skip_quoted(from);
		to = to ? to + 1 : NULL;
	} else if (strchr("()+-*/%<>=!,|&", *from)) {
		to = from + 1;
	} else {
		return false;
	}
	if (!to || s->count == TOKENS_MAX)
		return false;
	s->list[s->count++] = (struct token){from, (uint32_t)(to - from), kind};
	*p = to;
	return true;
}

static bool tokenise(struct statement *s, const char *text, size_t length)
{
	const char *p = text, *end = text + length;

	while (p < end) {
		if (isspace((unsigned char)*p) || *p == ';') {
			p++;
		} else if ((p[0] == '-' && p[1] == '-') || (p[0] == '/' && p[1] == '*')) {
			p = sql_skip_quoted(p);
			if (!p)
				return false;
			p++;
		} else if (!regroup_take(s, &p)) {
			return false;
		}
	}
	s->list[s->count] = (struct token){end, 0, SIGN};
	return s->count > 0;
}

static const struct token *here(const struct statement *s, uint32_t ahead)
{
	uint32_t at = s->at + ahead;

	return &s->list[at < s->count ? at : s->count];
}

/* Returns the column's number, or -1. */
static int column_of(const struct token *t)
{
	for (int i = 0; i < ALLOCATIONS_COLUMNS; i++)
		if (is_word(t, allocations_columns[i].name))
			return i;
	return -1;
}

/* Tells whether rows can be summed up by this column. */
static bool may_group(int column)
{
	unsigned needs = allocations_needs(column);

	return needs && !(needs & ~ALLOCATION_SUMS_KEYS);
}

/* ---- the new text ---- */

/* Puts `text` instead of the tokens from `first` to `last`. */
static void put_instead(struct statement *s, const struct token *first, const struct token *last,
			const char *text)
{
	buf_append(&s->out, (const uint8_t *)s->copied, (size_t)(first->at - s->copied));
	buf_string(&s->out, text);
	s->copied = last->at + last->length;
}

/* Names an item of the answer as SQLite would have named it: by its text. */
static void put_name(struct statement *s, const struct item *item)
{
	const struct token *last = item->first + item->tokens - 1;

	buf_append(&s->out, (const uint8_t *)s->copied,
		   (size_t)(last->at + last->length - s->copied));
	s->copied = last->at + last->length;
	buf_string(&s->out, " as \"");
	for (const char *p = item->first->at; p < s->copied; p++) {
		if (*p == '"')
			buf_byte(&s->out, '"');
		buf_byte(&s->out, (uint8_t)*p);
	}
	buf_string(&s->out, "\"");
}

/* ---- aggregates ---- */

static const char *sum_of(int column)
{
	switch (column) {
	case ALLOCATIONS_SIZE:
		return "sum_size";
	case ALLOCATIONS_BYTES:
		return "sum_bytes";
	case ALLOCATIONS_LEAKED:
		return "leaked*sum_rows";
	case ALLOCATIONS_FREED:
		return "freed*sum_rows";
	default:
		return NULL;
	}
}

/* Columns that are never NULL: how many there are is the number of rows. */
static bool is_always_there(int column)
{
	return column == ALLOCATIONS_ID || column == ALLOCATIONS_ADDRESS || sum_of(column) ||
	       column == ALLOCATIONS_BIRTH || column == ALLOCATIONS_STACK ||
	       column == ALLOCATIONS_THREAD;
}

/* Writes the aggregate over sums. Returns false if there is none of this column. */
static bool write_aggregate(char *to, size_t size, const struct token *name, int column)
{
	const char *sum = sum_of(column);
	bool most = is_word(name, "max");

	if (is_word(name, "count") && (column < 0 || is_always_there(column))) {
		snprintf(to, size, "coalesce(sum(sum_rows),0)");
		return true;
	}
	if (most || is_word(name, "min")) {
		if (column != ALLOCATIONS_SIZE && column != ALLOCATIONS_BIRTH)
			return false;
		snprintf(to, size, most ? "max(max_%s)" : "min(min_%s)",
			 allocations_columns[column].name);
		return true;
	}
	if (!sum)
		return false;
	if (is_word(name, "avg"))
		snprintf(to, size, "(sum(%s)*1.0/sum(sum_rows))", sum);
	else
		snprintf(to, size, is_word(name, "sum") ? "sum(%s)" : "total(%s)", sum);
	return is_word(name, "avg") || is_word(name, "sum") || is_word(name, "total");
}

/* Takes NAME(COLUMN), or count(*). */
static bool take_aggregate(struct statement *s, struct item *item)
{
	const struct token *name = here(s, 0), *argument = here(s, 2);
	int column = column_of(argument);
	char text[64];

	if (s->clause == WHERE || s->clause == GROUP || !is_sign(here(s, 3), ')') ||
	    (column < 0 && !(is_sign(argument, '*') && is_word(name, "count"))) ||
	    !write_aggregate(text, sizeof(text), name, column))
		return false;
	put_instead(s, name, here(s, 3), text);
	item->sums = s->sums = true;
	s->at += 4;
	return true;
}

/* ---- clauses ---- */

static bool is_name(const struct statement *s, const struct token *t)
{
	for (uint32_t i = 0; i < s->of[SELECT].count; i++) {
		const struct token *name = s->of[SELECT].list[i].name;

		if (name && name->length == t->length &&
		    !sqlite3_strnicmp(name->at, t->at, (int)t->length))
			return true;
	}
	return false;
}

static const char *const keywords[] = {"and",	 "or",	   "not",     "in",	"between", "like",
				       "glob",	 "is",	   "null",    "asc",	"desc",	   "by",
				       "nulls",	 "first",  "last",    "true",	"false",   "escape",
				       "regexp", "offset", "collate", "nocase", NULL};

/* Functions of their arguments alone. */
static const char *const functions[] = {
	"bytes",      "duration", "address",	    "short_name",
	"site",	      "through",  "through_source", "through_module",
	"stack_text", "depth",	  "round",	    "abs",
	"coalesce",   "ifnull",	  "nullif",	    "iif",
	"substr",     "lower",	  "upper",	    "length",
	"printf",     "format",	  "instr",	    "replace",
	NULL};

static const char *const aggregates[] = {"count", "sum", "total", "avg", "min", "max", NULL};

/* Takes a word that is neither a clause's nor a function. */
static bool take_column(struct statement *s, struct item *item)
{
	const struct token *t = here(s, 0);
	int column = column_of(t);

	s->at++;
	if (column == ALLOCATIONS_ALIVE_AT)
		return s->clause == WHERE;
	if (column >= 0) {
		item->columns |= (uint64_t)1 << column;
		return may_group(column);
	}
	/* SQLite reads a table once for each side of an OR, and tells by rowid what it had already.
	 * Groups have no number that stays. */
	if (is_word(t, "or") && s->clause == WHERE)
		return false;
	return is_one_of(t, keywords) || (s->clause > WHERE && is_name(s, t));
}

/* Takes the name that an item of the answer is given, with AS or without. Returns 1 if there is
 * one, 0, or -1 if it could be taken for a column. */
static int take_name(struct statement *s, struct item *item)
{
	bool as = is_word(here(s, 0), "as");
	const struct token *t = here(s, as), *behind = here(s, 1 + as);

	if (s->clause != SELECT || s->depth || t == item->first || t->kind != WORD ||
	    !(is_sign(behind, ',') || is_word(behind, "from")))
		return as && s->clause == SELECT ? -1 : 0;
	if (!as && (column_of(t) >= 0 || is_one_of(t, keywords)))
		return 0;
	if (column_of(t) >= 0 || is_one_of(t, keywords))
		return -1;
	item->name = t;
	s->at += 1u + as;
	return 1;
}

static bool take_one(struct statement *s, struct item *item)
{
	const struct token *t = here(s, 0);
	int named = t->kind == WORD ? take_name(s, item) : 0;

	if (named)
		return named > 0;
	if (t->kind == WORD && is_sign(here(s, 1), '(') && is_one_of(t, aggregates))
		return take_aggregate(s, item);
	if (t->kind == WORD && is_sign(here(s, 1), '(') && is_one_of(t, functions)) {
		s->at++;
		return true;
	}
	if (t->kind == WORD)
		return take_column(s, item);
	/* All columns: select *. */
	if (is_sign(t, '*') && (t == item->first || is_sign(t - 1, '(') || is_sign(t - 1, ',')))
		return false;
	s->depth += is_sign(t, '(');
	if (is_sign(t, ')') && !s->depth--)
		return false;
	s->at++;
	return true;
}

/* Takes the tokens up to the next comma or clause. */
static bool take_item(struct statement *s, bool (*ends)(const struct token *t))
{
	struct items *items = &s->of[s->clause];
	struct item *item = &items->list[items->count];

	if (items->count++ == ITEMS_MAX - 1)
		return false;
	*item = (struct item){.first = here(s, 0)};
	while (s->at < s->count && (s->depth || (!is_sign(here(s, 0), ',') && !ends(here(s, 0)))))
		if (item->name || !take_one(s, item))
			return false;
	item->tokens = (uint32_t)(here(s, 0) - item->first);
	if (item->name) /* with AS or without */
		item->tokens = (uint32_t)(item->name - item->first) - is_word(item->name - 1, "as");
	if (s->clause == SELECT && item->sums && !item->name)
		put_name(s, item);
	return item->tokens > 0 && !s->depth;
}

static bool ends_select(const struct token *t)
{
	return is_word(t, "from");
}

static bool ends_clause(const struct token *t)
{
	return is_word(t, "where") || is_word(t, "group") || is_word(t, "having") ||
	       is_word(t, "order") || is_word(t, "limit");
}

static bool take_list(struct statement *s, bool (*ends)(const struct token *t))
{
	for (;;) {
		if (!take_item(s, ends))
			return false;
		if (!is_sign(here(s, 0), ','))
			return true;
		s->at++;
	}
}

static bool take_from(struct statement *s)
{
	const struct token *table = here(s, 1);

	if (!is_word(here(s, 0), "from") || !is_word(table, "allocations"))
		return false;
	put_instead(s, table, table, "allocation_sums");
	s->at += 2;
	return s->at == s->count || ends_clause(here(s, 0));
}

static bool take_clause(struct statement *s)
{
	static const struct {
		const char *word;
		enum clause clause;
	} clauses[] = {{"where", WHERE},
		       {"group", GROUP},
		       {"having", HAVING},
		       {"order", ORDER},
		       {"limit", LIMIT}};

	for (size_t i = 0; i < sizeof(clauses) / sizeof(clauses[0]); i++) {
		if (!is_word(here(s, 0), clauses[i].word))
			continue;
		s->clause = clauses[i].clause;
		s->at += s->clause == GROUP || s->clause == ORDER ? 2 : 1;
		return take_list(s, ends_clause);
	}
	return false;
}

/* ---- what the rows of a group have in common ---- */

static bool is_same(const struct item *a, const struct item *b)
{
	bool same = a->tokens == b->tokens;

	for (uint32_t i = 0; same && i < a->tokens; i++)
		same = a->first[i].length == b->first[i].length &&
		       !sqlite3_strnicmp(a->first[i].at, b->first[i].at, (int)a->first[i].length);
	return same;
}

/* Returns the item of the answer that an item of GROUP BY is: by number, name or text. */
static const struct item *selected(const struct statement *s, const struct item *group)
{
	const struct items *items = &s->of[SELECT];
	uint32_t number = group->tokens == 1 && group->first->kind == NUMBER
				  ? (uint32_t)strtoul(group->first->at, NULL, 10)
				  : 0;

	if (number)
		return number <= items->count ? &items->list[number - 1] : NULL;
	for (uint32_t i = 0; i < items->count; i++)
		if ((group->tokens == 1 && items->list[i].name &&
		     is_same(&(struct item){.first = items->list[i].name, .tokens = 1}, group)) ||
		    is_same(&items->list[i], group))
			return &items->list[i];
	return NULL;
}

/* Returns the columns that follow from this one. */
static uint64_t follows(int column)
{
	uint64_t columns = (uint64_t)1 << column;
	unsigned needs = allocations_needs(column);

	if (column != ALLOCATIONS_STACK && column != ALLOCATIONS_THREAD &&
	    column != ALLOCATIONS_END)
		return columns;
	for (int i = 0; i < ALLOCATIONS_COLUMNS; i++)
		if (allocations_needs(i) == needs)
			columns |= (uint64_t)1 << i;
	return columns;
}

static bool is_grouped(const struct statement *s, const struct item *item, uint64_t common)
{
	if (!(item->columns & ~common))
		return true;
	for (uint32_t i = 0; i < s->of[GROUP].count; i++)
		if (selected(s, &s->of[GROUP].list[i]) == item ||
		    is_same(&s->of[GROUP].list[i], item))
			return true;
	return false;
}

/* Tells whether each item is the same for all rows of a group. Else SQLite takes it from one of
 * them, and it would be another one. */
static bool is_common(const struct statement *s)
{
	static const enum clause clauses[] = {SELECT, HAVING, ORDER};
	uint64_t common = 0;

	for (uint32_t i = 0; i < s->of[GROUP].count; i++) {
		const struct item *group = &s->of[GROUP].list[i], *item = selected(s, group);
		const struct item *of = item ? item : group;

		if (of->sums)
			return false;
		if (of->tokens == 1 && column_of(of->first) >= 0)
			common |= follows(column_of(of->first));
	}
	for (size_t k = 0; k < sizeof(clauses) / sizeof(clauses[0]); k++) {
		const struct items *items = &s->of[clauses[k]];

		for (uint32_t i = 0; i < items->count; i++)
			if (!is_grouped(s, &items->list[i], common))
				return false;
	}
	return s->sums || s->of[GROUP].count;
}

static void statement_free(struct statement *s)
{
	buf_done(&s->out);
	free(s);
}
DEFINE_CLEANUP(statement_free, struct statement *)

char *regroup(const char *text, size_t length)
{
	cleanup(cleanup_statement_free) struct statement *s = calloc(1, sizeof(*s));

	if (!s || !tokenise(s, text, length) || !is_word(&s->list[0], "select"))
		return NULL;
	s->copied = text;
	s->at = 1;
	if (!take_list(s, ends_select) || !take_from(s))
		return NULL;
	while (s->at < s->count)
		if (!take_clause(s))
			return NULL;
	if (!is_common(s))
		return NULL;
	buf_append(&s->out, (const uint8_t *)s->copied, (size_t)(text + length - s->copied));
	return buf_text(&s->out) ? sqlite3_mprintf("%s", buf_text(&s->out)) : NULL;
}
