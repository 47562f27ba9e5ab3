#pragma once
/*
 * What was in use at a moment, block by block, but equal blocks together: for whoever makes another
 * recording of it (a snapshot). Symbols are not looked at: the view may have none.
 */
#include <stdint.h>

struct err_text;
struct filter;
struct usage;
struct view;

struct in_use_blocks {
	uint32_t stack; /* node; 0: none */
	uint64_t size;	/* of each, in bytes */
	uint64_t blocks;
	uint64_t weight; /* bytes that it stands for, if it is a sampled one (then `blocks` is 1);
			    else 0 */
};

/* Calls for all matched blocks that were in use at `at_ns` (NO_TIME: at the end); stack and size
 * may come more than once, for what is put together has a bound. Not 0 stops and is returned.
 * `ret_total` (may be NULL) is what query_groups says of the same. */
int query_in_use(struct view *view, const struct filter *filter, uint64_t at_ns,
		 int (*take)(void *context, const struct in_use_blocks *blocks), void *context,
		 struct usage *ret_total, struct err_text *err);
