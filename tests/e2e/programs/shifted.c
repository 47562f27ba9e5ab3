/*
 * Preloaded into a collector: its wall clock is ahead by SHIFTED_S seconds (less than 0: behind), from
 * the start. Its coarse monotonic clock, by which it measures minutes, runs SHIFTED_SPEED times as
 * fast.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

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

int gettimeofday(struct timeval *restrict value, void *restrict zone)
{
	struct timespec t;
	int r = clock_gettime(CLOCK_REALTIME, &t);

	(void)zone;
	*value = (struct timeval){.tv_sec = t.tv_sec, .tv_usec = t.tv_nsec / 1000};
	return r;
}

time_t time(time_t *to)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (to)
		*to = t.tv_sec;
	return t.tv_sec;
}
