#pragma once
/*
 * What was mapped, over time, and by whom.
 *
 * Where maps were gathered (agent run --gather-maps) a mapping is a region of /proc/PID/smaps, from the reading that showed it first to
 * the one that did not any more; where they were not, it is what the program itself mapped (mmap, mremap, sbrk). In the first case,
 * too, it has the call of the program that made it, if it was one.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/query/query.h"
#include "collector/store/maps.h"
#include "collector/store/store.h"

#define MAPPINGS_MAX	   (1u << 18)
#define MAPPINGS_USAGE_MAX (1u << 19) /* readings of usage that are kept, of all mappings together */

struct mapping_usage {
	uint32_t mapping; /* index in the list */
	uint64_t time_ns, size_bytes;
	struct map_usage usage; /* KiB */
};

struct mapping {
	uint64_t address, size; /* as last seen */
	uint64_t mapped_ns;	/* when the program mapped it, else when it was first seen */
	uint64_t unmapped_ns;	/* when the program unmapped it, else when it was no longer seen; NO_TIME: it is there */
	uint32_t flags;		/* enum MapFlag; only where maps were gathered */
	uint64_t offset, inode;
	uint32_t major, minor;
	uint64_t peak_rss; /* bytes */
	char *name;	   /* "" if it has none */
	const struct apart_info *source, *end; /* the calls; NULL: none is known */
};

struct mappings {
	struct mapping *list; /* in the order in which they were seen: the index is the number */
	size_t count;
	struct mapping_usage *usage; /* by mapping, then time; NULL: not asked for */
	size_t usage_count;
	bool gathered;		/* from smaps */
	uint64_t left_out;	/* beyond MAPPINGS_MAX */
	uint64_t usage_left_out; /* readings beyond MAPPINGS_USAGE_MAX */
};

/* All mappings of the recording. `cancel` may be NULL. */
int query_mappings(struct view *view, bool with_usage, const struct cancel *cancel, struct mappings *ret_mappings,
		   struct err_text *err);
void mappings_done(struct mappings *mappings);

/* Whether filter_set's `name` may be asked of mappings: those about heap blocks alone (chains, groups, labels) may not. */
bool mapping_takes_filter(const char *name);
/* Sets ret_passes[i] for each mapping that fits the filter: a mapping is born when it was mapped and dies when it was unmapped, and
 * its backtrace is that of its source. Free it. */
int query_mappings_match(struct view *view, const struct filter *filter, const struct mappings *mappings, bool **ret_passes,
			 struct err_text *err);
