#pragma once
/*
 * How the blocks in use at a moment lie in memory.
 *
 * A page with a byte in use is held: the kernel cannot take it back. Let B be the bytes in use, and
 * P the bytes of all pages with at least one of them. Then P - B is memory between blocks in use,
 * and B / P is how full the pages are.
 *
 * If the agent gathered maps, the regions of the heap are [heap], and private writable memory
 * without a file that holds at least one block. R is their resident memory at the last reading
 * before that moment. Then fragmentation = 1 - B / R: the part of the heap's memory that holds no
 * block in use. R - P is free in whole pages, and P - B is not.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/query/query.h"

#define FRAGMENTATION_CLASSES 10
#define FRAGMENTATION_REGIONS 4096 /* maximum number listed, most resident first */

struct heap_region {
	uint64_t address, size;
	uint64_t resident; /* bytes */
	/* Of the blocks in use: number that begin in the region; bytes and pages in the region. */
	uint64_t blocks, bytes, pages;
	uint64_t page_bytes;
	char name[32];
};

struct fragmentation {
	uint64_t at_ns;
	uint64_t page_size;
	bool sampled; /* some blocks were not recorded, so pages seem emptier than they are */
	uint64_t blocks, bytes;
	uint64_t pages, page_bytes; /* number of pages with a byte in use, and their bytes */
	double page_fill;	    /* B / P */
	/* The pages by how full they are: [i] from i to i + 1 tenths, [9] up to full. */
	struct page_class {
		double fill_min;
		uint64_t pages, bytes;
	} by_fill[FRAGMENTATION_CLASSES];
	bool gathered; /* maps were gathered, and the members below are known */
	double fragmentation;
	uint64_t maps_ns; /* time of the reading */
	uint64_t resident;
	struct heap_region *regions; /* most resident first */
	size_t region_count;
};

/* `at_ns` NO_TIME: at the end. The filter selects blocks. */
int query_fragmentation(struct view *view, const struct filter *filter, uint64_t at_ns,
			struct fragmentation *ret_fragmentation, struct err_text *err);
void fragmentation_done(struct fragmentation *fragmentation);
