/* Computes the values of the table `allocations`. See allocations.h. */
#include <errno.h>

#include "collector/columns/row_block.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/sql/allocations.h"
#include "collector/sql/facts.h"
#include "proto/event.h"

#include "base/ban.h"

#define COLUMN(id, name, type, rows, about) {name, type, about},
const struct table_column allocations_columns[] = {ALLOCATIONS(COLUMN){0}};
#undef COLUMN

unsigned allocations_needs(int column)
{
#define NEEDS(id, name, type, rows, about) [ALLOCATIONS_##id] = (rows),
	static const unsigned needs[ALLOCATIONS_COLUMNS] = {ALLOCATIONS(NEEDS)};
#undef NEEDS

	return column >= 0 && column < ALLOCATIONS_COLUMNS ? needs[column] : 0;
}

static void put_estimate(const struct row_block *b, uint32_t i, sqlite3_context *out, int column)
{
	uint64_t size = b->size[i], weight = b->weight ? b->weight[i] : 0;
	bool estimate = allocations_is_estimate(size, weight);

	if (column == ALLOCATIONS_BYTES)
		put_number(out, estimate ? size ? weight : 0 : size);
	else if (estimate)
		sqlite3_result_double(out, (double)weight / (size ? (double)size : 1));
	else
		sqlite3_result_int(out, 1);
}

static uint64_t lifetime(const struct sql *sql, uint64_t birth_ns, uint64_t death_ns)
{
	uint64_t end = death_ns == NO_TIME ? recording_end_ns(sql->recording) : death_ns;

	return end > birth_ns ? end - birth_ns : 0;
}

static void allocations_columns_put_thread(struct allocations_cursor *c, sqlite3_context *out,
					   int column)
{
	const struct thread_info *thread =
		recording_thread(c->sql->recording, c->block->thread[c->i]);

	if (thread && column == ALLOCATIONS_TID)
		put_number(out, thread->tid);
	else if (thread)
		put_text(out, thread->name);
}

static void put_site(struct allocations_cursor *c, sqlite3_context *out, int column)
{
	uint32_t stack = c->block->stack[c->i];

	if (stack != c->site_of && !facts_site(c->sql, stack, &c->site))
		return;
	c->site_of = stack;
	if (column == ALLOCATIONS_FUNCTION)
		put_text(out, c->site.name);
	else if (column == ALLOCATIONS_FILE_)
		put_text(out, c->site.file);
	else if (column == ALLOCATIONS_LINE)
		put_reference(out, c->site.line);
	else
		put_text(out, c->site.module);
}

static const char *end_name(uint8_t end)
{
	static const char *const names[] = {
		[BLOCK_IN_USE] = "in_use",	     [BLOCK_FREED] = "freed",
		[BLOCK_REALLOCATED] = "reallocated", [BLOCK_INFERRED] = "inferred",
		[BLOCK_CENSORED] = "censored",	     [BLOCK_EXEC] = "exec",
	};

	return end < sizeof(names) / sizeof(*names) ? names[end] : NULL;
}

static void put_end(const struct row_block *b, uint32_t i, sqlite3_context *out, int column)
{
	uint8_t end = b->end[i];

	if (column == ALLOCATIONS_END)
		put_text(out, end_name(end));
	else if (column == ALLOCATIONS_LEAKED)
		sqlite3_result_int(out, end == BLOCK_IN_USE);
	else
		sqlite3_result_int(out, end == BLOCK_FREED || end == BLOCK_REALLOCATED ||
						end == BLOCK_INFERRED);
}

static void put_heap_part(struct allocations_cursor *c, sqlite3_context *out, int column)
{
	const struct glibc_heap *heap = facts_heap(c->sql);
	enum heap_part part = glibc_heap_part(heap, c->block->address[c->i], c->block->size[c->i]);

	if (part == HEAP_PART_UNKNOWN)
		return;
	sqlite3_result_int(out, column == ALLOCATIONS_MMAPED ? part == HEAP_PART_MAPPED
							     : part != HEAP_PART_OTHER);
}

static void put_jemalloc(struct allocations_cursor *c, sqlite3_context *out)
{
	const struct glibc_heap *heap = facts_heap(c->sql);

	if (heap->known || heap->is_jemalloc)
		sqlite3_result_int(out, heap->is_jemalloc);
}

static void put_said(struct allocations_cursor *c, sqlite3_context *out, int column)
{
	uint64_t birth = c->block->birth_ns[c->i];
	const char *label;

	if (column == ALLOCATIONS_MARKER) {
		put_number(out, facts_marker(c->sql, birth));
		return;
	}
	label = facts_label(c->sql, c->block->thread[c->i], birth);
	put_text(out, label && *label ? label : NULL);
}

static int put_map(struct allocations_cursor *c, sqlite3_context *out, struct err_text *err)
{
	uint64_t map;
	int r = facts_map(c->sql, c->block->address[c->i], c->block->birth_ns[c->i], &map, err);

	if (r > 0)
		put_number(out, map);
	return r < 0 ? r : 0;
}

/* ---- chains ---- */

static int put_chain_end(struct allocations_cursor *c, sqlite3_context *out, int column,
			 const struct chain_place *place, struct err_text *err)
{
	uint32_t i;
	const struct row_block *b = facts_row(c->sql, place->first, &i, err);
	uint64_t birth_ns;

	if (!b)
		return -EIO;
	if (column == ALLOCATIONS_FIRST_SIZE) {
		put_number(out, b->size[i]);
		return 0;
	}
	birth_ns = b->birth_ns[i];
	b = facts_row(c->sql, place->last, &i, err);
	if (!b)
		return -EIO;
	if (column == ALLOCATIONS_LAST_SIZE)
		put_number(out, b->size[i]);
	else if (column == ALLOCATIONS_CHAIN_LIFETIME)
		put_number(out, lifetime(c->sql, birth_ns, b->death_ns[i]));
	return 0; /* NULL: a column that no function here computes */
}

