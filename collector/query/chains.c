/*
 * Rows judged by other rows: by their chain of reallocs, and by what their thread did next. A chain is a row and those that realloc
 * made of it, each linked to the next; it is walked once from its first row, to measure it, and once more to judge its rows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/matcher.h"

#include "base/ban.h"

struct chain {
	uint64_t length, first_size, last_size, lifetime_ns;
};

static const struct row_block *block_of(const struct matcher *m, uint64_t row, uint32_t *ret_index)
{
	*ret_index = (uint32_t)(row % ROWS_PER_BLOCK);
	return recording_block(m->recording, (uint32_t)(row / ROWS_PER_BLOCK));
}

/* The next row of the chain; `row` itself at its end. Later rows have higher numbers: that ends a walk through damage, too. */
static uint64_t next_of(const struct matcher *m, uint64_t row)
{
	uint32_t i;
	const struct row_block *block = block_of(m, row, &i);
	uint64_t next = block->chain_next[i];

	return next == NO_BLOCK || next <= row || next >= m->rows ? row : next;
}

static struct chain measure(const struct matcher *m, uint64_t first)
{
	struct chain chain = {.length = 1};
	uint64_t at = first, next, birth, death;
	uint32_t i;
	const struct row_block *block = block_of(m, first, &i);

	birth = block->birth_ns[i];
	chain.first_size = block->size[i];
	for (; (next = next_of(m, at)) != at; at = next)
		chain.length++;
	block = block_of(m, at, &i);
	chain.last_size = block->size[i];
	death = block->death_ns[i] == NO_TIME ? m->end_ns : block->death_ns[i];
	chain.lifetime_ns = death > birth ? death - birth : 0;
	return chain;
}

static bool chain_passes(const struct filter *f, const struct chain *c)
{
	return c->length >= f->chain_length_min && c->length <= f->chain_length_max &&
	       c->first_size >= f->first_size_min && c->first_size <= f->first_size_max &&
	       c->last_size >= f->last_size_min && c->last_size <= f->last_size_max &&
	       c->lifetime_ns >= f->chain_lifetime_min_ns &&
	       c->lifetime_ns <= f->chain_lifetime_max_ns;
}

static void refuse(struct matcher *m, uint64_t row)
{
	m->row_passes[row / 8] &= (uint8_t) ~(1u << row % 8);
}

static void judge_chain(struct matcher *m, uint64_t first)
{
	const struct filter *f = m->filter;
	struct chain chain = measure(m, first);
	bool passes = chain_passes(f, &chain);
	uint64_t at = first;

	for (uint64_t position = 0; position < chain.length; position++) {
		if (!passes || position < f->position_min || position > f->position_max)
			refuse(m, at);
		at = next_of(m, at);
	}
}

int chains_judge(struct matcher *m, struct err_text *err)
{
	for (uint32_t b = 0; b < recording_blocks(m->recording); b++) {
		const struct row_block *block = recording_block(m->recording, b);

		if (matcher_cancelled(m, err))
			return -ECANCELED;
		for (uint32_t i = 0; i < block->count && block->first_row + i < m->rows; i++)
			if (block->chain_previous[i] == NO_BLOCK)
				judge_chain(m, block->first_row + i);
	}
	return 0;
}

/* ---- freed before its thread allocated again ---- */

/* A birth that a thread's row is followed by. */
struct follower {
	uint64_t birth_ns, address, row; /* birth_ns NO_TIME: none */
};

/* Stamps may be as coarse as a microsecond. At the same time the free surely came first only where it made room for the birth:
 * a realloc of the block, or the address comes again. Elsewhere nobody can tell, and it is not counted. */
static bool at_once(const struct row_block *block, uint32_t i, const struct follower *next)
{
	if (block->end[i] != BLOCK_FREED && block->end[i] != BLOCK_REALLOCATED)
		return false;
	if (next->birth_ns == block->death_ns[i])
		return next->address == block->address[i] || next->row == block->chain_next[i];
	return next->birth_ns > block->death_ns[i];
}

/* From the last row to the first, so that each thread's next birth is known. */
int freed_at_once_judge(struct matcher *m, struct err_text *err)
{
	uint32_t threads = recording_threads(m->recording);
	bool wanted = m->filter->freed_at_once == ANSWER_YES;
	cleanup(cleanup_free) struct follower *next = calloc((size_t)threads + 1, sizeof(*next));

	if (!next)
		return -ENOMEM;
	for (uint32_t t = 0; t <= threads; t++)
		next[t].birth_ns = NO_TIME;
	for (uint32_t b = recording_blocks(m->recording); b-- > 0;) {
		const struct row_block *block = recording_block(m->recording, b);

		if (matcher_cancelled(m, err))
			return -ECANCELED;
		for (uint32_t i = block->count; i-- > 0;) {
			uint32_t thread = block->thread[i] <= threads ? block->thread[i] : 0;

			if (block->first_row + i < m->rows &&
			    at_once(block, i, &next[thread]) != wanted)
				refuse(m, block->first_row + i);
			next[thread] = (struct follower){block->birth_ns[i], block->address[i],
							 block->first_row + i};
		}
	}
	return 0;
}
