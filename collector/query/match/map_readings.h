#pragma once
/*
 * Compares readings of /proc/PID/smaps with the calls of the program: what the kernel shows of a
 * mapping, and which regions exist without a known call.
 *
 *	calls     |  A  |  B  |     | C |
 *	kernel    |    rw-p   | r-x | rw-p   |
 *
 * The kernel has joined A and B. The r-x region and the part behind C belong to no call.
 *
 * The kernel reports joined mappings as one region. Such a reading is divided among the mappings:
 * each keeps its previous amount, and the increase is divided in proportion to the room left in
 * each. A decrease is divided in proportion to the previous amounts.
 *
 * A reading carries the time at which it began, but it takes a while. Where calls fall within
 * MAP_READINGS_DOUBT_NS of that time, the reading may show the state before or after them. Nothing
 * is concluded for the addresses of such calls; the next reading examines them again.
 */
#include "collector/query/match/map_tracker.h"

#define MAP_READINGS_DOUBT_NS 100000000

/* Address ranges. sort_extents puts them in order and merges ranges that overlap. */
struct map_extents {
	struct map_extent {
		uint64_t start, end;
	} * list;
	uint32_t count, capacity;
};

struct map_readings {
	struct map_tracker *tracker;
	const struct maps_state *state; /* the current reading */
	uint64_t now_ns;
	struct map_extents changed; /* changed since the last reading, or in doubt at that time */
	struct map_extents used;    /* kernel regions for which usage was reported */
	struct map_extents calls;   /* addresses of calls close to the current reading */
	bool calls_known;	    /* `calls` is filled in for this reading */
	uint32_t execs; /* number of execs that the tracker had seen at the last reading */
	bool failed;
};

void map_readings_done(struct map_readings *readings);
/* Records a change that a reading reports, as in struct maps_state. */
void map_readings_news(void *readings, enum map_news what, const struct map_region *region,
		       uint64_t time_ns);
/* Ends a reading: the tracker takes the calls up to its time, and the reading is compared with the
 * result. Returns 0 or -ENOMEM. */
int map_readings_complete(void *readings, const struct maps_state *state);
/* Follows all readings of the recording, and sets `gathered`. Returns 0, -ENOMEM, -ECANCELED or
 * another negative errno. */
int map_readings_follow(struct map_tracker *tracker, const char *path, const struct cancel *cancel,
			struct err_text *err);
