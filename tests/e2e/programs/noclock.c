/* For agent and collector: a machine whose clock was never set. OpenSSL and our own checks of dates ask time(). */
#include <stdint.h>
#include <time.h>

time_t time(time_t *ret)
{
	struct timespec up;

	clock_gettime(CLOCK_MONOTONIC, &up);
	up.tv_sec %= 86400;
	if ((uintptr_t)ret)
		*ret = up.tv_sec;
	return up.tv_sec;
}
