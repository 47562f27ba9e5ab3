/*
 * Evaluates conditions over named numbers, for scripts (--fail-if). A condition is an SQL
 * expression over a table of one row, whose columns are the numbers. The session has no other
 * table, and has the limits of guard.c.
 *
 * Before SQLite sees a condition, it is converted to SQL. It may contain, besides SQL:
 *
 *	1M, 1.5GiB, 10B		bytes: K, M, G, T are powers of 1024; "B" or "iB" may follow
 *	5ms, 3s, 1m, 2h		seconds: ns, us, ms, s, m or min, h
 *	10%			10; "10 % 3" and "10%3" are SQL's remainder
 *	&&, ||, !		and, or, not
 *	temporary_bytes		former names
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "collector/sql/state.h"

#include "base/ban.h"

#define TIME_NS	   10000000000u /* more than any honest condition takes */
#define DIGITS_MAX 48

/* ---- spelling ---- */

struct speller {
	const char *text, *at;
	struct buf *out;
	struct err_text *err;
};

static int condition_fault(const char *text, size_t at, struct err_text *err, const char *what)
{
	return err_set(err, -EINVAL, "at character %zu of \"%.120s\": %s", at + 1, text, what);
}

static int spell_fault(struct speller *s, const char *what)
{
	return condition_fault(s->text, (size_t)(s->at - s->text), s->err, what);
}

static bool is_word_part(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void spell_copy(struct speller *s, size_t length)
{
	buf_append(s->out, s->at, length);
	s->at += length;
}

static const struct {
	const char *unit;
	double factor;
} units[] = {
	{"B", 1},	 {"K", 0x1p10},	 {"KB", 0x1p10},  {"KiB", 0x1p10}, {"k", 0x1p10},
	{"M", 0x1p20},	 {"MB", 0x1p20}, {"MiB", 0x1p20}, {"G", 0x1p30},   {"GB", 0x1p30},
	{"GiB", 0x1p30}, {"T", 0x1p40},	 {"TB", 0x1p40},  {"TiB", 0x1p40}, {"ns", 1e-9},
	{"us", 1e-6},	 {"ms", 1e-3},	 {"s", 1},	  {"m", 60},	   {"min", 60},
	{"h", 3600},	 {"%", 1},
};

/* Returns the length of the unit that follows a number, or 0 if none does. */
static size_t unit_length(const char *at)
{
	size_t length = 0;

	if (*at == '%')
		return !isdigit((unsigned char)at[1]) && at[1] != '(';
	while (isalpha((unsigned char)at[length]))
		length++;
	return length;
}

/* Returns the length of a number: digits, a fraction and an exponent, or 0x and hexadecimal
 * digits. */
static size_t number_length(const char *at)
{
	size_t length = strspn(at, "0123456789."), sign;

	if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		return 2 + strspn(at + 2, "0123456789abcdefABCDEF");
	if (at[length] != 'e' && at[length] != 'E')
		return length;
	sign = at[length + 1] == '-' || at[length + 1] == '+';
	if (!isdigit((unsigned char)at[length + 1 + sign]))
		return length;
	return length + 1 + sign + strspn(at + length + 1 + sign, "0123456789");
}

static int spell_number(struct speller *s)
{
	size_t length = number_length(s->at), unit = unit_length(s->at + length);
	char digits[DIGITS_MAX];
	char *end;
	double value;

	if (length >= sizeof(digits))
		return spell_fault(s, "this is no number");
	memcpy(digits, s->at, length);
	digits[length] = 0;
	value = strtod(digits, &end);
	if (*end)
		return spell_fault(s, "this is no number");
	if (!unit) {
		spell_copy(s, length);
		return 0;
	}
	s->at += length;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].unit) == unit && !strncmp(units[i].unit, s->at, unit)) {
			buf_printf(s->out, "%.17e", value * units[i].factor);
			s->at += unit;
			return 0;
		}
	}
	return spell_fault(s,
			   "no such unit: there are K, M, G, T (bytes), ns, us, ms, s, m, h and %");
}

/* Former names of values, for scripts that still use them. Messages list the present names. */
static const struct {
	const char *old, *name;
} renamed[] = {
	{"temporary_bytes", "freed_bytes"},
	{"temporary_blocks", "freed_blocks"},
	{"young_bytes", "recent_bytes"},
	{"young_blocks", "recent_blocks"},
};

static size_t word_length(const char *at)
{
	size_t length = 0;

	while (is_word_part(at[length]))
		length++;
	return length;
}

static void spell_word(struct speller *s)
{
	size_t length = word_length(s->at);

	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++) {
		if (strlen(renamed[i].old) == length && !strncmp(renamed[i].old, s->at, length)) {
			buf_string(s->out, renamed[i].name);
			s->at += length;
			return;
		}
	}
	spell_copy(s, length);
}

/* Appends the SQL word for an operator of C. Returns false if none begins here. */
static bool spell_operator(struct speller *s)
{
	static const struct {
		const char *sign, *word;
	} operators[] = {{"&&", " and "}, {"||", " or "}, {"!", " not "}};

	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		size_t length = strlen(operators[i].sign);

		if (strncmp(s->at, operators[i].sign, length) != 0 || !strncmp(s->at, "!=", 2))
			continue;
		buf_string(s->out, operators[i].word);
		s->at += length;
		return true;
	}
	return false;
}

