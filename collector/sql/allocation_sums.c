/* The module of the table `allocation_sums`. See allocation_sums.h. */
#include "collector/sql/allocation_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/saturated.h"

#include "base/ban.h"

#define GROUPS	   65536
#define SLOTS	   (2 * GROUPS)
#define KEYS_SHIFT 16 /* idxNum: the columns that are read, and those that make a group */

#define ENUM(id, name, type, rows) SUMS_##id,
enum { SUMS_BEFORE = ALLOCATIONS_COLUMNS - 1, ALLOCATION_SUMS(ENUM) SUMS_END };
#undef ENUM

static const struct table_column allocation_sums_columns[] = {
#define COLUMN(id, name, type, rows, about) {name, type, NULL},
	ALLOCATIONS(COLUMN)
#undef COLUMN
#define COLUMN(id, name, type, rows) {name, type, NULL},
		ALLOCATION_SUMS(COLUMN)
#undef COLUMN
			{0}};

struct group_sum {
	uint64_t rows, size, bytes, size_min, size_max, birth_min, birth_max;
};

/* The values that the rows of a group have in common, as columns of a block: allocations_put reads
 * them. A value that makes no group is 0. */
struct group_keys {
	uint64_t size[GROUPS];
	uint32_t stack[GROUPS], thread[GROUPS];
	uint8_t kind[GROUPS], end[GROUPS];
};

struct sums_cursor {
	struct allocations_cursor of; /* `block` and `i`: the current group */
	unsigned keys;
	bool over; /* all rows are in the groups */
	uint32_t count;
	struct row_block block;
	struct group_keys key;
	struct group_sum sum[GROUPS];
	uint32_t slot[SLOTS]; /* group + 1; 0: free */
};

static struct sums_cursor *cursor_of(sqlite3_vtab_cursor *base)
{
	return (struct sums_cursor *)(void *)base;
}

/* ---- groups ---- */

struct row_key {
	uint64_t size;
	uint32_t stack, thread;
	uint8_t kind, end;
};

static inline struct row_key key_of(unsigned keys, const struct row_block *b, uint32_t i)
{
	return (struct row_key){
		.size = keys & ROWS_SIZE ? b->size[i] : 0,
		.stack = keys & ROWS_STACK ? b->stack[i] : 0,
		.thread = keys & ROWS_THREAD ? b->thread[i] : 0,
		.kind = keys & ROWS_KIND ? b->kind[i] : 0,
		.end = keys & ROWS_END ? b->end[i] : 0,
	};
}

static inline bool is_of(const struct sums_cursor *c, uint32_t group, const struct row_key *k)
{
	return c->key.stack[group] == k->stack && c->key.size[group] == k->size &&
	       c->key.thread[group] == k->thread && c->key.kind[group] == k->kind &&
	       c->key.end[group] == k->end;
}

/* Multiplication spreads neighbours; the upper bits depend on all others. */
static inline uint32_t slot_of(const struct row_key *k)
{
	uint64_t h = ((uint64_t)k->thread << 32 | k->stack) * 0x9e3779b97f4a7c15u;

	h = (h ^ h >> 29 ^ k->size) * 0xbf58476d1ce4e5b9u;
	h = (h ^ h >> 32 ^ (uint32_t)(k->kind << 8 | k->end)) * 0x94d049bb133111ebu;
	return (uint32_t)(h >> 32) % SLOTS;
}

static uint32_t add_group(struct sums_cursor *c, const struct row_key *k)
{
	uint32_t group = c->count++;

	c->key.size[group] = k->size;
	c->key.stack[group] = k->stack;
	c->key.thread[group] = k->thread;
	c->key.kind[group] = k->kind;
	c->key.end[group] = k->end;
	c->sum[group] = (struct group_sum){.size_min = UINT64_MAX, .birth_min = UINT64_MAX};
	return group;
}

