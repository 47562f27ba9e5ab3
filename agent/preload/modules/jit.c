/*
 * Programs that generate code at run time register unwind tables for it with the unwinder of
 * exceptions. The library interposes the registration, and passes it on to that unwinder.
 *
 * For libgcc a registered object is an array of entries, for LLVM's libunwind a single entry. A
 * function that exists only in LLVM's libunwind tells the two apart; LLVM's own compilers use the
 * same test. Either unwinder may be visible to a single plugin only, so the library looks in all
 * modules. It does not use dlsym, because a failed dlsym would change the result of the program's
 * dlerror.
 *
 * The library asks the loader once, and again after each dlclose. If the functions were missing at
 * the start, the later lookup waits for the loader's lock: a table that is not passed on would end
 * the program at its first exception.
 */
#include "agent/preload/modules/jit.h"

#include <stddef.h>

#include "agent/preload/record/note.h"
#include "agent/preload/start/start.h"
#include "agent/preload/system/state.h"
#include "agent/preload/system/symbols.h"
#include "agent/unwind/unwind.h"

#include "agent/preload/poison_io.h"

typedef void frame_function(void *begin);

frame_function __register_frame, __deregister_frame;

/* `begin` is stored last. */
static struct {
	frame_function *begin;
	frame_function *end;
	bool single;
} listeners;

void jit_resolve(void)
{
	frame_function *begin = (frame_function *)symbols_find("__register_frame", &shim);

	if (!begin)
		return;
	listeners.end = (frame_function *)symbols_find("__deregister_frame", &shim);
	listeners.single = symbols_find("__unw_add_dynamic_fde", &shim);
	__atomic_store_n(&listeners.begin, begin, __ATOMIC_RELEASE);
}

void jit_forget(void)
{
	__atomic_store_n(&listeners.begin, NULL, __ATOMIC_RELEASE);
}

static bool listen(void)
{
	if (!__atomic_load_n(&listeners.begin, __ATOMIC_ACQUIRE))
		jit_resolve();
	return __atomic_load_n(&listeners.begin, __ATOMIC_ACQUIRE);
}

EXPORT void __register_frame(void *begin)
{
	frame_function *behind;

	start_resolved();
	behind = listen() ? listeners.begin : NULL;
	if (behind)
		behind(begin);
	if (shim_ring())
		unwind_register_frame(begin, listeners.single);
}

EXPORT void __deregister_frame(void *begin)
{
	frame_function *behind;

	unwind_deregister_frame(begin);
	behind = listen() ? listeners.end : NULL;
	if (behind)
		behind(begin);
}
