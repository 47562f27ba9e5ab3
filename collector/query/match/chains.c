/*
 * Judges rows by other rows: by their chain of reallocs, and by what their thread did next. A chain
 * is a row and the rows that realloc made of it, each linked to the next, later one. The forward
 * pass carries the state of a chain from row to row and judges the chain at its last row. The
 * backward pass hands this judgement to the earlier rows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "collector/columns/row_block.h"
#include "collector/query/sweep/sweep.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

struct chain {
	uint64_t length, first_size, birth_ns;
	uint32_t next_free; /* index + 1 of the next free entry */
};

struct chains {
	struct matcher *m;
	struct map waiting; /* row -> index in open */
	struct chain *open;
	uint32_t open_count, open_capacity, free;
	uint8_t *passes; /* one bit per row: its chain passes */
};

/* Returns the next row of the chain, or NO_BLOCK. Later rows have higher numbers; the check also
 * ends a walk through damaged data. */
static uint64_t next_of(const struct matcher *m, const struct row_block *block, uint32_t i)
{
	uint64_t next = block->chain_next[i];

	return next == NO_BLOCK || next <= block->first_row + i || next >= m->rows ? NO_BLOCK
										   : next;
}

static bool chain_passes(const struct matcher *m, const struct chain *c,
			 const struct row_block *last, uint32_t i)
{
	const struct filter *f = m->filter;
	uint64_t death = last->death_ns[i] == NO_TIME ? m->end_ns : last->death_ns[i],
		 lived = death > c->birth_ns ? death - c->birth_ns : 0, last_size = last->size[i];

	return c->length >= f->chain_length_min && c->length <= f->chain_length_max &&
	       c->first_size >= f->first_size_min && c->first_size <= f->first_size_max &&
	       last_size >= f->last_size_min && last_size <= f->last_size_max &&
	       lived >= f->chain_lifetime_min_ns && lived <= f->chain_lifetime_max_ns;
}

void matcher_refuse(struct matcher *m, uint64_t row)
{
	m->row_passes[row / 8] &= (uint8_t) ~(1u << row % 8);
}

/* Takes the state of the row's chain out of `waiting`. A row without a waiting entry begins a
 * chain. */
static struct chain take_chain(struct chains *c, const struct row_block *block, uint32_t i)
{
	uint64_t index;
	struct chain chain;

	if (!c->waiting.count || !map_remove(&c->waiting, block->first_row + i, &index))
		return (struct chain){.first_size = block->size[i], .birth_ns = block->birth_ns[i]};
	chain = c->open[index];
	c->open[index].next_free = c->free;
	c->free = (uint32_t)index + 1;
	return chain;
}

static int chains_wait_for(struct chains *c, uint64_t row, const struct chain *chain)
{
	uint64_t *index = map_put(&c->waiting, row, NULL);

	if (!index ||
	    (!c->free && array_reserve(&c->open, &c->open_capacity, (uint64_t)c->open_count + 1,
				       sizeof(*c->open)) < 0))
		return -ENOMEM;
	if (c->free) {
		*index = c->free - 1;
		c->free = c->open[*index].next_free;
	} else {
		*index = c->open_count++;
	}
	c->open[*index] = *chain;
	return 0;
}

static int follow_rows(void *context, const struct row_block *block, const struct row_set *rows)
{
	struct chains *c = context;
	const struct filter *f = c->m->filter;
	int r = 0;

	for (uint32_t k = 0; !r && k < rows->count; k++) {
		uint32_t i = row_at(rows, k);
		uint64_t row = block->first_row + i, next = next_of(c->m, block, i);
		struct chain chain = take_chain(c, block, i);

		if (chain.length < f->position_min || chain.length > f->position_max)
			matcher_refuse(c->m, row);
		chain.length++;
		if (next != NO_BLOCK)
			r = chains_wait_for(c, next, &chain);
		else if (chain_passes(c->m, &chain, block, i))
			c->passes[row / 8] |= (uint8_t)(1u << row % 8);
	}
	return r;
}