/* Returns GROUPS if the row begins a group and there is no room. */
static inline uint32_t group_of(struct sums_cursor *c, const struct row_key *k)
{
	uint32_t slot = slot_of(k);

	for (; c->slot[slot]; slot = (slot + 1) % SLOTS)
		if (is_of(c, c->slot[slot] - 1, k))
			return c->slot[slot] - 1;
	if (c->count == GROUPS)
		return GROUPS;
	c->slot[slot] = c->count + 1;
	return add_group(c, k);
}

static inline void add_row(struct group_sum *s, unsigned columns, const struct row_block *b,
			   uint32_t i)
{
	uint64_t size, weight, birth;

	s->rows++;
	if (columns & ROWS_SIZE) {
		size = (uint64_t)sql_number(b->size[i]);
		add_most(&s->size, size);
		s->size_min = size < s->size_min ? size : s->size_min;
		s->size_max = size > s->size_max ? size : s->size_max;
		weight = columns & ROWS_WEIGHT && b->weight ? b->weight[i] : 0;
		add_most(&s->bytes, allocations_is_estimate(b->size[i], weight)
					    ? size ? (uint64_t)sql_number(weight) : 0
					    : size);
	}
	if (columns & ROWS_BIRTH) {
		birth = b->birth_ns[i];
		s->birth_min = birth < s->birth_min ? birth : s->birth_min;
		s->birth_max = birth > s->birth_max ? birth : s->birth_max;
	}
}

/* Adds the rest of the walked rows. Returns false if a row does not fit: it stays the next one. */
static bool add_rows(struct sums_cursor *c)
{
	struct allocations_cursor *of = &c->of;
	const struct row_block *b = of->rows.block;
	uint32_t group = 0;
	struct row_key k;

	for (; of->k < of->rows.count; of->k++) {
		uint32_t i = walked_row(&of->rows, of->k);

		if (!allocations_listed(of, i))
			continue;
		k = key_of(c->keys, b, i);
		if (!c->count || !is_of(c, group, &k))
			group = group_of(c, &k);
		if (group == GROUPS)
			return false;
		add_row(&c->sum[group], of->columns, b, i);
	}
	return true;
}

/* Fills the groups anew. No group is left if there are no more rows. */
static int fill(struct sums_cursor *c, struct err_text *err)
{
	struct allocations_cursor *of = &c->of;
	int r = 1;

	c->count = 0;
	of->i = 0;
	memset(c->slot, 0, sizeof(c->slot));
	while (!c->over && add_rows(c)) {
		of->k = 0;
		r = guard_ended(of->sql) ? of->sql->ended : row_walk_next(of->walk, &of->rows, err);
		if (r < 0)
			return r;
		if (!r) {
			c->over = true;
			of->rows.count = 0;
		}
	}
	of->done = !c->count;
	return 0;
}

/* ---- the module ---- */

static int sums_connect(sqlite3 *db, void *context, int argc, const char *const *argv,
			sqlite3_vtab **ret_table, char **ret_error)
{
	(void)argc;
	(void)argv;
	(void)ret_error;
	return table_connect(db, context, NULL, allocation_sums_columns, ret_table);
}

static unsigned sums_needs(int column)
{
#define NEEDS(id, name, type, rows) [SUMS_##id] = (rows),
	static const unsigned needs[SUMS_END] = {ALLOCATION_SUMS(NEEDS)};
#undef NEEDS

	return needs[column];
}

