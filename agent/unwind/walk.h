#pragma once
/*
 * A walk: steps from a state (pc, sp, fp) to the caller's state, again and again. Every step is a
 * pure function of the state and of the slots that it reads; the verified prefix (prefix.c) relies
 * on that.
 *
 * Stack memory is read only by stack_read, or by the plain step below after the same checks: the
 * address is aligned, not below sp (by more than a red zone), and below the end of the stack that
 * contains sp. If the host does not know this end, the walk asks it how far memory is readable, up
 * to the address that a step wants to read. An unreadable page ends the stack. If the step was
 * right, the answer is kept with the stack, which reaches at least that far while it is in use. A
 * guessed or wrong step may read beyond the stack's end, where another thread may unmap the memory
 * next. After interrupted code whose row came from scanning code, the walk therefore asks for
 * nothing and stays in the page of its sp: the answer could be stale by the time of the read.
 */
#include "agent/unwind/rows.h"
#include "agent/unwind/thread.h"

enum step {
	STEP_FRAME,	      /* the caller was found */
	STEP_END,	      /* this was the outermost frame */
	STEP_BROKEN,	      /* the stack makes no sense from here on */
	STEP_NEEDS_REGISTERS, /* the step needs more registers than sp and fp: registers.h */
};

#define READS_MAX 8
struct reads { /* what a step has read, in order */
	struct check list[READS_MAX];
	uint32_t count;
	bool overflow;
};

struct walk {
	struct unwind_thread *thread;
	struct region *region; /* the stack that the walk is in */
	uint64_t high;
	bool bounded;	     /* `high` is the stack's end, not just the end of the memory that
			      * was found readable */
	bool unsure;	     /* the walk passed interrupted code whose row came from scanning:
			      * results are not cached */
	struct reads *reads; /* NULL: not wanted */
};

/* Finds the region that contains `sp`, and asks the host if necessary. */
struct region *region_find(struct unwind_thread *thread, uint64_t sp);

/* Sets the walk's region to the one that contains `sp`. After all frames of a stack, sp points one
 * past its end, and still belongs to the stack. */
static inline void walk_enter(struct walk *w, uint64_t sp)
{
	struct region *region = &w->thread->regions[0];

	if (__builtin_expect(sp < region->low || sp > region->until, 0))
		region = region_find(w->thread, sp);
	w->region = region;
	w->high = region->high;
	w->bounded = region->known;
}

/* Continues the walk at `sp`, to which a step has led. Sets the walk's region anew if `sp` is not
 * in the part that the walk knows, because later steps are checked only against the end of this
 * part. Returns false if no stack can be there: in the first page, addresses below sp wrap around.
 */
static inline bool walk_follow(struct walk *w, uint64_t sp)
{
	if (sp > w->high || sp < w->region->low)
		walk_enter(w, sp);
	return sp >= 4096;
}

/* True if all memory that a step reads, up to `end`, is readable. If that is not known, asks the
 * host about the memory from w->high on, and moves w->high. For a frame so large that asking at
 * each event would slow the program down, asks only from `begin` on; the walk must then enter the
 * caller's sp anew. */
bool walk_reach(struct walk *w, uint64_t begin, uint64_t end);

/* Keeps w->high as the stack's extent after a step that was right, unless the walk is unsure. */
static inline void walk_keep(struct walk *w)
{
	if (!w->unsure && w->high > w->region->high)
		w->region->high = w->region->until = w->high;
}

/* Continues the walk at interrupted code, which may be on another stack. If the code has no table
 * and is scanned, the result is sometimes wrong without any sign of it, for example at the first
 * instruction of the last part of makecontext. */
void walk_interrupted(struct walk *w, const struct frame *frame);

/* Returns the end of the memory that is certainly readable if only sp is known to be valid. */
static inline uint64_t walk_page_end(uint64_t sp)
{
	return ((sp - 1) | 4095) + 1; /* a page, or a part of one, on any processor */
}

/* True if the step by this row follows tables, or scanned code on processors where most code has no
 * tables. Other steps may be wrong and find a word that looks like the outermost frame: a 0, or the
 * address of a function. */
static inline bool row_is_certain(uint32_t row)
{
	return !row_is(row, ROW_FRAME_POINTER) && !row_is(row, ROW_SCANNED);
}

/* Reads a word of the stack at `address`, for a frame whose stack pointer is `sp`. Returns 0 or
 * -EFAULT. */
int stack_read(struct walk *w, uint64_t sp, uint64_t address, uint64_t *ret_value);

/* Returns a frame's row. A plain row that came from scanning code is valid only for a return
 * address. The caches are therefore not used for interrupted code, whose pc is one byte further on,
 * as if a call ended there. */
static ARCH_HOT uint32_t walk_row(struct unwind_thread *thread, const struct frame *frame)
{
	if (__builtin_expect(frame->flags & FRAME_INTERRUPTED, 0))
		return rows_interrupted(thread, frame->pc - (1u << ARCH_PC_SHIFT));
	return rows_get(thread, frame->pc);
}

/* Steps by a row that is not plain, or by a plain one that leads beyond the known part of the stack
 * or makes no sense. */
enum step step_special(struct walk *w, const struct frame *frame, struct frame *outer);

/* Steps from `frame`, whose row is set, to its caller: sets pc, sp, fp and flags of `outer`. Both
 * may be the same object. */
static ARCH_HOT enum step step(struct walk *w, const struct frame *frame, struct frame *outer)
{
	uint32_t row = frame->row;
	uint64_t sp = frame->sp, fp = frame->fp, cfa = row_base(row, sp, fp) + row_cfa(row), pc;

	if (__builtin_expect(!row_is_plain(row) || cfa - sp > w->high - sp ||
				     cfa - row_lowest(row) < sp || (cfa & (ARCH_WORD - 1)),
			     0)) {
		struct frame copy = *frame; /* so that the members of *frame can stay in
					     * registers */
		enum step result = step_special(w, &copy, &copy);

		*outer = copy;
		return result;
	}
	pc = arch_load(cfa - row_ra(row));
	outer->fp = row_caller_fp(row, cfa, fp);
	outer->pc = arch_code_address(pc);
	outer->sp = cfa;
	outer->flags = 0;
	return __builtin_expect(!pc, 0) ? STEP_END : STEP_FRAME;
}

static inline uint32_t depth_clamp(uint32_t depth_limit)
{
	if (depth_limit < 1)
		return 1;
	return depth_limit < UNWIND_MAX_DEPTH ? depth_limit : UNWIND_MAX_DEPTH;
}

/* Walks the whole stack and remembers nothing. prefix.c falls back to it for stacks that it does
 * not remember. */
void walk_whole(struct unwind_thread *thread, const struct unwind_regs *regs, uint32_t depth_limit,
		struct unwind_delta *ret_delta);

/* The output of a full walk: the outermost `limit` of all pushed program counters. A comparison
 * with the consumer's last stack (the first `emitted` program counters of thread->frames) finds the
 * part that the consumer already has. */
struct sink {
	struct unwind_thread *thread;
	uint32_t limit;
	uint32_t held;
	uint32_t total;
};

void sink_push(struct sink *sink, uint64_t pc);
void sink_finish(struct sink *sink, uint32_t flags, struct unwind_delta *ret_delta);
