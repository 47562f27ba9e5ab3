/*
 * The functions of malloc's family that programs seldom call, compiled for size. hooks.c explains
 * how a hook is made.
 *
 * Functions that an allocator may lack behave correctly without it: settings are refused.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

#include "agent/preload/allocators/allocators.h"
#include "agent/preload/record/apart.h"
#include "agent/preload/record/often.h"
#include "agent/preload/system/bootstrap.h"
#include "agent/preload/modules/jit.h"
#include "agent/preload/modules/modules.h"
#include "agent/preload/system/next.h"
#include "agent/preload/record/note.h"
#include "agent/preload/record/operators.h"
#include "agent/preload/start/start.h"
#include "agent/preload/system/state.h"
#include "agent/preload/system/symbols.h"

#include "agent/preload/poison_io.h"

static RECORDED int posix_memalign_recorded(void **ret_p, size_t alignment, size_t size,
					    struct ring_header *ring)
{
	struct hook hook;
	int error;

	rare_enter(&hook, ring, FRAME);
	error = next.posix_memalign(ret_p, alignment, size);
	rare_allocation(&hook, KIND_POSIX_MEMALIGN, error ? NULL : *ret_p, size);
	return error;
}

EXPORT int posix_memalign(void **ret_p, size_t alignment, size_t size)
{
	struct ring_header *ring = shim_hook(GATE_OTHERS);

	return unlikely(ring) ? posix_memalign_recorded(ret_p, alignment, size, ring)
			      : next.posix_memalign(ret_p, alignment, size);
}

/* Functions that take no alignment get the size twice. */
typedef void *aligned_function(size_t alignment, size_t size);

static RECORDED void *aligned_recorded(size_t alignment, size_t size, aligned_function *function,
				       unsigned kind)
{
	struct ring_header *ring = shim_hook(GATE_OTHERS);
	struct hook hook;
	void *p;

	if (!ring) /* the gate was shut meanwhile */
		return function(alignment, size);
	rare_enter(&hook, ring, FRAME);
	p = function(alignment, size);
	rare_allocation(&hook, kind, p, size);
	return p;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return unlikely(shim_hook(GATE_OTHERS))
		       ? aligned_recorded(alignment, size, next.aligned_alloc, KIND_ALIGNED_ALLOC)
		       : next.aligned_alloc(alignment, size);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	return unlikely(shim_hook(GATE_OTHERS))
		       ? aligned_recorded(alignment, size, next.memalign, KIND_MEMALIGN)
		       : next.memalign(alignment, size);
}

EXPORT void *valloc(size_t size)
{
	return unlikely(shim_hook(GATE_OTHERS))
		       ? aligned_recorded(size, size, (aligned_function *)(void *)next.valloc,
					  KIND_VALLOC)
		       : next.valloc(size);
}

EXPORT void *pvalloc(size_t size)
{
	return unlikely(shim_hook(GATE_OTHERS))
		       ? aligned_recorded(size, size, (aligned_function *)(void *)next.pvalloc,
					  KIND_PVALLOC)
		       : next.pvalloc(size);
}

/* Settings and orders. */

static RECORDED int mallopt_recorded(int parameter, int value, struct ring_header *ring)
{
	struct hook hook;
	int result = next.mallopt(parameter, value);

	rare_enter(&hook, ring, FRAME);
	apart_note(&hook, KIND_MALLOPT, event_call_pack(parameter, result), (uint32_t)value);
	return result;
}

EXPORT int mallopt(int parameter, int value)
{
	struct ring_header *ring;

	start_resolved();
	ring = shim_hook(GATE_OTHERS);
	if (!next.mallopt)
		return 0;
	return ring ? mallopt_recorded(parameter, value, ring) : next.mallopt(parameter, value);
}

static RECORDED int malloc_trim_recorded(size_t keep, struct ring_header *ring)
{
	struct hook hook;
	int result = next.malloc_trim(keep);

	rare_enter(&hook, ring, FRAME);
	apart_note(&hook, KIND_MALLOC_TRIM, event_call_pack(0, result), keep);
	return result;
}

EXPORT int malloc_trim(size_t keep)
{
	struct ring_header *ring;

	start_resolved();
	ring = shim_hook(GATE_OTHERS);
	if (!next.malloc_trim)
		return 0;
	return ring ? malloc_trim_recorded(keep, ring) : next.malloc_trim(keep);
}

/* Unloaded modules. */

/* During a dlclose the unwinder trusts none of its cached rows: destructors run, and the code that
 * they call is unmapped next. */
static int close_watched(void *handle)
{
	bool seen = false;
	int result;

	unwind_suspend_cache();
	result = next.dlclose(handle);
	if (!tls.frame) {
		guard_set(FRAME);
		seen = modules_refresh();
		guard_clear();
	}
	/* When a new module takes the place of an unloaded one, the library looks up the new
	 * address, and then notices the unloaded module. */
	if (!seen)
		unwind_modules_changed();
	unwind_resume_cache();
	return result;
}

EXPORT int dlclose(void *handle)
{
	int result;

	start_resolved();
	if (!next.dlclose)
		next.dlclose = (int (*)(void *))symbols_find("dlclose", &next);
	result = shim_ring() ? close_watched(handle) : next.dlclose(handle);
	operators_forget();
	allocators_forget();
	jit_forget();
	return result;
}
