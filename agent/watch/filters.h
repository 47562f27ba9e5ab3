#pragma once
/*
 * Seccomp filters of a recorded process, as /proc shows them. A program that forbids itself system
 * calls tells its ring before, if it does so by a function of libc (agent/preload/record/strict.h).
 * One that does it by an instruction of its own does not: so its threads are looked at once a
 * second. Nothing allocates.
 */
#include <stdbool.h>
#include <stdint.h>

struct filters {
	uint32_t count; /* of the thread that has the most. Before Linux 5.9 they are not counted: 1
			 */
	bool strict;	/* some thread is in mode strict */
};

/* `proc`: of /proc/PID. `at`: 0 in the beginning; where the next look goes on: each is at some
 * sixty threads. 0 or a negative errno. */
int filters_read(int proc, uint64_t *at, struct filters *ret_filters);