static int hand_back_rows(void *context, const struct row_block *block, const struct row_set *rows)
{
	struct chains *c = context;

	for (uint32_t k = rows->count; k-- > 0;) {
		uint32_t i = row_at(rows, k);
		uint64_t row = block->first_row + i, next = next_of(c->m, block, i);

		if (next != NO_BLOCK && row_bit(c->passes, next))
			c->passes[row / 8] |= (uint8_t)(1u << row % 8);
		if (!row_bit(c->passes, row))
			matcher_refuse(c->m, row);
	}
	return 0;
}

int chains_judge(struct matcher *m, struct err_text *err)
{
	struct chains c = {.m = m, .passes = calloc(m->rows / 8 + 1, 1)};
	struct matcher all;
	int r = c.passes ? 0 : -ENOMEM;

	matcher_init_all(&all, m->recording, m->filter);
	all.rows = m->rows;
	if (!r)
		r = sweep_in_order(&all, ROWS_CHAIN | ROWS_SIZE | ROWS_BIRTH | ROWS_DEATH,
				   follow_rows, &c, err);
	if (!r)
		r = sweep_backwards(&all, ROWS_CHAIN, hand_back_rows, &c, err);
	map_done(&c.waiting);
	free(c.open);
	free(c.passes);
	return r;
}

/* ---- freed before its thread allocated again ---- */

/* The next birth of the same thread. */
struct follower {
	uint64_t birth_ns, address, row; /* birth_ns NO_TIME: none */
};

/*
 * Times have steps of a microsecond. If both are equal, the free certainly came first if the order
 * of events says so (ROW_AT_ONCE), or if it made room for the birth: a realloc of the block, or the
 * same address again. In other cases another thread freed the block, the order is unknown, and the
 * block does not count as freed at once.
 */
static bool at_once(const struct row_block *block, uint32_t i, const struct follower *next)
{
	if (block->end[i] != BLOCK_FREED && block->end[i] != BLOCK_REALLOCATED)
		return false;
	if (next->birth_ns == block->death_ns[i])
		return block->death_kind[i] & ROW_AT_ONCE || next->address == block->address[i] ||
		       next->row == block->chain_next[i];
	return next->birth_ns > block->death_ns[i];
}

struct followers {
	struct matcher *m;
	struct follower *next; /* by thread */
	uint32_t threads;
};

static int chains_judge_rows(void *context, const struct row_block *block,
			     const struct row_set *rows)
{
	struct followers *f = context;
	bool wanted = f->m->filter->freed_at_once == ANSWER_YES;

	for (uint32_t k = rows->count; k-- > 0;) {
		uint32_t i = row_at(rows, k),
			 thread = block->thread[i] <= f->threads ? block->thread[i] : 0;
		/* Survivors were not allocated at that time. */
		bool survivor = row_survivor(block, i);

		if ((!survivor && at_once(block, i, &f->next[thread])) != wanted)
			matcher_refuse(f->m, block->first_row + i);
		if (!survivor)
			f->next[thread] = (struct follower){block->birth_ns[i], block->address[i],
							    block->first_row + i};
	}
	return 0;
}

/* Goes from the last row to the first, so that each thread's next birth is known. */
int freed_at_once_judge(struct matcher *m, struct err_text *err)
{
	uint32_t threads = recording_threads(m->recording);
	cleanup(cleanup_free) struct follower *next = calloc((size_t)threads + 1, sizeof(*next));
	struct followers followers = {m, next, threads};
	struct matcher all;

	if (!next)
		return -ENOMEM;
	for (uint32_t t = 0; t <= threads; t++)
		next[t].birth_ns = NO_TIME;
	matcher_init_all(&all, m->recording, m->filter);
	return sweep_backwards(&all,
			       ROWS_THREAD | ROWS_BIRTH | ROWS_DEATH | ROWS_ADDRESS | ROWS_CHAIN |
				       ROWS_END | ROWS_DEATH_KIND,
			       chains_judge_rows, &followers, err);
}
