#pragma once
/*
 * Readings of /proc/PID/smaps beside the calls: what of a mapping the kernel shows, and what is
 * there of which no call is known.
 *
 *	calls     |  A  |  B  |     | C |
 *	kernel    |    rw-p   | r-x | rw-p   |
 *
 * A and B were joined; the r-x region and what follows C are nobody's.
 *
 * What the kernel has joined it tells of together. Such a reading is parted: each has what it had
 * before, and what there is more is parted by the room that they have left.
 *
 * A reading tells of the time when it began, but takes a while: where calls fall within
 * MAP_READINGS_DOUBT_NS of it, it may show what was before or after them. Nothing is concluded of
 * such addresses, but once more with the next reading.
 */
#include "collector/query/match/map_tracker.h"

#define MAP_READINGS_DOUBT_NS 100000000

/* Addresses, after map_extents_sort in their order and without overlap. */
struct map_extents {
	struct map_extent {
		uint64_t start, end;
	} * list;
	uint32_t count, capacity;
};

struct map_readings {
	struct map_tracker *tracker;
	const struct maps_state *state; /* the reading at hand */
	uint64_t now_ns;
	struct map_extents changed; /* since the last reading, or in doubt then */
	struct map_extents used;    /* kernel regions whose usage was told */
	struct map_extents calls;   /* what calls about now have to do with, */
	bool calls_known;	    /* once that was asked */
	uint32_t execs;		    /* that the tracker had seen by the last reading */
	bool failed;
};

void map_readings_done(struct map_readings *readings);
/* A piece of news of a reading: as of struct maps_state. */
void map_readings_news(void *readings, enum map_news what, const struct map_region *region,
		       uint64_t time_ns);
/* The reading is complete: calls up to it are taken, and what it tells is put beside them. 0 or
 * -ENOMEM. */
int map_readings_complete(void *readings, const struct maps_state *state);
/* All readings of the recording. 0, -ENOMEM, -ECANCELED...; sets `gathered`. */
int map_readings_follow(struct map_tracker *tracker, const char *path, const struct cancel *cancel,
			struct err_text *err);
