#pragma once
/*
 * Where single rows stand in their chains of reallocs: found by following the links both ways. What
 * is found of a row is remembered for its neighbours, so that listing a long chain in order costs a
 * step each.
 */
#include <stdbool.h>
#include <stdint.h>

struct err_text;
struct recording;
struct row_cache;

struct chain_place {
	uint64_t row;	      /* what this is known of; NO_TIME: nothing */
	uint64_t first, last; /* rows */
	uint64_t position, length;
};

#define CHAIN_WALK_KEPT 1024

struct chain_walk {
	const struct recording *recording;
	bool (*ended)(void *context); /* asked now and then; true: the walk stops where it is */
	void *context;
	struct chain_place kept[CHAIN_WALK_KEPT];
};

void chain_walk_init(struct chain_walk *walk, const struct recording *recording,
		     bool (*ended)(void *context), void *context);
/* `rows` has at least ROWS_CHAIN. 0 or -EIO with a sentence. */
int chain_walk_find(struct chain_walk *walk, struct row_cache *rows, uint64_t row,
		    struct chain_place *ret_place, struct err_text *err);