static int spell_next(struct speller *s)
{
	const char *end = sql_skip_quoted(s->at);

	if (!end)
		return spell_fault(s, "a quotation mark or a comment is not closed");
	if (end != s->at)
		spell_copy(s, (size_t)(end - s->at) + 1);
	else if (isdigit((unsigned char)*s->at) ||
		 (*s->at == '.' && isdigit((unsigned char)s->at[1])))
		return spell_number(s);
	else if (is_word_part(*s->at))
		spell_word(s);
	else if (strchr("?:@$#", *s->at)) /* parameters, which SQL would take for NULL */
		return spell_fault(s, "a name or a number belongs here");
	else if (!spell_operator(s))
		spell_copy(s, 1);
	return 0;
}

/* Appends the text as SQL, at most `most` bytes of it. *ret_at is the position where it ended. */
static int spell(const char *text, size_t most, struct buf *out, size_t *ret_at,
		 struct err_text *err)
{
	struct speller s = {text, text, out, err};
	size_t before = out->length;
	int r = 0;

	*ret_at = 0;
	while (!r && *s.at && out->length - before <= most) {
		*ret_at = (size_t)(s.at - text);
		r = spell_next(&s);
	}
	if (!*s.at && out->length - before <= most)
		*ret_at = (size_t)(s.at - text);
	return r;
}

/* ---- asking ---- */

static void put_value(struct buf *out, double value)
{
	if (isnan(value))
		buf_string(out, "null");
	else if (isinf(value))
		buf_string(out, value < 0 ? "-9e999" : "9e999");
	else
		buf_printf(out, "%.17e", value);
}

static void put_table(struct buf *out, const struct sql_named *values)
{
	const char *before = "select 1 from (select ";

	for (; values->name; values++, before = ", ") {
		buf_string(out, before);
		put_value(out, values->value);
		buf_printf(out, " as %s", values->name);
	}
	buf_string(out, ") where (");
}

static int condition_row(void *context, unsigned columns, const struct sql_value *values)
{
	(void)columns;
	(void)values;
	*(bool *)context = true;
	return 0;
}

/* Words an error of SQLite, which points at byte `at` of the condition's SQL. */
static int condition_explain(const char *text, size_t at, char unknown[SQL_NAME_MAX],
			     struct err_text *err)
{
	cleanup(buf_done) struct buf ignored = {0};
	char what[SQL_NAME_MAX + 60], said[160];
	size_t here;

	spell(text, at, &ignored, &here, NULL);
	snprintf(said, sizeof(said), "%.159s", err->text);
	if (!text[here])
		return condition_fault(text, here, err, "something is missing at the end");
	if (!strncmp(said, "no such column", strlen("no such column"))) {
		size_t skip = strchr("\"`[", text[here]) != NULL;

		snprintf(unknown, SQL_NAME_MAX, "%.*s", (int)word_length(text + here + skip),
			 text + here + skip);
		snprintf(what, sizeof(what), "there is no \"%s\" here", unknown);
		condition_fault(text, here, err, what);
		return -ENOENT;
	}
	if (strstr(said, "syntax error") || !strncmp(said, "unrecognized token", 18)) {
		snprintf(what, sizeof(what), "SQL does not expect \"%.40s\" here", text + here);
		return condition_fault(text, here, err, what);
	}
	return condition_fault(text, here, err, said);
}

static int condition_run(const char *text, bool *ret_true, struct sql_place *place,
			 struct err_text *err)
{
	const struct sql_limits limits = {.time_ns = TIME_NS, .rows = 1};
	struct sql_sink sink = {sql_no_begin, condition_row, sql_no_end, ret_true};
	struct sql *sql;
	int r = sql_open(NULL, &limits, &sql, err);

	if (r < 0)
		return r;
	/* Otherwise an unknown name in double quotes would be a text, which is greater than any
	 * number. */
	sqlite3_db_config(sql->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	r = sql_run(sql, text, &sink, place, err);
	sql_close(sql);
	return r;
}

int sql_condition(const char *condition, const struct sql_named *values, bool *ret_true,
		  char unknown[SQL_NAME_MAX], struct err_text *err)
{
	cleanup(buf_done) struct buf text = {0};
	struct sql_place place = {0};
	bool is_true = false;
	size_t begin, at;
	int r = sql_one_expression(condition, err);

	if (r < 0)
		return r;
	put_table(&text, values);
	begin = text.length;
	r = spell(condition, SIZE_MAX, &text, &at, err);
	if (r < 0)
		return r;
	buf_string(&text, "\n)"); /* the newline ends a comment in the condition */
	if (!buf_text(&text))
		return err_set(err, -ENOMEM, "out of memory");
	r = condition_run(buf_text(&text), &is_true, &place, err);
	if (r == -EINVAL && !strcmp(err->text, "incomplete input"))
		place.offset = text.length;
	if (r == -EINVAL && place.offset >= begin)
		return condition_explain(condition, place.offset - begin, unknown, err);
	if (!r)
		*ret_true = is_true;
	return r;
}
