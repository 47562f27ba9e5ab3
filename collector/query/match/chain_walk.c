/* See chain_walk.h. */
#include "collector/query/match/chain_walk.h"

#include <errno.h>

#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

#define STEPS_A_LOOK 1024

void chain_walk_init(struct chain_walk *walk, const struct recording *recording,
		     bool (*ended)(void *context), void *context)
{
	walk->recording = recording;
	walk->ended = ended;
	walk->context = context;
	for (uint32_t i = 0; i < CHAIN_WALK_KEPT; i++)
		walk->kept[i] = (struct chain_place){.row = NO_TIME};
}

static int chain_walk_step(struct chain_walk *walk, struct row_cache *rows, uint64_t row,
			   bool forward, uint64_t *ret_row, struct err_text *err)
{
	uint32_t i;
	const struct row_block *block = row_cache_get(rows, row, &i, err);
	uint64_t to;

	if (!block)
		return -EIO;
	to = forward ? block->chain_next[i] : block->chain_previous[i];
	/* A link must lead to a later row (forward) or an earlier row (backward). The check also
	 * ends a walk through damaged data. */
	if (to == NO_BLOCK || to >= recording_rows(walk->recording) ||
	    (forward ? to <= row : to >= row))
		to = row;
	*ret_row = to;
	return 0;
}

/* Finds the last row of the chain in that direction, and its distance in steps. */
static int find_end(struct chain_walk *walk, struct row_cache *rows, uint64_t row, bool forward,
		    uint64_t *ret_row, uint64_t *ret_steps, struct err_text *err)
{
	uint64_t steps = 0;

	for (uint64_t to;; row = to, steps++) {
		int r = chain_walk_step(walk, rows, row, forward, &to, err);

		if (r < 0)
			return r;
		if (to == row ||
		    (steps % STEPS_A_LOOK == STEPS_A_LOOK - 1 && walk->ended(walk->context)))
			break;
	}
	*ret_row = row;
	*ret_steps = steps;
	return 0;
}

static void chain_walk_keep(struct chain_walk *walk, const struct chain_place *place, uint64_t row,
			    uint64_t position)
{
	struct chain_place *to = &walk->kept[row % CHAIN_WALK_KEPT];

	*to = *place;
	to->row = row;
	to->position = position;
}

static int keep_neighbours(struct chain_walk *walk, struct row_cache *rows,
			   const struct chain_place *place, struct err_text *err)
{
	uint64_t next, previous;
	int r = chain_walk_step(walk, rows, place->row, true, &next, err);

	if (!r)
		r = chain_walk_step(walk, rows, place->row, false, &previous, err);
	if (r < 0)
		return r;
	chain_walk_keep(walk, place, place->row, place->position);
	if (next != place->row)
		chain_walk_keep(walk, place, next, place->position + 1);
	if (previous != place->row)
		chain_walk_keep(walk, place, previous, place->position - 1);
	return 0;
}

int chain_walk_find(struct chain_walk *walk, struct row_cache *rows, uint64_t row,
		    struct chain_place *ret_place, struct err_text *err)
{
	struct chain_place place = walk->kept[row % CHAIN_WALK_KEPT];
	uint64_t after = 0;
	int r = 0;

	if (place.row != row || !place.length) {
		place = (struct chain_place){.row = row};
		r = find_end(walk, rows, row, false, &place.first, &place.position, err);
		if (!r)
			r = find_end(walk, rows, row, true, &place.last, &after, err);
		place.length = place.position + 1 + after;
	}
	if (!r)
		r = keep_neighbours(walk, rows, &place, err);
	if (!r)
		*ret_place = place;
	return r;
}
