/*
 * Programs that make code at run time tell the unwinder of exceptions about it. We listen, and pass
 * on what they say to whom they said it.
 *
 * What is registered is an array of entries for libgcc, and a single one for LLVM's libunwind:
 * which of the two the program has is told by a function that only LLVM's has (as LLVM's own
 * compilers find out). Both may lie in the scope of one plugin only, so they are looked for in
 * every library; without dlsym, whose failures the program would see in dlerror.
 *
 * The loader is asked once, and after a dlclose once more. Where it did not have them at the start
 * that waits for its lock: tables that are not passed on would end the program with its first
 * exception.
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
