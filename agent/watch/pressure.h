#pragma once
/*
 * Watches the memory of a recorded program from outside; the caller triggers the flight recorder.
 * It asks the kernel a few times a second, with the rights of the agent's user:
 *
 *   resident    /proc/PID/statm: above a size, or grown by a size within a time
 *   its cgroup  Version 2: memory.current against memory.max, and `high` in memory.events (the
 *               kernel throttled it at memory.high). Version 1: memory.usage_in_bytes against
 *               memory.limit_in_bytes. The files are those of the program's cgroup, or of the
 *               nearest ancestor with a limit. Memory that the kernel can reclaim at once
 *               (inactive_file in memory.stat) does not count as used.
 *   pressure    `some total` in memory.pressure of the cgroup, or in /proc/pressure/memory: how
 *               long tasks waited for memory
 *
 * A condition that stays true is reported once. It must become false, by a margin of 5 %, before it
 * is reported again. After a report, all conditions stay silent for a while. Only the cgroup's
 * folder stays open. Only the search for the cgroup allocates memory.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PRESSURE_LOOK_NS 200000000
#define PRESSURE_SAMPLES 32

struct err_text;

/* A condition that has become true. */
enum pressure_news {
	PRESSURE_NONE,
	PRESSURE_RSS,
	PRESSURE_GROWTH,
	PRESSURE_STALL, /* the kernel reports that tasks wait for memory */
	PRESSURE_LIMIT, /* the cgroup is near its limit, or was throttled at memory.high */
};

struct pressure_settings {
	uint64_t rss_bytes;    /* 0: off */
	uint64_t growth_bytes; /* within growth_ns; 0: off */
	uint64_t growth_ns;
	/* Percent of a second. 0: neither the pressure nor the cgroup is watched. */
	unsigned stall_percent;
	uint64_t pause_ns; /* silence after a report */
};

struct pressure {
	pid_t pid;  /* 0: no process is watched */
	int folder; /* descriptor of the cgroup's folder; -1: none is known */
	bool version_2;
	uint64_t cgroup;	       /* hash of /proc/PID/cgroup */
	uint64_t looked_ns, sought_ns; /* CLOCK_MONOTONIC */
	uint64_t silent_ns;	       /* no report before this time */
	bool over_rss, over_limit;
	uint64_t high;			 /* of memory.events; UINT64_MAX: unknown yet */
	uint64_t stalled_us, stalled_ns; /* `some total`, and when it was read; 0: not yet */
	uint64_t sample[PRESSURE_SAMPLES], sampled_ns;
	unsigned samples;
	uint64_t told; /* value for the report: bytes, percent, or the count `high` */
};

/* Parses the texts SIZE/TIME and PERCENT%, or "off". A NULL or empty text keeps the default.
 * Returns 0, or -EINVAL with the reason. */
int pressure_parse(struct pressure_settings *settings, const char *growth, const char *stall,
		   struct err_text *err);

/* Begins to watch the process. `root` is "" except in tests. */
void pressure_begin(struct pressure *pressure, const char *root, pid_t pid);
/* Returns the condition that has become true, or PRESSURE_NONE. Calls before it is time to look
 * again return PRESSURE_NONE. */
enum pressure_news pressure_look(struct pressure *pressure,
				 const struct pressure_settings *settings, const char *root,
				 uint64_t now_ns);
void pressure_end(struct pressure *pressure);