static int put_chain(struct allocations_cursor *c, sqlite3_context *out, int column,
		     struct err_text *err)
{
	struct chain_place place;
	int r = facts_chain(c->sql, c->block->first_row + c->i, &place, err);

	if (r < 0)
		return r;
	switch (column) {
	case ALLOCATIONS_CHAIN:
		put_number(out, place.first);
		return 0;
	case ALLOCATIONS_POSITION:
		put_number(out, place.position);
		return 0;
	case ALLOCATIONS_LENGTH:
		put_number(out, place.length);
		return 0;
	default:
		return put_chain_end(c, out, column, &place, err);
	}
}

static int put_bit(struct allocations_cursor *c, sqlite3_context *out, int column,
		   struct err_text *err)
{
	int r = facts_bit(c->sql,
			  column == ALLOCATIONS_CHAIN_LEAKED ? FACTS_CHAIN_LEAKED
							     : FACTS_FREED_AT_ONCE,
			  c->block->first_row + c->i, err);

	if (r >= 0)
		sqlite3_result_int(out, r);
	return r < 0 ? r : 0;
}

/* ---- all columns ---- */

static void put_link(sqlite3_context *out, uint32_t row)
{
	if (row != NO_BLOCK)
		put_number(out, row);
}

/* Sets values that depend on more than the row. */
static int put_fact(struct allocations_cursor *c, sqlite3_context *out, int column,
		    struct err_text *err)
{
	switch (column) {
	case ALLOCATIONS_DEPTH:
		put_number(out, facts_depth(c->sql, c->block->stack[c->i]));
		return 0;
	case ALLOCATIONS_MMAPED:
	case ALLOCATIONS_MAIN_ARENA:
		put_heap_part(c, out, column);
		return 0;
	case ALLOCATIONS_JEMALLOC:
		put_jemalloc(c, out);
		return 0;
	case ALLOCATIONS_MARKER:
	case ALLOCATIONS_LABEL:
		put_said(c, out, column);
		return 0;
	case ALLOCATIONS_MAP:
		return put_map(c, out, err);
	case ALLOCATIONS_CHAIN_LEAKED:
	case ALLOCATIONS_AT_ONCE:
		return put_bit(c, out, column, err);
	case ALLOCATIONS_ALIVE_AT:
		put_time(out, c->filter.alive_at_ns);
		return 0;
	default:
		return put_chain(c, out, column, err);
	}
}

/* Sets values that interpret the row's numbers. */
static int put_meaning(struct allocations_cursor *c, sqlite3_context *out, int column,
		       struct err_text *err)
{
	const struct row_block *b = c->block;
	uint32_t i = c->i;

	switch (column) {
	case ALLOCATIONS_FUNCTION:
	case ALLOCATIONS_FILE_:
	case ALLOCATIONS_LINE:
	case ALLOCATIONS_MODULE:
		put_site(c, out, column);
		return 0;
	case ALLOCATIONS_END:
	case ALLOCATIONS_LEAKED:
	case ALLOCATIONS_FREED:
		put_end(b, i, out, column);
		return 0;
	case ALLOCATIONS_LIFETIME:
		put_number(out, lifetime(c->sql, b->birth_ns[i], b->death_ns[i]));
		return 0;
	case ALLOCATIONS_TID:
	case ALLOCATIONS_THREAD_NAME:
		allocations_columns_put_thread(c, out, column);
		return 0;
	case ALLOCATIONS_SURVIVOR:
		sqlite3_result_int(out, row_survivor(b, i));
		return 0;
	case ALLOCATIONS_KIND:
		put_text(out, event_kind_name(row_kind(b, i)));
		return 0;
	case ALLOCATIONS_DEATH_KIND:
		put_text(out, b->end[i] != BLOCK_IN_USE && row_death_kind(b, i)
				      ? event_kind_name(row_death_kind(b, i))
				      : NULL);
		return 0;
	default:
		return put_fact(c, out, column, err);
	}
}

/* Sets the value of a column. Numbers come directly from the row. */
int allocations_put(struct allocations_cursor *c, sqlite3_context *out, int column,
		    struct err_text *err)
{
	const struct row_block *b = c->block;
	uint32_t i = c->i;

	if (column == ALLOCATIONS_ID)
		put_number(out, b->first_row + i);
	else if (column == ALLOCATIONS_ADDRESS)
		put_number(out, b->address[i]);
	else if (column == ALLOCATIONS_SIZE)
		put_number(out, b->size[i]);
	else if (column == ALLOCATIONS_BYTES || column == ALLOCATIONS_BLOCKS)
		put_estimate(b, i, out, column);
	else if (column == ALLOCATIONS_BIRTH)
		put_number(out, b->birth_ns[i]);
	else if (column == ALLOCATIONS_DEATH)
		put_time(out, b->death_ns[i]);
	else if (column == ALLOCATIONS_THREAD)
		put_number(out, b->thread[i]);
	else if (column == ALLOCATIONS_DEATH_THREAD)
		put_reference(out, b->death_thread[i]);
	else if (column == ALLOCATIONS_STACK)
		put_number(out, b->stack[i]);
	else if (column == ALLOCATIONS_DEATH_STACK)
		put_reference(out, b->death_stack[i]);
	else if (column == ALLOCATIONS_PREVIOUS)
		put_link(out, b->chain_previous[i]);
	else if (column == ALLOCATIONS_NEXT)
		put_link(out, b->chain_next[i]);
	else
		return put_meaning(c, out, column, err);
	return 0;
}
