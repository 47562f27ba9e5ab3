#pragma once
/*
 * Finds the place of single rows in their chains of reallocs by following the links in both
 * directions. The places found are remembered for the neighbours, so that listing a long chain in
 * order costs one step per row.
 */
#include <stdbool.h>
#include <stdint.h>

struct err_text;
struct recording;
struct row_cache;

struct chain_place {
	uint64_t row;	      /* the row that this entry describes; NO_TIME: none */
	uint64_t first, last; /* the first and the last row of its chain */
	uint64_t position, length;
};

#define CHAIN_WALK_KEPT 1024

struct chain_walk {
	const struct recording *recording;
	/* Called from time to time; if it returns true, the walk stops where it is. */
	bool (*ended)(void *context);
	void *context;
	struct chain_place kept[CHAIN_WALK_KEPT];
};

void chain_walk_init(struct chain_walk *walk, const struct recording *recording,
		     bool (*ended)(void *context), void *context);
/* `rows` has at least the columns ROWS_CHAIN. Returns 0, or -EIO with an error text. */
int chain_walk_find(struct chain_walk *walk, struct row_cache *rows, uint64_t row,
		    struct chain_place *ret_place, struct err_text *err);
