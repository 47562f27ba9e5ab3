/*
 * Preloaded into an agent: its wall clock is set an hour forward and back again every 110 ms, and
 * after 600 ms the machine has slept for 90 s: CLOCK_BOOTTIME says so. What no such thing touches,
 * CLOCK_MONOTONIC and the processor's counter, is real. (A machine that others work on can't have
 * its clock set; a real one steps in no other way.)
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "wall_clock.h"

#define STEP_NS	 110000000 /* batches come every 250 to 300 ms: not in step with these */
#define SLEEP_AT 600000000
#define HOUR_S	 3600
#define SLEPT_S	 90

static uint64_t now_ns(void)
{
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	static uint64_t start;
	uint64_t since;
	int r = (int)syscall(SYS_clock_gettime, id, t);

	if (!start)
		start = now_ns();
	since = now_ns() - start;
	if (r || (id != CLOCK_REALTIME && id != CLOCK_BOOTTIME))
		return r;
	if (id == CLOCK_REALTIME)
		t->tv_sec += since / STEP_NS % 2 ? HOUR_S : -HOUR_S;
	else if (since > SLEEP_AT)
		t->tv_sec += SLEPT_S;
	return 0;
}
