#pragma once
/*
 * How the blocks in use at a moment lie in memory.
 *
 * A page is held by what is in use on it: the kernel can't have it back, however little that is.
 * Let B be the bytes in use, and P the bytes of the pages with at least one of them. Then P - B is
 * memory between blocks that are in use, and B / P is how full the pages are.
 *
 * Where maps were gathered, the heap's regions are [heap], and private writable memory of no file
 * with at least one block in it; R is what of them was resident at the last reading before that
 * moment. Then fragmentation = 1 - B / R: the part of the heap's memory that holds no block in use.
 * R - P is free as a whole, page by page, and P - B is not.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/query/query.h"

#define FRAGMENTATION_CLASSES 10
#define FRAGMENTATION_REGIONS 4096 /* listed at most, most resident first */

struct heap_region {
	uint64_t address, size;
	uint64_t resident; /* bytes */
	uint64_t blocks, bytes,
		pages; /* in use: blocks that begin there, bytes and pages of them there */
	uint64_t page_bytes;
	char name[32];
};

struct fragmentation {
	uint64_t at_ns;
	uint64_t page_size;
	bool sampled; /* some blocks were not recorded: pages seem emptier than they are */
	uint64_t blocks, bytes;
	uint64_t pages, page_bytes; /* with something in use on them */
	double page_fill;	    /* part of page_bytes in use */
	/* Of these, by how full they are: [i] from i to i + 1 tenths, [9] up to full. */
	struct page_class {
		double fill_min;
		uint64_t pages, bytes;
	} by_fill[FRAGMENTATION_CLASSES];
	bool gathered; /* the rest is known */
	double fragmentation;
	uint64_t maps_ns; /* of the reading */
	uint64_t resident;
	struct heap_region *regions; /* most resident first */
	size_t region_count;
};

/* `at_ns` NO_TIME: at the end. The filter chooses among blocks. */
int query_fragmentation(struct view *view, const struct filter *filter, uint64_t at_ns,
			struct fragmentation *ret_fragmentation, struct err_text *err);
void fragmentation_done(struct fragmentation *fragmentation);
