/* See rows.h. */
#include "collector/store/rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/ban.h"

#define ROW_BYTES (4 * 8 + 6 * 4 + 3)

static void block_free(struct rows_block *b)
{
	if (!b)
		return;
	free(b->memory);
	free(b->weight);
	free(b);
}

static struct rows_block *block_new(uint64_t first_row)
{
	const size_t n = ROWS_PER_BLOCK;
	struct rows_block *b = calloc(1, sizeof(*b));
	uint64_t *wide;
	uint32_t *narrow;
	uint8_t *bytes;

	if (!b)
		return NULL;
	b->memory = malloc(n * ROW_BYTES); /* touched as rows come */
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
	b->view = (struct row_block){
		.first_row = first_row,
		.address = b->address,
		.size = b->size,
		.birth_ns = b->birth_ns,
		.death_ns = b->death_ns,
		.stack = b->stack,
		.death_stack = b->death_stack,
		.thread = b->thread,
		.death_thread = b->death_thread,
		.chain_previous = b->chain_previous,
		.chain_next = b->chain_next,
		.kind = b->kind,
		.death_kind = b->death_kind,
		.end = b->end,
		.min = {UINT64_MAX, UINT64_MAX, UINT64_MAX, 0},
		.max = {.death_ns = NO_TIME},
	};
	return b;
}

void rows_done(struct rows *rows)
{
	for (uint32_t i = 0; i < rows->block_count; i++)
		block_free(rows->blocks[i]);
	free(rows->blocks);
	*rows = (struct rows){0};
}

static int add_block(struct rows *rows)
{
	if (rows->block_count == rows->block_capacity) {
		uint32_t capacity = rows->block_capacity * 2 + 16;
		struct rows_block **grown = realloc(rows->blocks, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		rows->blocks = grown;
		rows->block_capacity = capacity;
	}
	rows->blocks[rows->block_count] = block_new(rows->count);
	if (!rows->blocks[rows->block_count])
		return -ENOMEM;
	rows->block_count++;
	return 0;
}

/* The first sampled row of a block: those before it stand for themselves. */
static int add_weights(struct rows_block *b)
{
	b->weight = malloc(ROWS_PER_BLOCK * sizeof(*b->weight));
	if (!b->weight)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->view.count; i++)
		b->weight[i] = b->size[i];
	b->view.weight = b->weight;
	b->view.weighted = true;
	return 0;
}

static void widen(uint64_t *min, uint64_t *max, uint64_t value)
{
	if (value < *min)
		*min = value;
	if (value > *max)
		*max = value;
}

int rows_append(struct rows *rows, const struct row_birth *birth, uint32_t *ret_row)
{
	struct rows_block *b;
	uint32_t i = (uint32_t)(rows->count % ROWS_PER_BLOCK);

	if (rows->count >= NO_BLOCK - 1)
		return -E2BIG;
	if (!i && rows->count / ROWS_PER_BLOCK == rows->block_count && add_block(rows) < 0)
		return -ENOMEM;
	b = rows->blocks[rows->block_count - 1];
	if (birth->weight != birth->size && !b->weight && add_weights(b) < 0)
		return -ENOMEM;
	b->address[i] = birth->address;
	b->size[i] = birth->size;
	b->birth_ns[i] = birth->birth_ns;
	b->death_ns[i] = NO_TIME;
	if (b->weight)
		b->weight[i] = birth->weight;
	b->stack[i] = birth->stack;
	b->thread[i] = birth->thread;
	b->death_stack[i] = 0;
	b->death_thread[i] = 0;
	b->chain_previous[i] = birth->chain_previous;
	b->chain_next[i] = NO_BLOCK;
	b->kind[i] = birth->kind;
	b->death_kind[i] = 0;
	b->end[i] = BLOCK_IN_USE;
	widen(&b->view.min.birth_ns, &b->view.max.birth_ns, birth->birth_ns);
	widen(&b->view.min.size, &b->view.max.size, birth->size);
	widen(&b->view.min.address, &b->view.max.address, birth->address);
	b->view.count = i + 1;
	*ret_row = (uint32_t)rows->count++;
	return 0;
}

void rows_end(struct rows *rows, uint32_t row, const struct row_death *death)
{
	uint32_t i;
	struct rows_block *b = rows_at(rows, row, &i);

	/* A block does not die before it was born; what the clock says within its error is
	 * overruled. */
	b->death_ns[i] = death->time_ns == NO_TIME || death->time_ns > b->birth_ns[i]
				 ? death->time_ns
				 : b->birth_ns[i];
	b->death_stack[i] = death->stack;
	b->death_thread[i] = death->thread;
	b->death_kind[i] = death->kind;
	b->end[i] = death->end;
}
