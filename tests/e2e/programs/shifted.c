/*
 * Preloaded into a collector: its wall clock is ahead by SHIFTED_S seconds (less than 0: behind),
 * from the start. Its coarse monotonic clock, by which it measures minutes, runs SHIFTED_SPEED
 * times as fast.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "wall_clock.h"

static time_t shift_s, speed = 1;

__attribute__((constructor)) static void shift_begin(void)
{
	const char *text = getenv("SHIFTED_S");

	shift_s = text ? (time_t)strtoll(text, NULL, 10) : 0;
	text = getenv("SHIFTED_SPEED");
	speed = text ? (time_t)strtoll(text, NULL, 10) : 1;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	int r = (int)syscall(SYS_clock_gettime, id, t);

	if (!r && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		t->tv_sec += shift_s;
	if (!r && id == CLOCK_MONOTONIC_COARSE && speed > 1)
		t->tv_sec = t->tv_sec * speed + t->tv_nsec * speed / 1000000000;
	return r;
}
