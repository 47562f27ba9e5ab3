/*
 * The common case of a capture: after a few plain steps the walk meets a frame of the thread's last
 * stack, and all frames farther out are unchanged. The algorithm is that of prefix.c, reduced so
 * that it fits into registers. Nothing permanent is written before this case is certain; in any
 * other case prefix.c repeats the walk from the start.
 *
 * The second implementation is worth its lines. With prefix.c alone, a stack of ten frames takes
 * 17.4 ns instead of 14.6 if only the innermost function has changed, and 32.0 instead of 24.3 if
 * three have; a stack of sixty frames takes 46.2 instead of 37.9 (x86-64, tests/bench/unwind.c).
 */
#include "agent/unwind/unwind.h"

#include "agent/unwind/prefix.h"
#include "agent/unwind/recall.h"
#include "agent/unwind/rows.h"
#include "agent/unwind/walk.h"
#include "agent/unwind/ban.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

struct fresh { /* a new frame */
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint64_t row;
};

struct state { /* the state of the walk, and its new frames */
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint64_t high;
	struct fresh *next;
	uint64_t *pcs;
};

/* Returns the canonical frame address, or 0 if this is not the common case. Checks only the end of
 * the stack: a plain row based on sp reads nothing below sp (compile.c), and sp is aligned. */
static ALWAYS_INLINE uint64_t frame_address(const struct state *s, uint32_t row)
{
	uint64_t cfa;

	if (__builtin_expect(row_type(row) == ROW_SP, 1)) {
		cfa = s->sp + row_cfa(row);
		return __builtin_expect(cfa <= s->high, 1) ? cfa : 0;
	}
	cfa = row_base(row, s->sp, s->fp) + row_cfa(row);
	if (__builtin_expect(row_type(row) != ROW_FP || cfa - s->sp > s->high - s->sp ||
				     cfa - row_lowest(row) < s->sp || (cfa & (ARCH_WORD - 1)),
			     0))
		return 0;
	return cfa;
}

/* Adds a new frame and steps to its caller. Returns false if this is not the common case. */
static ALWAYS_INLINE bool quick_step(struct state *s, const struct fresh *end, uint32_t row)
{
	uint64_t cfa = frame_address(s, row);

	if (__builtin_expect(!cfa || s->next == end, 0))
		return false;
	*s->next++ = (struct fresh){s->pc, s->sp, s->fp, row};
	*s->pcs++ = s->pc;
	s->pc = arch_load(cfa - row_ra(row));
	if (__builtin_expect(!s->pc, 0))
		return false;
	s->pc = arch_code_address(s->pc);
	s->fp = row_caller_fp(row, cfa, s->fp);
	s->sp = cfa;
	return true;
}

static ALWAYS_INLINE bool is_at(const struct state *s, const struct frame *known)
{
	return known->pc == s->pc && known->sp == s->sp &&
	       (__builtin_expect(!known->flags, 1) ||
		(known->flags == FRAME_NEEDS_FP && known->fp == s->fp));
}

/* Returns the end of the stack that contains `sp`, or 0 if it is not known. */
static ALWAYS_INLINE uint64_t region_end(const struct unwind_thread *thread, uint64_t sp)
{
	const struct region *region = thread->regions;

	if (__builtin_expect(sp < region->low || sp > region->until, 0)) {
		region++;
		if (sp < region->low || sp > region->until)
			return 0;
	}
	return region->high;
}

/* Walks until the trace is joined, and verifies it. Returns the frame of the trace that was joined,
 * or NULL in any other case. */
static ALWAYS_INLINE struct frame *quick_walk(struct unwind_thread *thread, struct state *s,
					      const struct fresh *end)
{
	struct frame *frames = thread->frames, *known = frames + thread->count, *changed;
	uint32_t differs;

	for (;;) {
		do {
			if (__builtin_expect(known == frames, 0))
				return NULL;
			known--;
		} while (known->sp < s->sp); /* skips frames that have returned */
		if (!is_at(s, known)) {
			known++;
			if (!quick_step(s, end, rows_get(thread, s->pc)))
				return NULL;
			continue;
		}
		differs = verify(thread->checks, known->checks);
		if (__builtin_expect(!differs, 1))
			return known;
		/* Up to the changed frame, everything is as remembered. */
		changed = frames + prefix_check_owner(thread, (int)(known - frames), differs);
		for (; known >= changed; known--)
			if (!quick_step(s, end, known->row))
				return NULL;
		known++;
	}
}

/* Puts the new frames, the last of which is the outermost, on top of frame `to` of the trace. */
static ARCH_HOT void quick_append(struct unwind_thread *thread, struct frame *to,
				  const struct fresh *first, const struct fresh *from)
{
	uint32_t number = to->checks;
	struct check *check = &thread->checks[number];
	bool needs = to->flags & FRAME_NEEDS_FP;
	uint64_t sp = to->sp, fp = to->fp;

	while (from-- > first) {
		uint32_t row = (uint32_t)from->row;

		if (__builtin_expect(needs && row_saves_fp(row), 0)) {
			unsigned count = row_fp_checks(row, sp, fp, check);

			check += count;
			number += count;
		}
		check->slot = sp - row_ra(row);
		check->value = arch_load(sp - row_ra(row));
		check++;
		number++;
		needs = row_type(row) == ROW_FP || (needs && row_keeps_fp(row));
		sp = from->sp;
		fp = from->fp;
		to++;
		to->pc = from->pc;
		to->sp = sp;
		to->fp = fp;
		to->row = row;
		to->checks = (uint16_t)number;
		to->flags = needs ? FRAME_NEEDS_FP : 0;
	}
}

