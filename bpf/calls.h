#pragma once
/*
 * The stack of calls that a thread has in flight, such as realloc inside reallocarray, or memalign
 * inside posix_memalign. Only the outermost call is the program's; the allocator's own calls are
 * not recorded. A call is identified by its frame (bpf/site.h).
 *
 * A call that ended without an exit, by longjmp or an exception, stays here until the thread calls
 * again from a frame that is not inside of it, or until its return address has been overwritten. (A
 * callee's frame lies below its caller's, and not far.)
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "bpf/arch.h"
#include "bpf/events.h"
#include "bpf/site.h"

#define CALLS_NEAR (64u << 10) /* an allocator uses no more stack than this */

/* The barrier hides from the compiler that the index is in bounds; otherwise it removes the check
 * that the verifier needs. */
ARCH_INLINE struct capture_call *calls_at(struct capture_thread *thread, uint32_t index)
{
	__asm__ volatile("" : "+r"(index));
	return &thread->call[index % CAPTURE_CALLS];
}

/*
 * True if the call may still be in flight: its return address is unchanged, or is the kernel's
 * address for probed returns, which starts a page. After the call has ended, the slot is
 * overwritten sooner or later.
 */
ARCH_INLINE bool calls_stands(const struct capture_call *call)
{
	uint64_t there = 0;

	if (site_flags(call->word) & SITE_LINK ||
	    bpf_probe_read_user(&there, sizeof(there), (void *)call->frame))
		return true;
	return there == call->pc || (there && !(there & (CAPTURE_PAGE - 1)));
}

/* True if the call in flight has made a call from `frame`. If both have the same frame, the outer
 * function has jumped to the inner one. */
ARCH_INLINE bool calls_holds(const struct capture_call *call, uint64_t word, uint64_t frame)
{
	if (call->frame == frame)
		return site_own(call->word) != site_own(word) &&
		       !(site_flags(call->word) & SITE_THROWS);
	return call->frame > frame && call->frame - frame < CALLS_NEAR;
}

/* the end of user addresses: 2^47 on x86-64, 2^48 on AArch64, less on MIPS64 */
#define CALLS_BLOCK_MAX (1ull << 48)

/* Counts an allocation with an unknown result as lost. Its size is ignored if it exceeds the
 * address space. */
ARCH_INLINE void calls_unanswered(struct capture_thread *thread, uint64_t size)
{
	thread->produced++;
	thread->unanswered++;
	if (size < CALLS_BLOCK_MAX)
		thread->unanswered_bytes += size;
}

/*
 * Counts the program's own call that ended without an exit. It is not known whether the call
 * returned a block. If the function may throw, it most likely has thrown, and the call counts as
 * failed.
 */
ARCH_INLINE void calls_leave(struct capture_thread *thread, bool counted)
{
	const struct capture_call *call = calls_at(thread, 0);

	if (counted && !(site_flags(call->word) & (SITE_THROWS | SITE_FOLLOWED)))
		calls_unanswered(thread, call->size);
}

/* Drops calls that have ended without an exit. The remaining calls enclose this one. */
ARCH_INLINE void calls_enter(struct capture_thread *thread, uint64_t word, uint64_t frame,
			     bool counted)
{
	uint32_t depth = thread->depth;

	if (!depth)
		return;
	if (!calls_stands(calls_at(thread, 0)))
		depth = 0;
	for (uint32_t i = 0; i < CAPTURE_CALLS; i++) {
		if (!depth || calls_holds(calls_at(thread, depth - 1), word, frame))
			break;
		depth--;
	}
	thread->left += thread->depth - depth;
	thread->depth = depth;
	if (!depth)
		calls_leave(thread, counted);
}

/* Returns room for a call, or NULL if there is none. Such a call is nested so deeply that it is not
 * the program's. */
ARCH_INLINE struct capture_call *calls_push(struct capture_thread *thread)
{
	uint32_t depth = thread->depth;

	if (depth >= CAPTURE_CALLS)
		return NULL;
	thread->depth = depth + 1;
	return calls_at(thread, depth);
}

/*
 * Returns the call that returns from `frame`, or NULL if the call was entered before the probes
 * were set or is not the program's. `at_site` means that the probe is at a return instruction.
 * Several functions may end there by jumping to it; functions with a return probe end in that probe
 * instead. A call that passed no site may also end there, with the same frame as a call that ended
 * without an exit; the return address tells the two apart.
 */
ARCH_INLINE struct capture_call *calls_pop(struct capture_thread *thread, uint64_t frame,
					   bool at_site, bool counted)
{
	uint32_t depth = thread->depth;
	struct capture_call *call = NULL;

	if (!depth)
		return NULL;

	for (uint32_t i = 0; i < CAPTURE_CALLS; i++) {
		if (!depth)
			break;
		call = calls_at(thread, depth - 1);
		if (call->frame > frame || (call->frame == frame && at_site &&
					    !(site_flags(call->word) & SITE_HAS_EXITS))) {
			call = NULL;
			break;
		}
		depth--;
		if (call->frame == frame)
			break;
		thread->left++;
		call = NULL;
	}
	thread->depth = depth;
	if (call && depth) {
		thread->inner++;
		return NULL;
	}
	if (!depth && (!call || (at_site && !calls_stands(call)))) {
		thread->left += call != NULL;
		calls_leave(thread, counted);
		return NULL;
	}
	return call;
}
