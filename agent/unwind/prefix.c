/*
 * The verified prefix.
 *
 * The thread's trace holds the states of its last walk and every slot that this walk has read, in
 * order. The new walk begins at the new innermost frame. When it reaches a state in the trace, it
 * re-reads the slots that were read from there outwards, in the same order, and stops at the first
 * that differs:
 *
 *   all equal        the rest of the walk would give the rest of the trace: done ("join")
 *   slot of frame x  frames up to x are as in the trace; the walk continues from x and may join
 *                    farther out
 *
 * Invariants: a slot is read only after those that led to it have matched, so this walk reads no
 * address that a full walk would not read. The caller's fp is compared only if a frame farther out
 * depends on it (FRAME_NEEDS_FP).
 *
 * A full walk (walk.c), the only way without a trace, takes 53 ns for ten frames and 313 ns for
 * sixty. A walk that joins at once takes 12 and 25 ns (x86-64, tests/bench/unwind.c). A full walk
 * at every event would therefore be too slow.
 */
#include "agent/unwind/prefix.h"

#include "agent/unwind/registers.h"
#include "agent/unwind/ban.h"

#define NO_JOIN (-1)

static inline uint32_t prefix_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Tells whether the walk can join at this frame. Interrupted code may still have its return address
 * in a register, which the trace does not verify, so the walk joins farther out. */
static bool same_state(const struct frame *known, const struct frame *now)
{
	if (ARCH_LINK && now->flags & FRAME_INTERRUPTED)
		return false;
	return known->sp == now->sp && known->pc == now->pc &&
	       !((known->flags ^ now->flags) & FRAME_INTERRUPTED) &&
	       (!(known->flags & FRAME_NEEDS_FP) || known->fp == now->fp);
}

