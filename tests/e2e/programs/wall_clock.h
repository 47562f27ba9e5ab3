#pragma once
/* The other calls that tell the time of the day, by the clock_gettime of the library that is
 * preloaded: its source defines that, and includes this. */
#include <sys/time.h>
#include <time.h>

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
