/*
 * Numbered stacks, for threads whose stacks change completely from event to event, but recur: a
 * parser, an interpreter, a server's handlers. There the verified prefix never joins, and each
 * event would cost a full walk and all its frames.
 *
 * A number stands for what the prefix knows of a stack (prefix.c): the state of the innermost
 * frame, and every slot that the walk from there has read, in order. If a new walk begins in that
 * state and all slots hold what they held, it would read the same slots and give the same stack. So
 * the stack is known without a walk, by the same proof, and the consumer needs nothing but the
 * number.
 *
 *   event    malloc at A   free at B   malloc at A           malloc at A
 *   sent     whole stack   whole stack whole stack, "is 0"   0
 *
 * A stack gets a number when it is captured for the second time in a while. Numbers of stacks that
 * were not used for long go to others, but only as fast as numbers pay.
 */
#include "agent/unwind/recall.h"

#include <string.h>

#include "agent/unwind/prefix.h"
#include "agent/unwind/ban.h"

/* What a number costs is a second walk, and what the consumer does for it. Each use of a number
 * pays for a part of that; so does time, a little, because a program may begin something new. */
#define CREDIT_MAX   (8 * UNWIND_SAVED_MAX)
#define CREDIT_SAVE  8
#define CREDIT_EVERY 64 /* captures without a number, on average */

#define HASH UINT64_C(0x9e3779b97f4a7c15)

static inline uint8_t *recall_chain(struct unwind_thread *thread, uint64_t pc, uint64_t sp)
{
	return &thread->saved_chain[((pc ^ sp << 20) * HASH >> 32) % SAVED_CHAINS];
}

uint32_t recall_find(struct unwind_thread *thread, const struct unwind_regs *regs,
		     uint32_t depth_limit)
{
	uint32_t number = *recall_chain(thread, regs->pc, regs->sp);

	for (; number; number = thread->saved[number - 1].next) {
		struct saved *saved = &thread->saved[number - 1];

		if (saved->pc != regs->pc || saved->sp != regs->sp ||
		    (saved->needs_fp && saved->fp != regs->fp) || saved->depth > depth_limit)
			continue;
		if (verify(thread->saved_checks[number - 1], saved->checks))
			continue;
		saved->used = true;
		if (thread->saved_credit < 0)
			thread->saved_credit++;
		return number;
	}
	return 0;
}

bool recall_recurs(struct unwind_thread *thread, const uint64_t *pcs, uint32_t depth)
{
	uint64_t hash = depth;
	uint32_t *seen;

	for (uint32_t i = 0; i < depth; i++)
		hash += pcs[i] * (2 * (uint64_t)i + 1);
	hash *= HASH;
	seen = &thread->seen[hash >> 32 & (SEEN_STACKS - 1)];
	if (!(hash >> 40 & (CREDIT_EVERY - 1)) && thread->saved_credit < 0)
		thread->saved_credit++;
	if (*seen != (uint32_t)hash) {
		/* Of two that take turns in one place, one must stay there for a while. Which of
		 * them is left to chance: stacks that recur may do so in any rhythm. */
		thread->seen_random = thread->seen_random * 1664525 + 1013904223;
		if (!*seen || thread->seen_random >> 31)
			*seen = (uint32_t)hash;
		return false;
	}
	if (thread->saved_credit < CREDIT_SAVE - CREDIT_MAX)
		return false;
	thread->saved_credit -= CREDIT_SAVE;
	return true;
}

/* Takes a number out of its chain. */
static void recall_unlink(struct unwind_thread *thread, uint32_t number)
{
	const struct saved *saved = &thread->saved[number];
	uint8_t *link = recall_chain(thread, saved->pc, saved->sp);

	while (*link != number + 1)
		link = &thread->saved[*link - 1].next;
	*link = saved->next;
}

/* Returns the number that is to be replaced: the next one that was not used since the last look at
 * it. */
static uint32_t recall_oldest(struct unwind_thread *thread)
{
	for (;;) {
		struct saved *saved = &thread->saved[thread->saved_next];

		if (!saved->used)
			return thread->saved_next;
		saved->used = false;
		thread->saved_next = (thread->saved_next + 1) % UNWIND_SAVED_MAX;
	}
}

static void recall_put(struct unwind_thread *thread, uint32_t number, const struct frame *innermost,
		       uint32_t depth)
{
	struct check *checks = thread->saved_checks[number];
	struct saved *saved = &thread->saved[number];
	uint8_t *chain = recall_chain(thread, innermost->pc, innermost->sp);

	memcpy(checks, thread->checks, innermost->checks * sizeof(*checks));
	checks[0] = (struct check){.slot = (uintptr_t)&checks[0].slot, .value = 0};
	*saved = (struct saved){
		.pc = innermost->pc,
		.sp = innermost->sp,
		.fp = innermost->fp,
		.checks = innermost->checks,
		.depth = (uint16_t)depth,
		.next = *chain,
		.needs_fp = innermost->flags & FRAME_NEEDS_FP,
		.used = true,
	};
	*chain = (uint8_t)(number + 1);
	thread->saved_frames += depth;
}

uint32_t unwind_save(struct unwind_thread *thread, uint32_t frames_max)
{
	const uint32_t depth = thread->count;
	const struct frame *innermost = &thread->frames[depth ? depth - 1 : 0];
	uint32_t number = thread->saved_count, frames = thread->saved_frames;
	bool replaces = number == UNWIND_SAVED_MAX;

	/* The stack was remembered only for this. */
	thread->count = 0;
	if (!depth || thread->flags || innermost->checks > SAVED_CHECKS ||
	    innermost->flags & FRAME_INTERRUPTED)
		return 0;
	if (replaces) {
		number = recall_oldest(thread);
		frames -= thread->saved[number].depth;
	}
	if (frames + depth > frames_max)
		return 0;
	if (replaces)
		recall_unlink(thread, number);
	thread->saved_count += !replaces;
	thread->saved_frames = frames;
	recall_put(thread, number, innermost, depth);
	return number + 1;
}

uint32_t unwind_saved_frames(const struct unwind_thread *thread)
{
	return thread->saved_frames;
}
