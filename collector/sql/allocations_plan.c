/* Pushes conditions on allocations down into the filter. See allocations.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/recording/recording.h"
#include "collector/sql/allocations.h"

#include "base/ban.h"

#define ARGUMENTS 32 /* maximum number of conditions that are pushed down */

/* ---- conditions that SQLite offers ---- */

/* Tells whether the filter can bound the column from both sides. */
static bool is_range(int column)
{
	return column == ALLOCATIONS_ID || column == ALLOCATIONS_ADDRESS ||
	       column == ALLOCATIONS_SIZE || column == ALLOCATIONS_BIRTH ||
	       column == ALLOCATIONS_LIFETIME;
}

static bool is_equal(int column)
{
	return is_range(column) || column == ALLOCATIONS_STACK ||
	       column == ALLOCATIONS_DEATH_STACK || column == ALLOCATIONS_THREAD ||
	       column == ALLOCATIONS_LEAKED || column == ALLOCATIONS_FREED ||
	       column == ALLOCATIONS_END || column == ALLOCATIONS_ALIVE_AT;
}

/* Returns the plan's character, or 0 if the condition cannot be pushed down. */
static char operation(sqlite3_index_info *info, int index)
{
	int column = info->aConstraint[index].iColumn;

	switch (info->aConstraint[index].op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		/* Takes a list as one argument. Otherwise SQLite would look up each element with a
		 * scan. */
		if (sqlite3_vtab_in(info, index, -1))
			return column == ALLOCATIONS_STACK ? 'i' : 0;
		return is_equal(column) ? '=' : 0;
	case SQLITE_INDEX_CONSTRAINT_LT:
		return is_range(column) ? '<' : 0;
	case SQLITE_INDEX_CONSTRAINT_LE:
		return is_range(column) ? '[' : 0;
	case SQLITE_INDEX_CONSTRAINT_GT:
		return is_range(column) ? '>' : 0;
	case SQLITE_INDEX_CONSTRAINT_GE:
		return is_range(column) ? ']' : 0;
	case SQLITE_INDEX_CONSTRAINT_ISNULL:
		return column == ALLOCATIONS_DEATH ? 'n' : 0;
	default:
		return 0;
	}
}

static unsigned wanted_columns(const sqlite3_index_info *info)
{
	unsigned columns = 0;

	for (int i = 0; i < ALLOCATIONS_COLUMNS; i++)
		if (info->colUsed >> (i < 63 ? i : 63) & 1)
			columns |= allocations_needs(i);
	return columns;
}

/* Estimates the share of the rows that a condition leaves. */
static double share_left(char operation, int column, double rows)
{
	if (column == ALLOCATIONS_ID && operation == '=')
		return 1 / rows;
	if (column == ALLOCATIONS_STACK && operation == '=')
		return 0.001;
	return operation == '=' ? 0.05 : 0.3;
}

struct offer {
	char text[2 * ARGUMENTS + 1];
	int count;
	double rows; /* estimated number left */
	bool by_id;
};

static void allocations_plan_take(struct offer *offer, sqlite3_index_info *info, int index, char op,
				  double all)
{
	int column = info->aConstraint[index].iColumn;

	offer->text[2 * offer->count] = (char)('A' + column);
	offer->text[2 * offer->count + 1] = op;
	info->aConstraintUsage[index].argvIndex = ++offer->count;
	if (op == 'i')
		sqlite3_vtab_in(info, index, 1);
	if (column == ALLOCATIONS_ALIVE_AT)
		info->aConstraintUsage[index].omit = 1;
	offer->rows *= share_left(op, column, all);
	offer->by_id = offer->by_id || (column == ALLOCATIONS_ID && op == '=');
}

/* Tells whether the statement wants the rows in the order of birth, which is the order of `id`. */
static bool is_ordered(const sqlite3_index_info *info)
{
	return info->nOrderBy == 1 && info->aOrderBy[0].iColumn == ALLOCATIONS_ID &&
	       !info->aOrderBy[0].desc;
}

int allocations_best_index(struct sql *sql, sqlite3_index_info *info)
{
	double all = (double)recording_rows(sql->recording) + 1;
	struct offer offer = {.rows = all};

	for (int i = 0; i < info->nConstraint && offer.count < ARGUMENTS; i++) {
		char op = operation(info, i);

		if (info->aConstraint[i].iColumn == ALLOCATIONS_ALIVE_AT &&
		    (!info->aConstraint[i].usable || op != '='))
			return SQLITE_CONSTRAINT;
		if (op && info->aConstraint[i].usable)
			allocations_plan_take(&offer, info, i, op, all);
	}
	info->idxNum = (int)wanted_columns(info);
	info->idxStr = sqlite3_mprintf("%s", offer.text);
	if (!info->idxStr)
		return SQLITE_NOMEM;
	info->needToFreeIdxStr = 1;
	info->orderByConsumed = is_ordered(info);
	info->estimatedRows = offer.by_id ? 1 : (sqlite3_int64)offer.rows + 1;
	info->estimatedCost = offer.by_id ? 1000 : all / 4 + offer.rows * 2;
	return SQLITE_OK;
}

/* ---- conditions that the plan passes on ---- */

struct range {
	uint64_t *min, *max;
};

/* Bounds a number as the table shows it, at most INT64_MAX (sql_number). */
static void bound_integer(const struct range *range, char op, int64_t x)
{
	uint64_t least = x < 0 ? 0 : (uint64_t)x, most = x == INT64_MAX ? UINT64_MAX : least;

	if (x < 0)
		return;
	if (op == '>' && x < INT64_MAX)
		least++;
	if (op == '<' && most)
		most--;
	if ((op == '=' || op == '>' || op == ']') && least > *range->min)
		*range->min = least;
	if ((op == '=' || op == '<' || op == '[') && most < *range->max)
		*range->max = most;
}