/* Does all work before the first permanent write. Returns NULL if this is not the common case. */
static ARCH_HOT struct frame *quick(struct unwind_thread *thread, struct state *s,
				    const struct fresh *end)
{
	struct frame *join;

	s->high = region_end(thread, s->sp);
	if (__builtin_expect((s->sp & (ARCH_WORD - 1)) || !s->high, 0))
		return NULL;
	join = quick_walk(thread, s, end);
	if (__builtin_expect(
		    !join || join->checks + (1 + ROW_FP_CHECKS) * UNWIND_QUICK_MAX > CHECK_MAX ||
			    join + UNWIND_QUICK_MAX >= thread->frames + TRACK_MAX,
		    0))
		return NULL;
	return join;
}

struct unwind_quick unwind_quick(struct unwind_thread *thread, uint64_t pc, uint64_t sp,
				 uint64_t fp, uint32_t depth_limit, uint64_t *ret_pcs)
{
	struct fresh fresh[UNWIND_QUICK_MAX];
	struct state s = {.pc = pc, .sp = sp, .fp = fp, .next = fresh, .pcs = ret_pcs};
	struct frame *join;
	uint32_t kept, count;

	if (__builtin_expect(rows_state() != thread->state || thread->flags, 0))
		return (struct unwind_quick){0};
	join = quick(thread, &s, fresh + UNWIND_QUICK_MAX);
	if (__builtin_expect(!join, 0)) {
		thread->no_join = true;
		return (struct unwind_quick){0};
	}
	thread->vain = 0;
	kept = (uint32_t)(join - thread->frames) + 1;
	count = (uint32_t)(s.next - fresh);
	if (__builtin_expect(kept > thread->emitted || kept + count > depth_limit, 0))
		return (struct unwind_quick){0};
	quick_append(thread, join, fresh, s.next);
	thread->count = kept + count;
	thread->emitted = kept + count;
	return (struct unwind_quick){kept, count};
}

/* Does the same for a stack that is truncated or deep, or of which the consumer lacks a part. */
static bool quick_delta(struct unwind_thread *thread, const struct unwind_regs *regs,
			uint32_t depth_limit, struct unwind_delta *ret_delta)
{
	struct fresh fresh[UNWIND_QUICK_MAX];
	struct state s = {regs->pc, regs->sp, regs->fp, 0, fresh, thread->pcs};
	struct frame *join = quick(thread, &s, fresh + UNWIND_QUICK_MAX);
	uint32_t kept, count;

	if (!join)
		return false;
	kept = (uint32_t)(join - thread->frames) + 1;
	count = (uint32_t)(s.next - fresh);
	quick_append(thread, join, fresh, s.next);
	thread->count = kept + count;
	thread->counters.frames_walked += count;
	prefix_emit(thread, kept, kept + count, depth_limit, ret_delta);
	return true;
}

/*
 * To remember a stack costs half as much as to walk it. That is lost if the next stack has little
 * in common with it, as where a program goes up to its main loop and down another way between two
 * events. So after some such captures in a row the stack is walked in full and not remembered,
 * until captures are alike again.
 */
#define VAIN_MAX  16
#define VAIN_FULL 8 /* from here on */
#define VAIN_BACK 4 /* what one capture that is alike takes back */

static bool is_alike(const struct unwind_delta *delta)
{
	return delta->count <= 2 * delta->keep;
}

static void quick_judge(struct unwind_thread *thread, const struct unwind_delta *delta)
{
	if (is_alike(delta))
		thread->vain = thread->vain > VAIN_BACK ? thread->vain - VAIN_BACK : 0;
	else if (thread->vain < VAIN_MAX)
		thread->vain++;
}

/* Captures a stack that is expected to have little in common with the last one. */
static void capture_unlike(struct unwind_thread *thread, const struct unwind_regs *regs,
			   uint32_t limit, struct unwind_delta *ret_delta)
{
	uint32_t number = recall_find(thread, regs, limit);

	if (number) {
		*ret_delta = (struct unwind_delta){.depth = thread->saved[number - 1].depth,
						   .number = number};
		thread->emitted = 0;
		return;
	}
	walk_whole(thread, regs, limit, ret_delta);
	quick_judge(thread, ret_delta);
	if (is_alike(ret_delta) || ret_delta->flags ||
	    !recall_recurs(thread, ret_delta->pcs, ret_delta->depth))
		return;
	prefix_capture(thread, regs, limit, ret_delta); /* once more, for the checks */
	ret_delta->recurs = thread->count && !ret_delta->flags;
}

void unwind_capture(struct unwind_thread *thread, const struct unwind_regs *regs,
		    uint32_t depth_limit, struct unwind_delta *ret_delta)
{
	uint32_t limit = depth_clamp(depth_limit);
	bool no_join = thread->no_join;

	thread->no_join = false;
	rows_check_state(thread);
	if (regs->sp & (ARCH_WORD - 1)) {
		walk_whole(thread, regs, limit, ret_delta);
	} else if (thread->vain >= VAIN_FULL) {
		capture_unlike(thread, regs, limit, ret_delta);
	} else {
		if (no_join || !quick_delta(thread, regs, limit, ret_delta))
			prefix_capture(thread, regs, limit, ret_delta);
		quick_judge(thread, ret_delta);
	}
	thread->counters.captures++;
	thread->counters.truncated += ret_delta->flags & UNWIND_TRUNCATED;
	thread->counters.whole += !ret_delta->keep;
}
