#pragma once
/*
 * Which mapping a block lay in. A mapping holds what was born at its addresses since what lay there before went and until it was
 * unmapped itself, as the filter from_map has it.
 */
#include <stdbool.h>
#include <stdint.h>

struct mappings;

struct map_spans {
	struct map_span {
		uint64_t start, end;   /* addresses */
		uint64_t from_ns, to_ns; /* births, both included */
		uint64_t reach;	       /* the highest end of this and all before */
		uint64_t map;
	} *list; /* by start */
	uint32_t count;
};

/* 0 or -ENOMEM. */
int map_spans_init(struct map_spans *spans, const struct mappings *mappings);
void map_spans_done(struct map_spans *spans);
/* The last one of them where several fit. */
bool map_spans_find(const struct map_spans *spans, uint64_t address, uint64_t birth_ns, uint64_t *ret_map);
