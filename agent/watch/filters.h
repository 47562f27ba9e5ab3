#pragma once
/*
 * Reads the seccomp filters of a recorded process from /proc. A program that installs a filter
 * through a libc function reports it in its ring (agent/preload/record/strict.h). A program that
 * makes the system call itself does not, so the observer looks at its threads once a second.
 * Nothing allocates.
 */
#include <stdbool.h>
#include <stdint.h>

struct filters {
	/* Largest number of filters of any thread. Before Linux 5.9 the kernel does not report the
	 * number; it then is 1. */
	uint32_t count;
	bool strict; /* some thread is in strict mode */
};

/* Reads about sixty threads. `proc` is a descriptor of /proc/PID. Set *at to 0 before the first
 * call; the next call continues there. Returns 0 or a negative errno. */
int filters_read(int proc, uint64_t *at, struct filters *ret_filters);
