/*
 * Programs that make code at run time tell the unwinder of exceptions about it. We listen, and pass on what they say to whom
 * they said it.
 *
 * What is registered is an array of entries for libgcc, and a single one for LLVM's libunwind: which of the two the program
 * has is told by a function that only LLVM's has (as LLVM's own compilers find out). Both may lie in the scope of one plugin
 * only, so they are looked for in every library; without dlsym, whose failures the program would see in dlerror.
 */
#include "agent/preload/note.h"
#include "agent/preload/start.h"
#include "agent/preload/state.h"
#include "agent/preload/symbols.h"
#include "agent/unwind/unwind.h"

#include "agent/preload/poison_io.h"

typedef void frame_function(void *begin);

frame_function __register_frame, __deregister_frame;

static void pass_on(const char *name, void *begin)
{
	frame_function *behind = (frame_function *)symbols_find(name, &shim);

	if (behind)
		behind(begin);
}

EXPORT void __register_frame(void *begin)
{
	start_resolved();
	pass_on("__register_frame", begin);
	if (shim_ring())
		unwind_register_frame(begin, symbols_find("__unw_add_dynamic_fde", &shim));
}

EXPORT void __deregister_frame(void *begin)
{
	unwind_deregister_frame(begin);
	pass_on("__deregister_frame", begin);
}
