#pragma once
/*
 * Reads the kernel's figures about a process (message Figures) from
 * /proc/PID/{status,stat,smaps_rollup}, relative to a descriptor of /proc/PID (base/proc/file.h).
 * Nothing allocates.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/proc/maps.h"

/* The intervals at which the observer reads. */
struct observer_settings {
	uint64_t figures_ns; /* interval; 0: off */
	uint64_t maps_ns;    /* interval; 0: off */
	bool allocator;
};

struct figures {
	uint64_t time_ns;
	uint64_t rss, rss_peak, pss, anonymous, swap, address_space, dirty,
		clean; /* all in bytes */
	uint64_t minor_faults, major_faults;
	bool detailed;
};

/* Tells whether nothing has changed but the time. */
bool figures_same(const struct figures *a, const struct figures *b);

/* Two addresses that the kernel chose at the last exec. They stay the same until the next exec, so
 * they identify the image of a process. */
struct figures_image {
	uint64_t stack, arguments;
};

/* Reads the cheap figures; the caller sets `time_ns`. `ret_start_ticks` (may be NULL) is as in
 * struct target_info. Returns 0, -ESRCH if the process is gone or has no memory any more, or
 * another negative errno if the agent may not read it. */
int figures_read(int proc, struct figures *ret_figures, struct figures_image *ret_image,
		 uint64_t *ret_start_ticks);
/* Reads the figures for which the kernel walks the page tables: pss, dirty and clean, and the exact
 * rss and anonymous. The quick counters of rss and anonymous lag behind by up to 64 pages per
 * thread. Returns 0, -ENOENT if this kernel has no smaps_rollup, or another negative errno. */
int figures_detail(int proc, struct proc_maps *reader, struct figures *figures);
/* Returns true if the process has waited for a child of its own, or if that is unknown. Works for
 * zombies, too. */
bool figures_waited(pid_t pid);
/* Opens smaps, or maps if the kernel has no smaps. Returns a descriptor or a negative errno. */
int figures_open_maps(int proc);
