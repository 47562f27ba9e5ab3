#pragma once
/*
 * What was mapped, over time, and by whom.
 *
 * A mapping is what one call of the program made (mmap, sbrk), for as long as a part of it is
 * there; mremap moves it. What nobody was seen to map (the loader, an allocator) is known only from
 * readings of /proc/PID/smaps (agent run --gather-maps): then it is what lies in a region of the
 * kernel's and belongs to no call.
 *
 * A mapping consists of regions: a munmap or a mapping on top of it ends a region, and what is left
 * of that begins others; so does a reading that shows another protection or name for all of it or a
 * part.
 *
 *	address   |   region 1     |  3 (the rest)      |
 *	          |                +--------------------+
 *	          |                |  2, ended by munmap|
 *	          +----------------+--------------------+---> time
 *
 * The kernel joins neighbours with the same protection, and tells how much is in memory of all of
 * them together: such a reading is parted among them (map_readings.h), and marked as estimated.
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
/* readings of usage that are kept, of all mappings together */
#define MAPPINGS_USAGE_MAX (1u << 19)

struct mapping_usage {
	uint32_t mapping; /* index in the list */
	bool read;	  /* else a call: only its size is known */
	bool estimated;	  /* a part of a reading of several mappings */
	uint64_t time_ns, size_bytes;
	struct map_usage usage; /* KiB */
};

/* What readings tell of a region. */
struct mapping_look {
	uint64_t offset, inode;
	uint32_t major, minor;
	uint32_t flags;	  /* enum MapFlag */
	const char *name; /* "" if it has none; never NULL */
};

struct mapping_region {
	uint32_t mapping;
	bool seen;	      /* by a reading: it has a look */
	bool read, estimated; /* of its usage: some is known; it is a part of a reading of others as
				 well */
	uint64_t address, size;
	uint64_t from_ns, to_ns; /* NO_TIME: it is there */
	struct mapping_look look;
	struct map_usage usage; /* as of the last reading */
	/* The call that ended it, and which addresses it took of it. NULL: none is known. */
	const struct apart_info *end;
	uint64_t end_address, end_size;
};

struct mapping {
	uint64_t address, size; /* as the call had it, the last mremap if there was one; without a
				   call: as last seen */
	uint64_t mapped_ns;	/* when the program mapped it, else when it was first seen */
	uint64_t unmapped_ns;	/* when the last of it went; NO_TIME: some of it is there */
	bool seen;		/* by a reading: it has a look, that of the region seen last */
	struct mapping_look look;
	uint64_t peak_rss; /* bytes, as far as readings tell */
	bool peak_estimated;
	uint32_t first_region, region_count;
	const struct apart_info *source, *end; /* the calls; NULL: none is known */
	/* While they are put together: */
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
	bool gathered;		 /* maps were */
	uint64_t left_out;	 /* beyond MAPPINGS_MAX, or whose regions were too many */
	uint64_t usage_left_out; /* readings beyond MAPPINGS_USAGE_MAX */
};

/* All mappings of the recording. `cancel` may be NULL. */
int query_mappings(struct view *view, bool with_usage, const struct cancel *cancel,
		   struct mappings *ret_mappings, struct err_text *err);
void mappings_done(struct mappings *mappings);

/* Whether filter_set's `name` may be asked of mappings: those about heap blocks alone (chains,
 * groups, labels) may not. */
bool mapping_takes_filter(const char *name);
/* Sets ret_passes[i] for each mapping that fits the filter: a mapping is born when it was mapped
 * and dies when it was unmapped, and its backtrace is that of its source. Free it. */
int query_mappings_match(struct view *view, const struct filter *filter,
			 const struct mappings *mappings, bool **ret_passes, struct err_text *err);