int prefix_check_owner(const struct unwind_thread *thread, int top, uint32_t check)
{
	int low = 0;

	while (low < top) {
		int middle = (low + top) / 2;

		if (thread->frames[middle].checks > check)
			top = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* True if the walk from a frame outwards depends on its fp. `outer_needs` says whether the walk
 * from its caller does. */
static bool needs_fp(uint32_t row, bool outer_needs)
{
	if (row_is_plain(row))
		return row_type(row) == ROW_FP || (row_keeps_fp(row) && outer_needs);
	switch (row_kind(row)) {
	case ROW_END:
	case ROW_BAD:
	case ROW_SIGNAL:
		return false;
	case ROW_PLT:
	case ROW_LINK:
		return outer_needs;
	case ROW_DEREF_SP:
		return !(row_argument(row) >> 15) && outer_needs;
	default:
		return true;
	}
}

/* Copies member by member: a wide load of members that were just written separately would stall
 * (failed store forwarding). */
static ARCH_HOT void put_frame(struct frame *to, const struct frame *frame)
{
	to->pc = frame->pc;
	to->sp = frame->sp;
	to->fp = frame->fp;
	to->row = frame->row;
	to->flags = frame->flags;
	if (ARCH_LINK)
		to->link[0] = frame->link[0];
}

struct commit {
	struct walk *w;
	uint32_t count;	 /* frames in the trace */
	uint32_t checks; /* their checks, plus 1 */
	bool tracked;	 /* the checks contain all reads */
	bool cut;	 /* the stack is truncated: no step leads on from the outermost frame */
};

static inline void add_check(struct commit *c, uint64_t slot, uint64_t value)
{
	if (__builtin_expect(c->checks < CHECK_MAX, 1))
		c->w->thread->checks[c->checks++] = (struct check){slot, value};
	else
		c->tracked = false;
}

static inline void add_fp_checks(struct commit *c, uint32_t row, const struct frame *outer)
{
	struct check checks[ROW_FP_CHECKS];
	unsigned count = row_fp_checks(row, outer->sp, outer->fp, checks);

	for (unsigned i = 0; i < count; i++)
		add_check(c, checks[i].slot, checks[i].value);
}

/* Adds a check of the last step. On a truncated stack this step may have read beyond the stack's
 * end, where memory may be unmapped by the time the checks are re-read. The stack is then not
 * remembered. */
static void add_last_check(struct commit *c, const struct frame *frame, const struct check *check)
{
	if (c->cut && !c->w->bounded && check->slot >= walk_page_end(frame->sp))
		c->tracked = false;
	else
		add_check(c, check->slot, check->value);
}

/* Finds the reads of a step by repeating the step. Stores them in reverse order, because checks are
 * verified from the last to the first. */
static __attribute__((noinline)) void add_special_checks(struct commit *c,
							 const struct frame *frame, bool last)
{
	struct reads reads = {.count = 0};
	struct frame outer;

	c->w->reads = &reads;
	step_special(c->w, frame, &outer);
	c->w->reads = NULL;
	while (reads.count--)
		if (last)
			add_last_check(c, frame, &reads.list[reads.count]);
		else
			add_check(c, reads.list[reads.count].slot, reads.list[reads.count].value);
	if (reads.overflow)
		c->tracked = false;
}

/* Adds the checks of the outermost frame. The step from it led nowhere, but the slot that it read
 * (a return address of 0) must stay unchanged. */
static void add_root_checks(struct commit *c, const struct frame *frame)
{
	uint64_t cfa = row_base(frame->row, frame->sp, frame->fp) + row_cfa(frame->row);
	struct check check = {.slot = cfa - row_ra(frame->row)};

	walk_enter(c->w, frame->sp);
	if (!stack_read(c->w, frame->sp, check.slot, &check.value))
		add_last_check(c, frame, &check);
}

static ARCH_HOT void append(struct commit *c, const struct frame *frame)
{
	struct frame *to = &c->w->thread->frames[c->count];
	const struct frame *outer = c->count ? to - 1 : NULL;
	bool outer_needs = outer && outer->flags & FRAME_NEEDS_FP;
	uint32_t row = frame->row;

	if (ARCH_SCAN && c->w->unsure) {
		c->tracked = false;
	} else if (__builtin_expect(!row_is_plain(row), 0)) {
		add_special_checks(c, frame, !outer);
	} else if (__builtin_expect(!outer, 0)) {
		add_root_checks(c, frame);
	} else {
		if (outer_needs && row_saves_fp(row))
			add_fp_checks(c, row, outer);
		add_check(c, outer->sp - row_ra(row), arch_load(outer->sp - row_ra(row)));
	}
	to->pc = frame->pc;
	to->sp = frame->sp;
	to->fp = frame->fp;
	to->row = row;
	to->checks = (uint16_t)c->checks;
	to->flags = (uint16_t)((frame->flags & FRAME_INTERRUPTED) |
			       (needs_fp(row, outer_needs) ? FRAME_NEEDS_FP : 0));
	c->count++;
}

void prefix_emit(struct unwind_thread *thread, uint32_t kept, uint32_t total, uint32_t depth_limit,
		 struct unwind_delta *ret_delta)
{
	uint32_t depth = prefix_least(total, depth_limit);
	uint32_t keep = prefix_least(prefix_least(kept, thread->emitted), depth),
		 changed = depth - keep;

	for (uint32_t i = 0; i < changed; i++)
		thread->pcs[i] = thread->frames[depth - 1 - i].pc;
	thread->emitted = depth;
	ret_delta->keep = keep;
	ret_delta->count = changed;
	ret_delta->pcs = thread->pcs;
	ret_delta->depth = depth;
	ret_delta->flags = thread->flags | (total > depth_limit ? UNWIND_DEPTH_LIMIT : 0);
	ret_delta->number = 0;
	ret_delta->recurs = false;
}

/* Updates the trace and computes the delta after the walk has joined the trace at frame `join`, or
 * ended. */
static void prefix_finish(struct walk *w, int join, uint32_t fresh, uint32_t depth_limit,
			  uint32_t flags, struct unwind_delta *ret_delta)
{
	struct unwind_thread *thread = w->thread;
	struct commit c = {.w = w,
			   .count = (uint32_t)(join + 1),
			   .tracked = true,
			   .cut = flags & UNWIND_TRUNCATED};
	uint32_t kept = c.count, total = kept + fresh;

	if (__builtin_expect(thread->unknown, 0))
		thread->unknown = c.tracked = false;
	c.checks = kept ? thread->frames[join].checks : 1;
	for (uint32_t i = fresh; i-- > 0;)
		append(&c, &thread->pending[i]);
	thread->flags = flags;
	thread->counters.frames_walked += fresh;
	prefix_emit(thread, kept, total, depth_limit, ret_delta);
	thread->count = c.tracked ? total : 0;
}

/* Copies the frames `from` to `to` (not included) of the trace, which are still valid, with their
 * current fp. The walk continues at `to`. */
static uint32_t replay(struct walk *w, int from, int to, struct frame *frame, uint32_t fresh)
{
	struct unwind_thread *thread = w->thread;

	for (int i = from; i > to && fresh < TRACK_MAX; i--) {
		frame->row = thread->frames[i].row;
		put_frame(&thread->pending[fresh++], frame);
		if (step(w, frame, frame) != STEP_FRAME)
			return TRACK_MAX;
	}
	return fresh;
}

void prefix_capture(struct unwind_thread *thread, const struct unwind_regs *regs,
		    uint32_t depth_limit, struct unwind_delta *ret_delta)
{
	struct walk w = {.thread = thread};
	struct frame frame = {.pc = regs->pc, .sp = regs->sp, .fp = regs->fp};
	const struct frame *frames = thread->frames;
	int candidate = (int)thread->count - 1;
	uint32_t fresh = 0;
	enum step result;

	walk_enter(&w, frame.sp);
	for (;;) {
		while (candidate >= 0 && frames[candidate].sp < frame.sp)
			candidate--; /* skips frames that have returned */
		if (candidate >= 0 && same_state(&frames[candidate], &frame)) {
			uint32_t differs = verify(thread->checks, frames[candidate].checks);
			int changed;

			if (!differs) {
				prefix_finish(&w, candidate, fresh, depth_limit, thread->flags,
					      ret_delta);
				return;
			}
			changed = prefix_check_owner(thread, candidate, differs);
			fresh = replay(&w, candidate, changed, &frame, fresh);
			candidate = changed - 1;
		}
		if (fresh >= TRACK_MAX)
			break;
		frame.row = walk_row(thread, &frame);
		if (row_is(frame.row, ROW_BAD) && fresh) {
			prefix_finish(&w, NO_JOIN, fresh, depth_limit, UNWIND_TRUNCATED, ret_delta);
			return;
		}
		put_frame(&thread->pending[fresh++], &frame);
		result = step(&w, &frame, &frame);
		if (ARCH_SCAN && __builtin_expect(w.unsure, 0))
			candidate = NO_JOIN; /* a full walk would not reach the rest of the trace */
		if (result == STEP_FRAME)
			continue;
		if (result == STEP_NEEDS_REGISTERS)
			break;
		prefix_finish(&w, NO_JOIN, fresh, depth_limit,
			      result == STEP_END ? 0 : UNWIND_TRUNCATED, ret_delta);
		return;
	}
	walk_whole(thread, regs, depth_limit, ret_delta);
}
