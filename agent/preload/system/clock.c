/* Stamps that do not come from the counter; see clock.h. */
#include "agent/preload/system/clock.h"

#include "agent/preload/poison.h"

uint64_t stamp_otherwise(enum stamps stamps)
{
	struct ring_header *ring = __atomic_load_n(&shim_page.ring, __ATOMIC_RELAXED);

	if (stamps == STAMPS_SYSTEM)
		return sys_monotonic_ns();
	return ring ? __atomic_add_fetch(&ring->tick, 1, __ATOMIC_SEQ_CST) : 0;
}
