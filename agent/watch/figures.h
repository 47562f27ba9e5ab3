#pragma once
/*
 * The process as the kernel counts it: message Figures, from /proc/PID/{status,stat,smaps_rollup}.
 * Everything is opened through a descriptor of /proc/PID, which names this process even when its
 * number is somebody else's. Nothing allocates.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/watch/smaps.h"

/* What is looked at, and how often. */
struct observer_settings {
	uint64_t figures_ns; /* interval; 0: none */
	uint64_t maps_ns;    /* 0: none */
	bool allocator;
};

struct figures {
	uint64_t time_ns;
	uint64_t rss, rss_peak, pss, anonymous, swap, address_space, dirty, clean; /* bytes */
	uint64_t minor_faults, major_faults;
	bool detailed;
};

/* Two addresses that the kernel chose at the last exec: an image of a process has both until it
 * ends. */
struct figures_image {
	uint64_t stack, arguments;
};

/* A descriptor of /proc/PID; negative errno. */
int figures_open(pid_t pid);
/* What costs little. `time_ns` is the caller's. 0; -ESRCH: the process is gone, or has no memory
 * any more; another negative errno: it may not be looked at. `start_ticks` (may be NULL): as in
 * struct target_info. */
int figures_read(int proc, struct figures *ret_figures, struct figures_image *ret_image,
		 uint64_t *ret_start_ticks);
/* What needs a walk through its pages: pss, dirty and clean, and the exact rss and anonymous, where
 * the quick ones lag behind by up to 64 pages a thread. 0 or a negative errno; -ENOENT: this kernel
 * does not tell. */
int figures_detail(int proc, struct smaps *reader, struct figures *figures);
/* Has it waited for a child of its own? Also of a zombie. What can't be known: yes. */
bool figures_waited(pid_t pid);
/* Opens smaps, or maps where the kernel has no smaps. A descriptor or a negative errno. */
int figures_open_maps(int proc);
