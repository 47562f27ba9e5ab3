/*
 * Hooks that an exception of the allocator may pass through: its operator new throws, and so do
 * tc_new and mi_new. This file is therefore compiled with unwind tables on all processors
 * (CMakeLists.txt). operators.c and allocators.c have the rest of these hooks.
 */
#include "agent/preload/record/operators.h"

#include "agent/allocator_functions.h"
#include "agent/preload/allocators/allocators_call.h"
#include "agent/preload/record/often.h"
#include "agent/preload/record/note.h"
#include "agent/preload/system/state.h"

#include "agent/preload/poison.h"

/*
 * The C++ runtime calls this as the personality routine of new_recorded and allocators_serve when
 * an exception passes through them. (A cleanup in the compiler's language would need libgcc_s.) The
 * hook ends here; events that were put aside in it become records.
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
	struct ring_header *ring = shim_hook(GATE_ALLOCATIONS);
	struct hook hook;
	void *p;

	ARCH_PERSONALITY("operators_unwound");
	if (unlikely(!ring)) /* the gate was shut meanwhile */
		return operators[form].next(size, a, b);
	often_enter(&hook, ring, FRAME);
	hook_may_throw(&hook);
	p = operators[form].next(size, a, b);
	hook_has_not_thrown(&hook);
	often_allocation(&hook, KIND_NEW + (form & 1), p, size);
	return p;
}

static bool is_birth(unsigned shape)
{
	return shape != SHAPE_MOVE_AB && shape != SHAPE_MOVE_OR_END && shape != SHAPE_MOVE_ABC &&
	       shape != SHAPE_RESIZE && shape != SHAPE_END;
}

uintptr_t allocators_serve(struct call *call, struct ring_header *ring, uintptr_t frame)
{
	const uintptr_t *words = &call->word[call->f->heap];
	uintptr_t result, p, size;

	ARCH_PERSONALITY("operators_unwound");
	rare_enter(&call->hook, ring, frame);
	if (!is_birth(call->f->shape))
		return allocators_other(call, words);
	hook_may_throw(&call->hook);
	result = call_next(call);
	hook_has_not_thrown(&call->hook);
	size = allocators_size(call, result, words, &p);
	rare_allocation(&call->hook, call->f->kind, (void *)p, size);
	return result;
}

uintptr_t allocators_recorded(WORDS, unsigned number FRAME_GIVEN)
{
	struct call call = {&allocators_bound[number], {ARGUMENTS}, {0}};
	struct ring_header *ring = shim_hook(GATE_OTHERS);

#ifndef ARCH_THUNKS_CALL
	uintptr_t frame = FRAME;
#endif

	return likely(ring) ? allocators_serve(&call, ring, frame) : call_next(&call);
}
