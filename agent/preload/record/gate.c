/* Handles shut gates; see gate.h. This code is optimised for speed: it runs at each event of a
 * program while that program is not recorded. */
#include "agent/preload/record/gate.h"

#include <stddef.h>

#include "agent/preload/record/thread.h"
#include "agent/preload/record/ask_again.h"

#include "agent/preload/poison.h"

/* Opens a gate. A signal handler may fork between the two stores; in the child the gate must stay
 * as the kernel has wiped it. */
static __attribute__((noinline, cold)) struct ring_header *open_gate(enum gate gate)
{
	struct ring_header *ring = shim_ring();

	if (!ring)
		return NULL;
	__atomic_store_n(&shim_page.gate[gate], ring, __ATOMIC_RELEASE);
	barrier();
	if (likely(__atomic_load_n(&shim_page.ring, __ATOMIC_RELAXED) == ring))
		return ring;
	gate_shut(gate);
	return NULL;
}

/* `control` is read before the orders. If the allocator calls itself by name, its gate opens while
 * blocks are on record, because only the guard tells its own calls from the program's. */
struct ring_header *shim_look(enum gate gate)
{
	struct ring_header *ring = __atomic_load_n(&shim_page.ring, __ATOMIC_ACQUIRE);
	uint32_t control;

	if (unlikely(!ring && __atomic_load_n(&shim.waits, __ATOMIC_ACQUIRE)) && !ask_again_event())
		return NULL;
	if (unlikely(!ring))
		return open_gate(gate);
	control = thread_control(ring);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (unlikely((gate == GATE_OTHERS || shim.nests) && gate_any_on_record()))
		return open_gate(gate);
	if (likely(control == __atomic_load_n(&shim.shut, __ATOMIC_RELAXED)))
		return NULL;
	if (!gate_off(ring))
		return open_gate(gate);
	__atomic_store_n(&shim.shut, control, __ATOMIC_RELAXED);
	return NULL;
}
