#pragma once
/*
 * The mappings of a process over time, and the calls that made them.
 *
 * A mapping is what one call of the program made (mmap, sbrk). It exists for as long as a part of
 * it is mapped; mremap moves it. Mappings without a recorded call (by the loader or an allocator)
 * are known only from readings of /proc/PID/smaps (agent run --gather-maps). Such a mapping is the
 * part of a kernel region that belongs to no call.
 *
 * A mapping consists of regions. A munmap, or a mapping on top of it, ends a region, and the parts
 * that are left become new regions. A reading that shows another protection or name for all or a
 * part of a region does the same.
 *
 *	address   |   region 1     |  3 (the rest)      |
 *	          |                +--------------------+
 *	          |                |  2, ended by munmap|
 *	          +----------------+--------------------+---> time
 *
 * The kernel joins neighbours with the same protection, and reports their resident memory as one
 * number. Such a reading is divided among them (map_readings.h), and marked as estimated.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/query/query.h"
#include "collector/recording/info.h"
#include "collector/recording/maps.h"
#include "collector/symbols/strings.h"

#define MAPPINGS_MAX	     (1u << 18)
#define MAPPINGS_REGIONS_MAX (1u << 19) /* of all mappings together */
/* maximum number of usage entries kept, of all mappings together */
#define MAPPINGS_USAGE_MAX (1u << 19)

struct mapping_usage {
	uint32_t mapping; /* index in the list */
	bool read;	  /* from a reading; else from a call, and only the size is known */
	bool estimated;	  /* a part of a reading that covers several mappings */
	uint64_t time_ns, size_bytes;
	struct map_usage usage; /* KiB */
};

/* What a reading says about a region. */
struct mapping_look {
	uint64_t offset, inode;
	uint32_t major, minor;
	uint32_t flags;	  /* enum MapFlag */
	const char *name; /* "" if it has none; never NULL */
};

struct mapping_region {
	uint32_t mapping;
	bool seen; /* a reading has shown it, so it has a look */
	/* Flags of `usage`. read: it is known; estimated: it is a part of a reading that covers
	 * other mappings, too. */
	bool read, estimated;
	uint64_t address, size;
	uint64_t from_ns, to_ns; /* NO_TIME: still mapped */
	struct mapping_look look;
	struct map_usage usage; /* from the last reading */
	/* The call that ended it, and the part of the region that the call took. NULL: not
	 * known. */
	const struct other_event_info *end;
	uint64_t end_address, end_size;
};

struct mapping {
	/* As of the call, or of the last mremap. Without a call: as last seen. */
	uint64_t address, size;
	uint64_t mapped_ns;   /* when the program mapped it, or when it was first seen */
	uint64_t unmapped_ns; /* when the last part was unmapped; NO_TIME: a part is still mapped */
	bool seen; /* a reading has shown it, so it has the look of the region seen last */
	struct mapping_look look;
	uint64_t peak_rss; /* bytes, as far as readings show */
	bool peak_estimated;
	uint32_t first_region, region_count;
	const struct other_event_info *source, *end; /* the calls; NULL: not known */
	/* Used while the mappings are built: */
	uint32_t live_regions;
	uint64_t live_bytes;
	bool touched;
};

struct mappings {
	struct mapping *list; /* in the order in which they were seen: the index is the number */
	uint32_t count, capacity;
	struct mapping_region *regions; /* by mapping, then time, then address */
	uint32_t region_count, region_capacity;
	struct mapping_usage *usage; /* by mapping, then time; NULL: not asked for */
	uint32_t usage_count, usage_capacity;
	struct strings names;
	bool gathered;		 /* the recording holds readings of the maps */
	uint64_t left_out;	 /* mappings beyond MAPPINGS_MAX, and regions beyond their limits */
	uint64_t usage_left_out; /* usage entries beyond MAPPINGS_USAGE_MAX */
};

/* Returns all mappings of the recording. `cancel` may be NULL. */
int query_mappings(struct view *view, bool with_usage, const struct cancel *cancel,
		   struct mappings *ret_mappings, struct err_text *err);
void mappings_done(struct mappings *mappings);

/* Returns true if the filter `name` of filter_set applies to mappings. Filters only for heap blocks
 * (chains, groups, labels) do not. */
bool mapping_takes_filter(const char *name);
/* Sets ret_passes[i] for each mapping that matches the filter. A mapping is born when it was mapped
 * and dies when it was unmapped; its backtrace is that of its source. The caller frees the
 * array. */
int query_mappings_match(struct view *view, const struct filter *filter,
			 const struct mappings *mappings, bool **ret_passes, struct err_text *err);
