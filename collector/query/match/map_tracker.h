#pragma once
/*
 * Mappings while they are followed through time: which regions are there, without overlap. Calls of
 * the program change them here; what readings tell is put beside it by map_readings.h.
 */
#include "collector/query/match/mappings.h"
#include "collector/recording/info.h"

/* Regions at a time; the kernel's own bound (vm.max_map_count) is 65530. More are passed over. */
#define MAP_TRACKER_LIVE_MAX (1u << 17)
#define MAP_TRACKER_ENDED    64

struct map_tracker {
	const struct recording *recording;
	struct mappings *to;
	bool with_usage;
	bool sizes;		   /* calls are noted in the usage: there are no readings */
	uint32_t next;		   /* call */
	uint32_t next_mark, execs; /* `execs`: so many programs have begun, and with each of them
				      everything anew */
	uint32_t *live;		   /* regions, by address */
	uint32_t live_count, live_capacity;
	uint32_t *touched; /* mappings that have changed since they were last asked for */
	uint32_t touched_count, touched_capacity;
	/* What munmap ended last: an mremap goes on with it. */
	struct {
		const struct apart_info *call;
		uint32_t mapping;
	} ended[MAP_TRACKER_ENDED];
	uint32_t ended_count;
};

void map_tracker_done(struct map_tracker *tracker);
/* Takes the calls up to `until_ns`, that time included. 0 or -ENOMEM, also below. */
int map_tracker_advance(struct map_tracker *tracker, uint64_t until_ns);

/* ---- for map_readings.h ---- */

static inline struct mapping_region *map_tracker_region(const struct map_tracker *tracker,
							uint32_t at)
{
	return &tracker->to->regions[tracker->live[at]];
}

/* Position in `live` of the first region that ends behind the address. */
uint32_t map_tracker_behind(const struct map_tracker *tracker, uint64_t address);
/* A mapping, which no call made, with one region of that look. */
int map_tracker_add(struct map_tracker *tracker, uint64_t start, uint64_t end, uint64_t time_ns,
		    const struct mapping_look *look);
/* Takes [start, end) out of what is there; `call` may be NULL. */
int map_tracker_cut(struct map_tracker *tracker, uint64_t start, uint64_t end, uint64_t time_ns,
		    const struct apart_info *call);
/* The region at this position becomes two, the second of which begins at the address; both as if
 * they had been two from the beginning. */
int map_tracker_split(struct map_tracker *tracker, uint32_t at, uint64_t address);
/* The region at this position ends, and goes on with another look, which its mapping has then,
 * too. */
int map_tracker_change(struct map_tracker *tracker, uint32_t at, uint64_t time_ns,
		       const struct mapping_look *look);
/* The region at this position, of a mapping without a call, lies there from now on. */
void map_tracker_resize(struct map_tracker *tracker, uint32_t at, uint64_t start, uint64_t end);
/* The mapping's usage has changed. */
int map_tracker_touch(struct map_tracker *tracker, uint32_t mapping);
/* Appends to the usage. */
int map_tracker_note(struct map_tracker *tracker, const struct mapping_usage *usage);
