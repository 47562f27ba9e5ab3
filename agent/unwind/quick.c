/*
 * The common case of a capture: a few frames are new, all of their rows are plain, the walk joins
 * the trace, and all behind the join holds. The algorithm is that of prefix.c with everything else
 * left out, so that it fits into registers. Nothing that lasts is written before it is certain that
 * this is the case; if it is not, the walk is done again from the start by prefix.c.
 */
#include "agent/unwind/unwind.h"

#include "agent/unwind/prefix.h"
#include "agent/unwind/rows.h"
#include "agent/unwind/walk.h"
#include "agent/unwind/ban.h"

#define NO_JOIN	  (-1)
#define QUICK_MAX 12

struct quick { /* a new frame */
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint64_t row;
};

struct state { /* where the walk is, and how many new frames it has met */
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint64_t high;
	uint32_t count;
};

/* A new frame, and the step to its caller. false: not of the common case. */
static inline __attribute__((always_inline)) bool quick_step(struct state *s, struct quick *fresh,
							     uint32_t row)
{
	uint64_t cfa = (row_type(row) == ROW_SP ? s->sp : s->fp) + row_cfa(row);
	uint64_t saved = cfa - row_fp(row);

	if (__builtin_expect(!row_is_plain(row) || s->count == QUICK_MAX ||
				     cfa - s->sp > s->high - s->sp || saved < s->sp || (cfa & 7),
			     0))
		return false;
	fresh[s->count++] = (struct quick){s->pc, s->sp, s->fp, row};
	s->pc = load(cfa + ARCH_RA_OFFSET);
	if (__builtin_expect(!s->pc, 0))
		return false;
	s->pc = arch_code_address(s->pc);
	saved = load(saved);
	s->fp = row_keeps_fp(row) ? s->fp : saved;
	s->sp = cfa;
	return true;
}

static inline bool is_at(const struct state *s, const struct frame *known)
{
	return known->pc == s->pc && known->sp == s->sp && !(known->flags & FRAME_INTERRUPTED) &&
	       (!(known->flags & FRAME_NEEDS_FP) || known->fp == s->fp);
}

/* Walks until the trace is joined, and verifies it. The new frames go to `fresh`, their number to
 * `ret_count`. The frame of the trace that was joined; NO_JOIN: another case. */
static inline __attribute__((always_inline)) int quick_walk(struct unwind_thread *thread,
							    const struct unwind_regs *regs,
							    struct quick *fresh,
							    uint32_t *ret_count)
{
	struct state s = {.pc = regs->pc, .sp = regs->sp, .fp = regs->fp};
	const struct frame *frames = thread->frames, *known = frames + thread->count, *changed;
	const struct region *region = thread->regions;
	uint32_t differs;

	if (__builtin_expect(s.sp < region->low || s.sp > region->until, 0)) {
		region++;
		if (s.sp < region->low || s.sp > region->until)
			return NO_JOIN;
	}
	s.high = region->high;
	for (;;) {
		do {
			if (__builtin_expect(known == frames, 0))
				return NO_JOIN;
			known--;
		} while (known->sp < s.sp); /* frames that have returned */
		if (!is_at(&s, known)) {
			known++;
			if (!quick_step(&s, fresh, rows_get(thread, s.pc)))
				return NO_JOIN;
			continue;
		}
		differs = verify(thread->checks, known->checks);
		if (__builtin_expect(!differs, 1))
			break;
		/* Up to the frame that has changed, all is as remembered. */
		changed = frames + prefix_check_owner(thread, (int)(known - frames), differs);
		for (; known >= changed; known--)
			if (!quick_step(&s, fresh, known->row))
				return NO_JOIN;
		known = changed;
	}
	*ret_count = s.count;
	return (int)(known - frames);
}

/* Puts the new frames on top of frame `join` of the trace. */
static inline __attribute__((always_inline)) void
quick_append(struct unwind_thread *thread, int join, const struct quick *fresh, uint32_t count)
{
	struct frame *to = &thread->frames[join];
	struct check *check = &thread->checks[to->checks];
	bool needs = to->flags & FRAME_NEEDS_FP;
	uint64_t sp = to->sp, fp = to->fp;
	uint64_t *pcs = thread->pcs + count;

	for (const struct quick *from = fresh + count; from-- > fresh;) {
		uint32_t row = (uint32_t)from->row;

		if (__builtin_expect(needs && !row_keeps_fp(row), 0))
			*check++ = (struct check){sp - row_fp(row), fp};
		check->slot = sp + ARCH_RA_OFFSET;
		check->value = load(sp + ARCH_RA_OFFSET);
		check++;
		needs = row_type(row) == ROW_FP || (needs && row_keeps_fp(row));
		sp = from->sp;
		fp = from->fp;
		to++;
		*--pcs = from->pc;
		to->pc = from->pc;
		to->sp = sp;
		to->fp = fp;
		to->row = row;
		to->checks = (uint16_t)(check - thread->checks);
		to->flags = needs ? FRAME_NEEDS_FP : 0;
	}
}

static inline __attribute__((always_inline)) bool quick(struct unwind_thread *thread,
							const struct unwind_regs *regs,
							uint32_t depth_limit,
							struct unwind_delta *ret_delta)
{
	struct quick fresh[QUICK_MAX];
	uint32_t count, kept, total;
	int join = quick_walk(thread, regs, fresh, &count);

	if (__builtin_expect(join == NO_JOIN, 0))
		return false;
	kept = (uint32_t)join + 1;
	total = kept + count;
	if (__builtin_expect(thread->frames[join].checks + 2 * QUICK_MAX > CHECK_MAX ||
				     total > TRACK_MAX,
			     0))
		return false;
	quick_append(thread, join, fresh, count);
	thread->count = total;
	thread->counters.frames_walked += count;
	if (__builtin_expect(kept > thread->emitted || total > depth_limit, 0)) {
		prefix_emit(thread, kept, total, depth_limit, ret_delta);
		return true;
	}
	thread->emitted = total;
	ret_delta->keep = kept;
	ret_delta->count = count;
	ret_delta->pcs = thread->pcs;
	ret_delta->depth = total;
	ret_delta->flags = thread->flags;
	return true;
}

void unwind_capture(struct unwind_thread *thread, const struct unwind_regs *regs,
		    uint32_t depth_limit, struct unwind_delta *ret_delta)
{
	uint32_t limit = depth_clamp(depth_limit);

	rows_check_state(thread);
	thread->counters.captures++;
	if (__builtin_expect(regs->sp & 7, 0))
		walk_whole(thread, regs, limit, ret_delta);
	else if (__builtin_expect(!quick(thread, regs, limit, ret_delta), 0))
		prefix_capture(thread, regs, limit, ret_delta);
	if (__builtin_expect((ret_delta->flags & UNWIND_TRUNCATED) || !ret_delta->keep, 0)) {
		thread->counters.truncated += ret_delta->flags & UNWIND_TRUNCATED;
		thread->counters.whole += !ret_delta->keep;
	}
}
