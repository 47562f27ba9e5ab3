/* Asks the agent again; see ask_again.h. */
#include "agent/preload/record/ask_again.h"

#include <errno.h>
#include <time.h>

#include "agent/preload/system/sys.h"

#include "agent/preload/poison.h"

#define FIRST_MS 500
#define MOST_MS	 60000

static uint64_t coarse_ns(void)
{
	struct timespec now;
	int saved = errno;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	errno = saved;
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Sets the time of this process's next attempt. A fork child has another pid than `waits`, so it
 * does not ask and stays unrecorded. */
void ask_again_begin(void)
{
	uint32_t process = (uint32_t)sys_call(SYS_getpid);
	bool first = shim.waits != process;

	shim.wait_ms = first ? FIRST_MS : shim.wait_ms * 2 < MOST_MS ? shim.wait_ms * 2 : MOST_MS;
	if (first)
		shim.before = 0;
	__atomic_store_n(&shim.ask_ns, coarse_ns() + shim.wait_ms * UINT64_C(1000000),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&shim.waits, process, __ATOMIC_RELEASE);
	__atomic_store_n(&shim.attention, 1, __ATOMIC_RELEASE);
}

void ask_again_end(void)
{
	__atomic_store_n(&shim.waits, 0, __ATOMIC_RELEASE);
}

bool ask_again_due(void)
{
	return coarse_ns() >= __atomic_load_n(&shim.ask_ns, __ATOMIC_RELAXED);
}

bool ask_again_event(void)
{
	__atomic_fetch_add(&shim.before, 1, __ATOMIC_RELAXED);
	return ask_again_due();
}
