#pragma once
/*
 * Finds the blocks in use at a moment, with equal blocks joined, for callers that make a new
 * recording from them (a snapshot). Symbols are not used, so the view may have none.
 */
#include <stdint.h>

struct err_text;
struct filter;
struct usage;
struct view;

struct in_use_blocks {
	uint32_t stack; /* node; 0: none */
	uint64_t size;	/* size of each block, in bytes */
	uint64_t blocks;
	/* Bytes that a sampled block represents; `blocks` is then 1. Otherwise 0. */
	uint64_t weight;
};

/*
 * Calls `take` for all matched blocks that were in use at `at_ns` (NO_TIME: at the end). The same
 * stack and size may come more than once, because the table that joins blocks is bounded. A return
 * value other than 0 stops and is returned. `ret_total` (may be NULL) is the total of query_groups.
 */
int query_in_use(struct view *view, const struct filter *filter, uint64_t at_ns,
		 int (*take)(void *context, const struct in_use_blocks *blocks), void *context,
		 struct usage *ret_total, struct err_text *err);
