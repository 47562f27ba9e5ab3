/* Separates fork children from their parent; see fork.h. */
#include "agent/preload/start/fork.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/preload/modules/loader.h"
#include "agent/preload/modules/modules.h"
#include "agent/preload/record/reach.h"
#include "agent/preload/system/state.h"
#include "agent/preload/system/sys.h"

#include "agent/preload/poison.h"

/* libc identifies a library's handlers by this symbol. The compiler's start files would define it,
 * but this library does not link with them. */
extern const void *const __dso_handle HIDDEN;
const void *const __dso_handle = &__dso_handle;

static struct {
	/* Of this process or, in a child that has none yet, of its parent. */
	struct ring_header *ring;
	size_t size;
	struct agent_parent parent;
	bool watching; /* the handlers are registered */
	bool follow;   /* as in the terms, until this process forks into a child */
} fork_state;

/* Replaces the parent's ring by private memory, so that the writer of an interrupted hook continues
 * there. */
static void fork_part(void)
{
	if (fork_state.ring)
		sys_map(fork_state.ring, fork_state.size, PROT_READ | PROT_WRITE,
			MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	fork_state.ring = NULL;
}

/* Sums the events begun: those in the slices, and those settled since. A slice that is settled
 * meanwhile would count twice or not at all, so the sum is repeated. */
static uint64_t position(const struct ring_header *ring)
{
	const struct ring_slice *slices =
		(const struct ring_slice *)((uintptr_t)ring + (uintptr_t)ring->slices_offset);
	uint64_t settled, sum;

	for (int attempt = 0; attempt < 3; attempt++) {
		sum = settled = __atomic_load_n(&ring->settled, __ATOMIC_ACQUIRE);
		for (uint32_t i = 0; i < reach_slices(); i++)
			sum += __atomic_load_n(&slices[i].events, __ATOMIC_RELAXED) +
			       __atomic_load_n(&slices[i].not_sampled, __ATOMIC_RELAXED);
		if (settled == __atomic_load_n(&ring->settled, __ATOMIC_ACQUIRE))
			return sum;
	}
	return 0;
}

static void before_fork(void)
{
	if (!fork_state.follow)
		return;
	loader_hold();
	fork_state.parent.events = position(fork_state.ring);
}

static void after_fork(void)
{
	if (fork_state.follow)
		loader_release();
	fork_state.parent.events = 0; /* the next child may come from a raw clone */
}

static void in_child(void)
{
	fork_state.follow = false;
	fork_state.parent.unready = !modules_forked();
	fork_part();
}

void fork_watch(const struct agent_terms *terms)
{
	fork_state.ring = terms->ring;
	fork_state.size = (size_t)terms->ring->size;
	memcpy(fork_state.parent.stream, terms->ring->stream, RING_STREAM_ID_SIZE);
	fork_state.parent.events = 0;
	fork_state.parent.unready = false;
	fork_state.follow = terms->follow;
	if (!fork_state.watching)
		fork_state.watching = !pthread_atfork(before_fork, after_fork, in_child);
}

const struct agent_parent *fork_enter(void)
{
	if (fork_state.ring) /* not created by fork(), or no handler was registered */
		in_child();
	return &fork_state.parent;
}