static void bound_real(const struct range *range, char op, double x)
{
	if (!(x >= 0 && x < 9e18))
		return;
	if ((op == '=' || op == '>' || op == ']') && (uint64_t)floor(x) > *range->min)
		*range->min = (uint64_t)floor(x);
	if ((op == '=' || op == '<' || op == '[') && (uint64_t)ceil(x) < *range->max)
		*range->max = (uint64_t)ceil(x);
}

static void bound(struct range range, char op, sqlite3_value *value)
{
	if (sqlite3_value_type(value) == SQLITE_INTEGER)
		bound_integer(&range, op, sqlite3_value_int64(value));
	else if (sqlite3_value_type(value) == SQLITE_FLOAT)
		bound_real(&range, op, sqlite3_value_double(value));
}

static bool allocations_plan_number(sqlite3_value *value, uint32_t *ret_number)
{
	int64_t x = sqlite3_value_int64(value);

	if (sqlite3_value_type(value) != SQLITE_INTEGER || x <= 0 || x > UINT32_MAX)
		return false;
	*ret_number = (uint32_t)x;
	return true;
}

/* Narrows the filter by the first of these conditions. If there are two different ones, SQLite
 * evaluates both. */
static void narrow(enum filter_lifetime *lifetime, enum filter_lifetime wanted)
{
	if (*lifetime == LIFETIME_ALL)
		*lifetime = wanted;
}

static void read_equal(struct filter *f, int column, sqlite3_value *value)
{
	bool one = sqlite3_value_type(value) == SQLITE_INTEGER && sqlite3_value_int64(value) == 1;
	const char *text;

	switch (column) {
	case ALLOCATIONS_STACK:
		allocations_plan_number(value, &f->backtrace);
		break;
	case ALLOCATIONS_DEATH_STACK:
		allocations_plan_number(value, &f->deallocation_backtrace);
		break;
	case ALLOCATIONS_THREAD:
		allocations_plan_number(value, &f->thread);
		break;
	case ALLOCATIONS_LEAKED:
		if (one)
			narrow(&f->lifetime, LIFETIME_ONLY_LEAKED);
		break;
	case ALLOCATIONS_FREED:
		if (one)
			narrow(&f->lifetime, LIFETIME_ONLY_FREED);
		break;
	case ALLOCATIONS_END:
		text = (const char *)sqlite3_value_text(value);
		if (text && !strcmp(text, "in_use"))
			narrow(&f->lifetime, LIFETIME_ONLY_LEAKED);
		break;
	case ALLOCATIONS_ALIVE_AT:
		if (sqlite3_value_numeric_type(value) != SQLITE_NULL)
			f->alive_at_ns = sqlite3_value_int64(value) < 0
						 ? 0
						 : (uint64_t)sqlite3_value_int64(value);
		break;
	}
}

static int read_list(struct allocations_cursor *c, sqlite3_value *list)
{
	sqlite3_value *value;
	int r;

	if (!c->stacks) {
		c->nodes = recording_nodes(c->sql->recording);
		c->stacks = calloc((size_t)c->nodes + 1, 1);
		if (!c->stacks)
			return -ENOMEM;
	}
	for (r = sqlite3_vtab_in_first(list, &value); r == SQLITE_OK && value;
	     r = sqlite3_vtab_in_next(list, &value)) {
		/* A value that is not an integer is truncated here. SQLite compares it again. */
		int64_t x = sqlite3_value_int64(value);

		if (x >= 0 && x <= c->nodes)
			c->stacks[x] |= 1;
	}
	return r == SQLITE_DONE || r == SQLITE_OK ? 0 : -ENOMEM;
}

static void read_argument(struct allocations_cursor *c, int column, char op, sqlite3_value *value,
			  uint64_t *first, uint64_t *last)
{
	struct filter *f = &c->filter;

	switch (column) {
	case ALLOCATIONS_ID:
		bound((struct range){first, last}, op, value);
		break;
	case ALLOCATIONS_ADDRESS:
		bound((struct range){&f->address_min, &f->address_max}, op, value);
		break;
	case ALLOCATIONS_SIZE:
		bound((struct range){&f->size_min, &f->size_max}, op, value);
		break;
	case ALLOCATIONS_BIRTH:
		bound((struct range){&f->from_ns, &f->to_ns}, op, value);
		break;
	case ALLOCATIONS_LIFETIME:
		bound((struct range){&f->lifetime_min_ns, &f->lifetime_max_ns}, op, value);
		break;
	case ALLOCATIONS_DEATH:
		narrow(&f->lifetime, LIFETIME_ONLY_LEAKED);
		break;
	default:
		read_equal(f, column, value);
	}
}

int allocations_read_plan(struct allocations_cursor *c, const char *text, int argc,
			  sqlite3_value **argv, struct allocations_plan *ret_plan)
{
	uint64_t first = 0, last = UINT64_MAX;
	bool by_id = false;

	c->filter = c->sql->filter;
	free(c->stacks);
	c->stacks = NULL;
	for (int i = 0; i < argc; i++) {
		int column = text[2 * i] - 'A', r;
		char op = text[2 * i + 1];

		by_id = by_id || (column == ALLOCATIONS_ID && op == '=');
		if (op != 'i') {
			read_argument(c, column, op, argv[i], &first, &last);
			continue;
		}
		r = read_list(c, argv[i]);
		if (r < 0)
			return r;
	}
	ret_plan->first_row = first;
	ret_plan->end_row = last == UINT64_MAX ? last : last + 1;
	ret_plan->by_id = by_id && first == last;
	return 0;
}
