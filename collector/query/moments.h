#pragma once
/* What each function had in use at given moments, for comparisons of fleets. */
#include <stdint.h>

struct err_text;
struct filter;
struct view;

/* A function and the name of its module (GROUP_BY_FUNCTION). Texts live as long as the view. */
struct moment_group {
	const char *function, *module; /* NULL: unknown */
	uint32_t node;		       /* one of its backtraces */
};

struct moments {
	struct moment_group *groups;
	uint32_t count;
	/* In use at moment m in group g: bytes[m * stride + 1 + g]; estimated if sampled. */
	int64_t *bytes;
	uint32_t stride;
};
/* Computes what each function had in use at each of `count` moments, which ascend; one at least, in
 * one pass over the rows. */
int query_moments(struct view *view, const struct filter *filter, const uint64_t *moments,
		  uint32_t count, struct moments *ret_moments, struct err_text *err);
void moments_done(struct moments *moments);
