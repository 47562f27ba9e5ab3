#pragma once
/*
 * One step of message Maps, decoded and checked: rows instead of columns, addresses in bytes. It
 * comes from outside; what is here has ascending starts, sizes that do not wrap, names that end,
 * and counts within the limits of maps.h.
 */
#include "collector/recording/maps.h"

#define MAPS_USAGE_COLUMNS (sizeof(struct map_usage) / sizeof(uint64_t))

struct maps_region_row {
	uint64_t start, end, offset, inode, device, name;
	uint32_t flags;
};

struct maps_usage_row {
	uint64_t start;
	struct map_usage usage;
};

struct maps_step {
	uint64_t *gone;
	struct maps_region_row *region;
	struct maps_usage_row *used;
	size_t gone_count, region_count, used_count;
	uint32_t first_name, name_count;
	uint64_t total[1 + MAPS_USAGE_COLUMNS]; /* address space in KiB, then usage */
};

/* 0; -EBADMSG: damaged, the sentence says what; -ENOMEM. `ret_step` is zero before, and to be done
 * with whatever comes. */
int maps_step_decode(const Heapcast__Maps *message, struct maps_step *ret_step,
		     struct err_text *err);
void maps_step_done(struct maps_step *step);
