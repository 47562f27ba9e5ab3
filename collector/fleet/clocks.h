#pragma once
/*
 * Boards whose clocks are wrong. A stream says by its board's clock when it was recorded. Where
 * that clock was never set, or is ahead, the stream can't be placed beside those of other boards,
 * and one that is ahead would make its time the time of all. So such streams are left out, and
 * named.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream_summary;

/* A clock may be ahead by so much. */
#define CLOCK_AHEAD_NS 3600000000000u

/* Returns false if a clock that shows this was never set. */
bool fleet_clock_is_set(uint64_t wall_ns);

/* Writes how far a clock is off, for people: "10 days", "3 hours". */
#define CLOCK_GAP_TEXT 32
const char *clock_gap_text(char out[CLOCK_GAP_TEXT], uint64_t ns);

/* A board whose streams are left out. */
struct fleet_left_out {
	char *host;
	uint64_t streams;
	char *why; /* a sentence: "the clock of gw-17 is 10 days ahead" */
};

struct fleet_clocks {
	struct fleet_left_out *list; /* by host */
	uint32_t count, capacity;
	uint64_t timeless; /* streams that do not say when they began: can't be read, or imported */
};
#define FLEET_TIMELESS "the recording does not say when it began"

/*
 * Looks for streams that can't be placed in time. Adds the boards whose clocks are wrong to `ret`.
 * `now_ns`: the time by a clock that is right; 0: a stream may be ahead. Sets `ret_wrong[i]` for
 * each such stream. If all streams are ahead, this clock is wrong rather than theirs, and none of
 * them is left out. Returns 0 or -ENOMEM. The caller frees the clocks with fleet_clocks_done in
 * either case.
 */
int fleet_clocks_judge(const struct stream_summary *streams, size_t count, uint64_t now_ns,
		       bool *ret_wrong, struct fleet_clocks *ret);
void fleet_clocks_done(struct fleet_clocks *clocks);
