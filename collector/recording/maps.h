#pragma once
/*
 * What was mapped, put together from the steps of a recording (message Maps): the regions as of
 * some moment, with their usage.
 *
 *   struct maps_state state = {0};
 *   maps_state_add(&state, batch->maps, ...)      each step, in the order of the batches
 *   state.region[0 .. state.count)                sorted by address
 *
 * A step is news since the one before, so a recording with a hole in it has regions that nobody
 * tells of; the agent begins anew (Maps.whole) for whoever missed something. What a step says of a
 * region that is not known is counted and passed over. Steps come from outside: all of one is
 * decoded and checked before anything is changed, and regions and names are bounded.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "heapcast.pb-c.h"

struct err_text;

#define MAPS_REGIONS_MAX (1u << 20)
#define MAPS_NAMES_MAX	 (1u << 20)
#define MAPS_NAMES_BYTES (64u << 20) /* of all names together */
#define MAPS_NAME_MAX	 1023

/* KiB, as the kernel tells them. */
struct map_usage {
	uint64_t rss, pss, shared_clean, shared_dirty, private_clean, private_dirty, anonymous,
		swap;
};

struct map_region {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* in the file, bytes */
	uint64_t inode;
	uint32_t major, minor;
	uint32_t flags;	     /* enum MapFlag */
	const char *name;    /* "" if it has none; the state's, for as long as the state lives */
	uint64_t mapped_ns;  /* stream time of the step that told it first */
	uint64_t changed_ns; /* that told its size, flags or name last */
	uint64_t used_ns;    /* that told its usage last; 0: it has none yet */
	uint64_t peak_rss;   /* KiB, as far as steps told */
	struct map_usage usage;
};

enum map_news { MAP_NEWS_MAPPED, MAP_NEWS_CHANGED, MAP_NEWS_UNMAPPED, MAP_NEWS_USED };

struct maps_state {
	struct map_region *region; /* by start, without overlap as far as the agent is right */
	size_t count, capacity;
	char **names; /* by number - 1; NULL: never told */
	uint32_t name_count, name_capacity;
	size_t name_bytes;
	/* As of the last step. */
	bool any;
	uint64_t time_ns;
	uint64_t took_us;
	uint32_t regions, cut,
		postponed;	/* as the agent says: of the process, not followed, to come later */
	uint64_t address_space; /* KiB, of all regions */
	struct map_usage total; /* of all regions, those that were cut included */
	uint64_t steps,
		unknown; /* those that end a reading; rows about regions that nobody told of */
	/* May be NULL: called for each piece of news once it is true (MAP_NEWS_UNMAPPED: before the
	 * region goes), for those who keep a history. The region is valid during the call. */
	void (*news)(void *context, enum map_news what, const struct map_region *region,
		     uint64_t time_ns);
	/* May be NULL: called when a reading is complete, which may have come in several steps.
	 * -ENOMEM ends it all. */
	int (*complete)(void *context, const struct maps_state *state);
	void *context;
};

void maps_state_done(struct maps_state *state);
/* A new incarnation of the agent: its numbers of names mean others, and no region is known. */
void maps_state_restart(struct maps_state *state, uint64_t time_ns);
/* Takes a step. 0; -EBADMSG: damaged, nothing was changed, the sentence says what; -ENOMEM: the
 * state must not be used any more but to be done with. */
int maps_state_add(struct maps_state *state, const Heapcast__Maps *step, struct err_text *err);

/* The regions at stream time `at_ns` (NO_TIME: at the end) of the recording at `path`: all steps up
 * to there, read from the start. Damaged frames and steps are passed over, and counted in
 * ret_damaged (may be NULL). 0; -ENOENT; -ENOMEM. */
int maps_at(const char *path, uint64_t at_ns, struct maps_state *ret_state, uint64_t *ret_damaged,
	    struct err_text *err);
/* The same into a state of the caller's, empty but for `news` and `context`, who is then told all
 * of it in turn. -ECANCELED, -ETIME: `cancel` (may be NULL). maps_state_done in any case. */
int maps_follow(const char *path, uint64_t at_ns, const struct cancel *cancel,
		struct maps_state *state, uint64_t *ret_damaged, struct err_text *err);
