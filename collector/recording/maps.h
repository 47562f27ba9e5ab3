#pragma once
/*
 * The mapped regions of a process at some moment, with their usage, reconstructed from the steps of
 * a recording (message Maps).
 *
 *   struct maps_state state = {0};
 *   maps_state_add(&state, batch->maps, ...)      each step, in the order of the batches
 *   state.region[0 .. state.count)                sorted by address
 *
 * A step holds the changes since the previous one, so a recording with a hole may have regions that
 * were never reported. The agent starts over (Maps.whole) for a reader that missed something.
 * Changes of unknown regions are counted and skipped. Steps are untrusted: each is decoded and
 * checked as a whole before anything changes, and the numbers of regions and names are bounded.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "heapcast.pb-c.h"

struct err_text;

#define MAPS_REGIONS_MAX (1u << 20)
#define MAPS_NAMES_MAX	 (1u << 20)
#define MAPS_NAMES_BYTES (64u << 20) /* bytes of all names together */
#define MAPS_NAME_MAX	 1023

/* KiB, as the kernel reports them. */
struct map_usage {
	uint64_t rss, pss, shared_clean, shared_dirty, private_clean, private_dirty, anonymous,
		swap;
};

struct map_region {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* in the file, in bytes */
	uint64_t inode;
	uint32_t major, minor;
	uint32_t flags;	     /* enum MapFlag */
	const char *name;    /* "" if it has none; the state owns it */
	uint64_t mapped_ns;  /* stream time of the step that reported the region first */
	uint64_t changed_ns; /* time of the step that last reported its size, flags or name */
	uint64_t used_ns;    /* time of the step that last reported its usage; 0: none yet */
	uint64_t peak_rss;   /* KiB, as far as steps report it */
	struct map_usage usage;
};

enum map_news { MAP_NEWS_MAPPED, MAP_NEWS_CHANGED, MAP_NEWS_UNMAPPED, MAP_NEWS_USED };

struct maps_state {
	struct map_region *region; /* sorted by start; free of overlaps if the agent is right */
	size_t count;
	uint32_t capacity;
	char **names; /* by number - 1; NULL: never reported */
	uint32_t name_count, name_capacity;
	size_t name_bytes;
	/* Numbers of the last step that ended a reading. */
	bool any;
	uint64_t time_ns;
	uint64_t took_us;
	uint32_t regions, cut, postponed; /* from the agent: regions of the process; regions not
					   * followed; regions that come later */
	uint64_t address_space;		  /* KiB, of all regions */
	struct map_usage total;		  /* sum over all regions, including cut ones */
	uint64_t steps,
		unknown; /* completed readings; rows about regions that were never reported */
	/*
	 * May be NULL. Called for each change after it is applied (for MAP_NEWS_UNMAPPED: before
	 * the region is removed), for callers that keep a history. The region is valid during the
	 * call.
	 */
	void (*news)(void *context, enum map_news what, const struct map_region *region,
		     uint64_t time_ns);
	/*
	 * May be NULL. Called when a reading is complete; it may consist of several steps. A return
	 * of -ENOMEM aborts.
	 */
	int (*complete)(void *context, const struct maps_state *state);
	void *context;
};

void maps_state_done(struct maps_state *state);
/*
 * Switches to a new incarnation of the agent. Its name numbers have new meanings, and no region is
 * known.
 */
void maps_state_restart(struct maps_state *state, uint64_t time_ns);
/*
 * Applies a step. Returns 0; -EBADMSG with a sentence if the step is damaged, and nothing has
 * changed; or -ENOMEM: the caller may then only call maps_state_done.
 */
int maps_state_add(struct maps_state *state, const Heapcast__Maps *step, struct err_text *err);

/*
 * Reconstructs the regions at stream time `at_ns` (NO_TIME: at the end) of the recording at `path`
 * from all steps up to then. Damaged frames and steps are skipped and counted in ret_damaged, which
 * may be NULL. Returns 0, -ENOENT, -ENOMEM or another negative errno.
 */
int maps_at(const char *path, uint64_t at_ns, struct maps_state *ret_state, uint64_t *ret_damaged,
	    struct err_text *err);
/*
 * Does the same into the caller's state, which is empty except for its callbacks and `context`; the
 * callbacks see every change in order. `cancel` may be NULL. Also returns -ECANCELED or -ETIME. The
 * caller calls maps_state_done in every case.
 */
int maps_follow(const char *path, uint64_t at_ns, const struct cancel *cancel,
		struct maps_state *state, uint64_t *ret_damaged, struct err_text *err);
