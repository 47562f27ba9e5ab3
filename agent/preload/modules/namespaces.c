/*
 * A new namespace of the loader (dlmopen) has its own libc with its own malloc, which this library
 * does not interpose. Such namespaces are counted, so that users do not take the recording for
 * complete. glibc only.
 *
 * The call to the next dlmopen is a jump, because the loader chooses the RUNPATH by the caller of
 * dlmopen.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "agent/preload/system/next.h"
#include "agent/preload/record/note.h"
#include "agent/preload/start/start.h"
#include "agent/preload/system/state.h"
#include "agent/preload/system/symbols.h"

#include "agent/preload/poison_io.h"

EXPORT void *dlmopen(Lmid_t space, const char *path, int mode)
{
	struct ring_header *ring;

	start_resolved();
	ring = shim_ring();
	if (space == LM_ID_NEWLM && ring)
		__atomic_fetch_add(&ring->namespaces, 1, __ATOMIC_RELAXED);
	/* Before glibc 2.34 it is in libdl, which may be loaded later. */
	if (unlikely(!next.dlmopen))
		next.dlmopen = (void *(*)(Lmid_t, const char *, int))symbols_find("dlmopen", &next);
	return next.dlmopen ? next.dlmopen(space, path, mode) : NULL;
}
