#pragma once
/*
 * Is a recorded program in trouble with its memory? What the flight recorder (flight.h) is
 * triggered by from outside, asked of the kernel a few times a second, as the agent's user may:
 *
 *   resident    /proc/PID/statm: above a size; grown by a size within a time
 *   its cgroup  version 2: memory.current against memory.max, and `high` in memory.events (it was
 *               throttled at memory.high); version 1: memory.usage_in_bytes against
 *               memory.limit_in_bytes. Of this cgroup, or of the nearest above it that has a limit.
 *               What the kernel can give back at once (inactive_file in memory.stat) does not count
 *               as used
 *   pressure    `some total` of memory.pressure of the cgroup, or of /proc/pressure/memory: for how
 *               long tasks waited for memory
 *
 * A condition that stays true is told once: it must have become false (by a margin of 5 %) before
 * it is told again. All of them are silent for a while after one was told. Nothing is held open but
 * the cgroup's folder, and nothing allocates but while the cgroup is looked for.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/hold/flight.h"

#define PRESSURE_LOOK_NS 200000000
#define PRESSURE_SAMPLES 32

struct err_text;

struct pressure_settings {
	uint64_t rss_bytes;    /* 0: not asked */
	uint64_t growth_bytes; /* within growth_ns; 0: not asked */
	uint64_t growth_ns;
	unsigned stall_percent; /* of a second; 0: neither this nor the cgroup is asked */
	uint64_t pause_ns;	/* after one was told */
};

struct pressure {
	pid_t pid;  /* 0: nobody is watched */
	int folder; /* of its cgroup; -1: none is known */
	bool version_2;
	uint64_t cgroup;	       /* what /proc/PID/cgroup said, hashed */
	uint64_t looked_ns, sought_ns; /* CLOCK_MONOTONIC */
	uint64_t silent_ns;	       /* until then */
	bool over_rss, over_limit;
	uint64_t high;			 /* of memory.events; UINT64_MAX: not known yet */
	uint64_t stalled_us, stalled_ns; /* `some total`, when; 0: not known yet */
	uint64_t sample[PRESSURE_SAMPLES], sampled_ns;
	unsigned samples;
	uint64_t told; /* what it was about: bytes, or percent */
};

/* Settings of the texts SIZE/TIME and PERCENT%, or "off" (each may be NULL: as usual). 0; -EINVAL
 * with the reason. */
int pressure_parse(struct pressure_settings *settings, const char *growth, const char *stall,
		   struct err_text *err);

/* `root` is "" but in tests. */
void pressure_begin(struct pressure *pressure, const char *root, pid_t pid);
/* Has something happened? FLIGHT_NONE: no, or it is not yet time to look again. */
enum flight_cause pressure_look(struct pressure *pressure, const struct pressure_settings *settings,
				const char *root, uint64_t now_ns);
void pressure_end(struct pressure *pressure);
