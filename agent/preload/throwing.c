/*
 * What an exception of the allocator may pass: its operator new throws. So this is compiled with tables of call frames on all processors
 * (CMakeLists.txt). operators.c says what else there is to an operator.
 */
#include "agent/preload/operators.h"

#include "agent/preload/apart.h"
#include "agent/preload/note.h"
#include "agent/preload/state.h"

#include "agent/preload/poison.h"

/*
 * Called by the C++ runtime when an exception passes new_recorded, as the personality routine of
 * that function. (A cleanup in the language of the compiler would need libgcc_s.) The hook ends
 * here; what was put aside in it becomes records.
 */
enum { UNWIND_CLEANUP_PHASE = 2, UNWIND_CONTINUE = 8 };

__attribute__((used)) int operators_unwound(int version, int actions, uint64_t class,
					    void *exception, void *context)
{
	struct hook hook = {.thread = tls.thread,
			    .frame = tls.frame,
			    .kind = tls.thread ? HOOK_RECORD : HOOK_LOST};

	(void)version;
	(void)class;
	(void)exception;
	(void)context;
	if ((actions & UNWIND_CLEANUP_PHASE) && tls.frame && tls.frame == tls.throwing)
		hook_leave_slow(&hook);
	return UNWIND_CONTINUE;
}

void *new_recorded(size_t size, uintptr_t a, uintptr_t b, unsigned form)
{
	struct ring_header *ring = shim_hook(DOOR_ALLOCATIONS);
	struct hook hook;
	void *p;

	ARCH_PERSONALITY("operators_unwound");
	if (unlikely(!ring)) /* since we looked */
		return operators[form].next(size, a, b);
	often_enter(&hook, ring, FRAME);
	hook_may_throw(&hook);
	p = operators[form].next(size, a, b);
	hook_has_not_thrown(&hook);
	often_allocation(&hook, KIND_NEW + (form & 1), p, size);
	return p;
}
