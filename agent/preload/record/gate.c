/* Shut gates; see gate.h. It is for speed: it runs at each event of a program that is not recorded
 * now. */
#include "agent/preload/record/gate.h"

#include <stddef.h>

#include "agent/preload/record/thread.h"
#include "agent/preload/record/wait.h"

#include "agent/preload/poison.h"

/* A signal's handler may fork in between: in the child the gate stays as the kernel has wiped
 * it. */
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

/* `control` is read before the orders are. An allocator that calls itself by name is not passed
 * over unguarded, if what it calls is to be told from the program's own. */
struct ring_header *shim_look(enum gate gate)
{
	struct ring_header *ring = __atomic_load_n(&shim_page.ring, __ATOMIC_ACQUIRE);
	uint32_t control;

	if (unlikely(!ring && __atomic_load_n(&shim.waits, __ATOMIC_ACQUIRE)) && !wait_event())
		return NULL;
	if (unlikely(!ring))
		return open_gate(gate);
	control = thread_control(ring);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (unlikely((gate == GATE_ALL || shim.nests) && gate_any_on_record()))
		return open_gate(gate);
	if (likely(control == __atomic_load_n(&shim.shut, __ATOMIC_RELAXED)))
		return NULL;
	if (!gate_off(ring))
		return open_gate(gate);
	__atomic_store_n(&shim.shut, control, __ATOMIC_RELAXED);
	return NULL;
}
