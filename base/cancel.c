/* Cancellation of long work. cancel.h describes the interface. */
#include "base/cancel.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

#include "base/ban.h"

uint64_t cancel_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int cancel_check(const struct cancel *cancel)
{
	if (!cancel)
		return 0;
	if (cancel->asked && *cancel->asked)
		return -ECANCELED;
	return cancel->deadline_ns && cancel_clock_ns() > cancel->deadline_ns ? -ETIME : 0;
}
