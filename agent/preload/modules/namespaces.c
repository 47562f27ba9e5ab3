/*
 * A namespace of the loader's own (dlmopen) has a libc of its own, with a malloc of its own, which
 * we do not stand in front of: it is counted, so that nobody takes the recording for all that the
 * program has allocated. glibc only.
 *
 * The call is a jump: whose RUNPATH holds is told by who calls dlmopen.
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
	if (unlikely(!next.dlmopen)) /* before glibc 2.34 it is in a library that may come later */
		next.dlmopen = (void *(*)(Lmid_t, const char *, int))symbols_find("dlmopen", &next);
	return next.dlmopen ? next.dlmopen(space, path, mode) : NULL;
}
