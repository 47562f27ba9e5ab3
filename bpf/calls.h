#pragma once
/*
 * The calls that a thread has in flight, one inside the other: realloc within reallocarray, the
 * memalign of a posix_memalign. Only the outermost is the program's; what an allocator calls of
 * itself is not. A call is known by its frame (bpf/site.h).
 *
 * A call that was left without an exit, by longjmp or an exception, stays here until the thread
 * calls again from a frame that is not inside of it (frames of what is called lie below its
 * caller's, and not far), or its return address is not there any more.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "bpf/arch.h"
#include "bpf/events.h"
#include "bpf/site.h"

#define CALLS_NEAR (64u << 10) /* an allocator uses no more stack than this */

/* The compiler must not know that the index is in bounds, or it leaves out what the verifier wants
 * to see. */
ARCH_INLINE struct capture_call *calls_at(struct capture_thread *thread, uint32_t index)
{
	__asm__ volatile("" : "+r"(index));
	return &thread->call[index % CAPTURE_CALLS];
}

/*
 * Can it still be under way? Then its return address is where it was, or the kernel's address for
 * returns that are probed: the begin of a page. Where it was left, others have written there,
 * sooner or later.
 */
ARCH_INLINE bool calls_stands(const struct capture_call *call)
{
	uint64_t there = 0;

	if (site_flags(call->word) & SITE_LINK ||
	    bpf_probe_read_user(&there, sizeof(there), (void *)call->frame))
		return true;
	return there == call->pc || (there && !(there & (CAPTURE_PAGE - 1)));
}

/* Is a call from `frame` made by the one in flight? One with the very same frame has handed on to
 * it, by a jump. */
ARCH_INLINE bool calls_holds(const struct capture_call *call, uint64_t word, uint64_t frame)
{
	if (call->frame == frame)
		return site_own(call->word) != site_own(word) &&
		       !(site_flags(call->word) & SITE_THROWS);
	return call->frame > frame && call->frame - frame < CALLS_NEAR;
}

/* of user addresses: 2^47 on x86-64, 2^48 on AArch64, less on MIPS64 */
#define CALLS_BLOCK_MAX (1ull << 48)

/* An allocation that nobody can tell the result of is counted as lost. No block is larger than what
 * a program can address. */
ARCH_INLINE void calls_unanswered(struct capture_thread *thread, uint64_t size)
{
	thread->produced++;
	thread->unanswered++;
	if (size < CALLS_BLOCK_MAX)
		thread->unanswered_bytes += size;
}

/*
 * The program's own call was left: whether it gave a block nobody can say. But if it may throw it
 * most likely has, and is a call that failed.
 */
ARCH_INLINE void calls_leave(struct capture_thread *thread, bool counted)
{
	const struct capture_call *call = calls_at(thread, 0);

	if (counted && !(site_flags(call->word) & (SITE_THROWS | SITE_FOLLOWED)))
		calls_unanswered(thread, call->size);
}

/* Drops those that have been left. What is in flight then is around this call. */
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

/* Room for a call; NULL: there is none, and it is inside of so many others that it is not the
 * program's. */
ARCH_INLINE struct capture_call *calls_push(struct capture_thread *thread)
{
	uint32_t depth = thread->depth;

	if (depth >= CAPTURE_CALLS)
		return NULL;
	thread->depth = depth + 1;
	return calls_at(thread, depth);
}

/*
 * The call that returns from `frame`; NULL: it was entered before we came, or it is not the
 * program's. `at_site`: a return instruction, which several functions may end at (they have jumped
 * to where it is); those that have a return probe end in that. There another call may end that has
 * come by no site, and stands where one was left: its return address tells.
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