/* Adds to the plan what makes a group, and what the sums read. */
static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	int r = allocations_best_index(((struct table_instance *)(void *)base)->sql, info);
	unsigned keys = 0, columns = 0;

	for (int i = 0; i < SUMS_END; i++) {
		if (!(info->colUsed >> i & 1) || i == ALLOCATIONS_ALIVE_AT)
			continue;
		if (i < ALLOCATIONS_COLUMNS)
			keys |= allocations_needs(i);
		else
			columns |= sums_needs(i);
	}
	if (keys & ~ALLOCATION_SUMS_KEYS)
		return SQLITE_CONSTRAINT;
	info->idxNum |= (int)(columns | keys << KEYS_SHIFT);
	info->orderByConsumed = 0;
	return r;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
	struct sql *sql = ((struct table_instance *)(void *)base)->sql;
	struct sums_cursor *c = calloc(1, sizeof(*c));
	int r = c ? allocations_open(sql, &c->of) : SQLITE_NOMEM;

	if (r != SQLITE_OK) {
		free(c);
		return r;
	}
	c->block = (struct row_block){.size = c->key.size,
				      .stack = c->key.stack,
				      .thread = c->key.thread,
				      .kind = c->key.kind,
				      .end = c->key.end};
	sql->held_bytes += sizeof(*c);
	*ret_cursor = &c->of.base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct sums_cursor *c = cursor_of(base);

	c->of.sql->held_bytes -= sizeof(*c);
	allocations_close(&c->of);
	free(c);
	return SQLITE_OK;
}

static int filter_cursor(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
			 sqlite3_value **argv)
{
	struct sums_cursor *c = cursor_of(base);
	struct allocations_plan plan;
	struct err_text err = {0};
	int r = allocations_read_plan(&c->of, text, argc, argv, &plan);

	if (r < 0)
		return SQLITE_NOMEM;
	c->keys = (unsigned)number >> KEYS_SHIFT;
	c->of.columns = ((unsigned)number & ROWS_ALL) | (c->of.stacks ? ROWS_STACK : 0);
	c->of.site_of = 0;
	c->over = false;
	r = allocations_walk(&c->of, &plan, &err);
	if (!r)
		r = fill(c, &err);
	c->of.block = &c->block;
	return r < 0 ? allocations_fail(&c->of, r, &err) : SQLITE_OK;
}

static int next_group(sqlite3_vtab_cursor *base)
{
	struct sums_cursor *c = cursor_of(base);
	struct err_text err = {0};
	int r = 0;

	if (++c->of.i == c->count)
		r = fill(c, &err);
	return r < 0 ? allocations_fail(&c->of, r, &err) : SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return cursor_of(base)->of.done;
}

/* Like SQLite's sum, which does not go beyond its integers. */
static int put_sum(sqlite3_context *out, uint64_t sum)
{
	if (sum <= INT64_MAX) {
		put_number(out, sum);
		return SQLITE_OK;
	}
	sqlite3_result_error(out, "integer overflow", -1);
	return SQLITE_ERROR;
}

static int give_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int column)
{
	struct sums_cursor *c = cursor_of(base);
	const struct group_sum *s = &c->sum[c->of.i];
	struct err_text err = {0};

	switch (column) {
	case SUMS_ROWS:
		put_number(out, s->rows);
		return SQLITE_OK;
	case SUMS_SIZE:
		return put_sum(out, s->size);
	case SUMS_BYTES:
		return put_sum(out, s->bytes);
	case SUMS_SIZE_MIN:
		put_number(out, s->size_min);
		return SQLITE_OK;
	case SUMS_SIZE_MAX:
		put_number(out, s->size_max);
		return SQLITE_OK;
	case SUMS_BIRTH_MIN:
		put_number(out, s->birth_min);
		return SQLITE_OK;
	case SUMS_BIRTH_MAX:
		put_number(out, s->birth_max);
		return SQLITE_OK;
	default: /* what makes a group depends on no other row and reads no file */
		return allocations_put(&c->of, out, column, &err) < 0 ? SQLITE_ERROR : SQLITE_OK;
	}
}

static int give_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_row)
{
	*ret_row = (sqlite3_int64)cursor_of(base)->of.i;
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.xConnect = sums_connect,
	.xBestIndex = best_index,
	.xDisconnect = table_disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter_cursor,
	.xNext = next_group,
	.xEof = at_end,
	.xColumn = give_column,
	.xRowid = give_rowid,
};

int allocation_sums_add(struct sql *sql)
{
	return sqlite3_create_module_v2(sql->db, "allocation_sums", &module, sql, NULL);
}
