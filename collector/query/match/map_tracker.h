#pragma once
/*
 * Mappings followed through time: the regions that currently exist, without overlap. The program's
 * calls change them here; map_readings.h compares them with readings.
 */
#include "collector/query/match/mappings.h"
#include "collector/recording/info.h"

/* Regions at a time; the kernel's own limit (vm.max_map_count) is 65530. More are skipped. */
#define MAP_TRACKER_LIVE_MAX (1u << 17)
#define MAP_TRACKER_ENDED    64

struct map_tracker {
	const struct recording *recording;
	struct mappings *to;
	bool with_usage;
	bool sizes;    /* there are no readings, so calls record sizes in the usage */
	uint32_t next; /* the next call to take */
	/* `execs`: number of execs so far. An exec ends all mappings. */
	uint32_t next_mark, execs;
	uint32_t *live; /* regions, by address */
	uint32_t live_count, live_capacity;
	uint32_t *touched; /* mappings whose usage has changed since it was last noted */
	uint32_t touched_count, touched_capacity;
	/* The mappings that calls ended last. An mremap continues such a mapping. */
	struct {
		const struct other_event_info *call;
		uint32_t mapping;
	} ended[MAP_TRACKER_ENDED];
	uint32_t ended_count;
};

void map_tracker_done(struct map_tracker *tracker);
/* Takes the calls up to and including `until_ns`. Returns 0 or -ENOMEM, like the functions
 * below. */
int map_tracker_advance(struct map_tracker *tracker, uint64_t until_ns);

/* ---- for map_readings.h ---- */

static inline struct mapping_region *map_tracker_region(const struct map_tracker *tracker,
							uint32_t at)
{
	return &tracker->to->regions[tracker->live[at]];
}

/* Returns the position in `live` of the first region that ends behind the address. */
uint32_t map_tracker_behind(const struct map_tracker *tracker, uint64_t address);
/* Adds a mapping that no known call made, with one region of that look. */
int map_tracker_add(struct map_tracker *tracker, uint64_t start, uint64_t end, uint64_t time_ns,
		    const struct mapping_look *look);
/* Removes [start, end) from the regions that exist. `call` may be NULL. */
int map_tracker_cut(struct map_tracker *tracker, uint64_t start, uint64_t end, uint64_t time_ns,
		    const struct other_event_info *call);
/* Splits the region at this position; the second part begins at the address. Both parts keep the
 * start time of the whole region. */
int map_tracker_split(struct map_tracker *tracker, uint32_t at, uint64_t address);
/* Ends the region at this position and continues it with another look, which becomes the look of
 * its mapping, too. */
int map_tracker_change(struct map_tracker *tracker, uint32_t at, uint64_t time_ns,
		       const struct mapping_look *look);
/* Moves the region at this position to [start, end). Its mapping must have no call. */
void map_tracker_resize(struct map_tracker *tracker, uint32_t at, uint64_t start, uint64_t end);
/* Marks the mapping's usage as changed. */
int map_tracker_touch(struct map_tracker *tracker, uint32_t mapping);
/* Appends to the usage. */
int map_tracker_note(struct map_tracker *tracker, const struct mapping_usage *usage);
