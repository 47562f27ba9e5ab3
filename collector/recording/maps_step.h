#pragma once
/*
 * One step of message Maps, decoded and checked: rows in place of columns, addresses in bytes. The
 * input is untrusted. A decoded step has ascending starts, sizes that do not wrap, terminated
 * names, and counts within the limits of maps.h.
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

/*
 * Decodes a step into `ret_step`, which the caller has zeroed. Returns 0, -EBADMSG with a sentence
 * if it is damaged, or -ENOMEM. The caller calls maps_step_done in every case.
 */
int maps_step_decode(const Heapcast__Maps *message, struct maps_step *ret_step,
		     struct err_text *err);
void maps_step_done(struct maps_step *step);
