/*
 * Conditions over named numbers, for gates in scripts. The grammar:
 *
 *	condition  = and { ("or" | "||") and }
 *	and        = term { ("and" | "&&") term }
 *	term       = "(" condition ")" | ("not" | "!") term | comparison
 *	comparison = side (">" | ">=" | "<" | "<=" | "=" | "==" | "!=") side
 *	side       = NAME | NUMBER [UNIT]
 *	UNIT       = K, M, G, T (powers of 1024; "B" or "iB" may follow) | B
 *		   | ns, us, ms, s, m, h | %
 *
 * "m" is minutes and "M" is 1024 K. A time is in seconds, a size in bytes, a share in percent. A
 * recursive-descent parser evaluates the condition while it reads it; the recursion depth is
 * bounded.
 */
#include "collector/query/match/gate.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

#include "base/ban.h"

#define DEPTH_MAX  64
#define NAME_SHOWN 64

struct reader {
	const char *text, *at;
	const struct gate_value *values;
	unsigned depth;
	struct err_text *err;
};

static int fault(struct reader *r, const char *at, const char *what)
{
	return err_set(r->err, -EINVAL, "at character %zu of \"%.120s\": %s",
		       (size_t)(at - r->text) + 1, r->text, what);
}

static void gate_skip_blanks(struct reader *r)
{
	while (isspace((unsigned char)*r->at))
		r->at++;
}

static bool is_word_part(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Takes `word` if it comes next. A word of letters must end there. */
static bool gate_take(struct reader *r, const char *word)
{
	size_t length = strlen(word);

	gate_skip_blanks(r);
	if (strncasecmp(r->at, word, length) != 0)
		return false;
	if (isalpha((unsigned char)word[0]) && is_word_part(r->at[length]))
		return false;
	r->at += length;
	return true;
}

/* ---- sides ---- */

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

static int read_unit(struct reader *r, double *value)
{
	const char *start = r->at;
	size_t length = 0;

	while (isalpha((unsigned char)start[length]))
		length++;
	if (!length && *start == '%')
		length = 1;
	if (!length)
		return 0;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].unit) == length && !strncmp(units[i].unit, start, length)) {
			*value *= units[i].factor;
			r->at += length;
			return 0;
		}
	}
	return fault(r, start,
		     "no such unit: there are K, M, G, T (bytes), ns, us, ms, s, m, h and %");
}

static int gate_read_number(struct reader *r, double *ret_value)
{
	const char *start = r->at;
	char digits[48];
	size_t n = strspn(start, "0123456789."), dots = 0;

	for (size_t i = 0; i < n; i++)
		dots += start[i] == '.';
	if (n >= sizeof(digits) || dots > 1 || n == dots)
		return fault(r, start, "this is no number");
	memcpy(digits, start, n);
	digits[n] = 0;
	*ret_value = strtod(digits, NULL);
	r->at += n;
	return read_unit(r, ret_value);
}

static int unknown_name(struct reader *r, const char *start, size_t length)
{
	char what[400];
	size_t used = (size_t)snprintf(what, sizeof(what), "there is no \"%.*s\" here; there are",
				       (int)length, start);

	for (const struct gate_value *v = r->values; v->name && used < sizeof(what); v++)
		used += (size_t)snprintf(what + used, sizeof(what) - used, "%s %s",
					 v == r->values ? "" : ",", v->name);
	return fault(r, start, what);
}

/* Former names of values. Scripts that use one go on working; messages list the present names. */
static const struct {
	const char *old, *name;
} renamed[] = {
	{"temporary_bytes", "freed_bytes"},
	{"temporary_blocks", "freed_blocks"},
	{"young_bytes", "recent_bytes"},
	{"young_blocks", "recent_blocks"},
};

static bool is_called(const struct gate_value *value, const char *name, size_t length)
{
	if (strlen(value->name) == length && !strncmp(value->name, name, length))
		return true;
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		if (!strcmp(renamed[i].name, value->name) && strlen(renamed[i].old) == length &&
		    !strncmp(renamed[i].old, name, length))
			return true;
	return false;
}

static int gate_read_name(struct reader *r, double *ret_value)
{
	const char *start = r->at;
	size_t length = 0;

	while (is_word_part(start[length]))
		length++;
	for (const struct gate_value *v = r->values; v->name; v++) {
		if (is_called(v, start, length)) {
			*ret_value = v->value;
			r->at += length;
			return 0;
		}
	}
	return unknown_name(r, start, length < NAME_SHOWN ? length : NAME_SHOWN);
}

static int read_side(struct reader *r, double *ret_value)
{
	bool minus;
	int e;

	gate_skip_blanks(r);
	minus = *r->at == '-';
	if (minus)
		r->at++;
	if (isdigit((unsigned char)*r->at) || *r->at == '.')
		e = gate_read_number(r, ret_value);
	else if (isalpha((unsigned char)*r->at))
		e = gate_read_name(r, ret_value);
	else
		e = fault(r, r->at,
			  *r->at ? "a name or a number belongs here"
				 : "something is missing at the end");
	if (minus && !e)
		*ret_value = -*ret_value;
	return e;
}

/* ---- conditions ---- */

static int gate_compare(struct reader *r, bool *ret_true)
{
	static const char *const operators[] = {">=", "<=", "==", "!=", ">", "<", "="};
	double a, b;
	size_t i = 0;
	int e = read_side(r, &a);

	if (e < 0)
		return e;
	while (i < sizeof(operators) / sizeof(operators[0]) && !gate_take(r, operators[i]))
		i++;
	if (i == sizeof(operators) / sizeof(operators[0]))
		return fault(r, r->at, "a comparison belongs here: > >= < <= = !=");
	e = read_side(r, &b);
	if (e < 0)
		return e;
	*ret_true = (bool[]){a >= b, a <= b, a == b, a != b, a > b, a < b, a == b}[i];
	return 0;
}

static int gate_read_condition(struct reader *r, bool *ret_true);

static int read_term(struct reader *r, bool *ret_true)
{
	int e;

	if (++r->depth > DEPTH_MAX)
		return fault(r, r->at, "too many brackets");
	if (gate_take(r, "(")) {
		e = gate_read_condition(r, ret_true);
		if (!e && !gate_take(r, ")"))
			e = fault(r, r->at, "a closing bracket is missing");
	} else if (gate_take(r, "not") || gate_take(r, "!")) {
		e = read_term(r, ret_true);
		*ret_true = !*ret_true;
	} else {
		e = gate_compare(r, ret_true);
	}
	r->depth--;
	return e;
}

static int read_and(struct reader *r, bool *ret_true)
{
	bool also = false;
	int e = read_term(r, ret_true);

	while (!e && (gate_take(r, "and") || gate_take(r, "&&"))) {
		e = read_term(r, &also);
		*ret_true = *ret_true && also;
	}
	return e;
}

static int gate_read_condition(struct reader *r, bool *ret_true)
{
	bool other = false;
	int e = read_and(r, ret_true);

	while (!e && (gate_take(r, "or") || gate_take(r, "||"))) {
		e = read_and(r, &other);
		*ret_true = *ret_true || other;
	}
	return e;
}

int gate_evaluate(const char *text, const struct gate_value *values, bool *ret_true,
		  struct err_text *err)
{
	struct reader r = {.text = text, .at = text, .values = values, .err = err};
	bool result = false;
	int e = gate_read_condition(&r, &result);

	if (e < 0)
		return e;
	gate_skip_blanks(&r);
	if (*r.at)
		return fault(&r, r.at, "\"and\", \"or\" or the end belongs here");
	*ret_true = result;
	return 0;
}
