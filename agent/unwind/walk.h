#pragma once
/*
 * A walk: from a state (pc, sp, fp) to the caller's state, again and again. Every step is a pure
 * function of the state and of the slots that it reads; the verified prefix (prefix.c) rests on
 * that.
 *
 * Memory of the stack is read only by stack_read, or by the plain step below after the same checks:
 * aligned, not below sp (by more than a red zone), and below the end of the stack that sp lies in.
 * Where the host can't tell that end it is asked how far memory can be read, as far as a step wants
 * to go: a page that can't be ends the stack. The answer is kept with the stack where the step was
 * right, for then the stack reaches so far as long as it is in use. A step that is in the dark, or
 * wrong, may have gone beyond the stack's end, to what is unmapped next. A walk beyond interrupted
 * code that was read asks for nothing, and goes no farther than the page that it stands in: the
 * answer may be wrong by the time that it reads.
 */
#include "agent/unwind/rows.h"
#include "agent/unwind/thread.h"

enum step {
	STEP_FRAME,	      /* there is a caller */
	STEP_END,	      /* this was the outermost frame */
	STEP_BROKEN,	      /* it makes no sense from here on */
	STEP_NEEDS_REGISTERS, /* more registers than sp and fp must be known: registers.h */
};

#define READS_MAX 8
struct reads { /* what a step has read, in order */
	struct check list[READS_MAX];
	uint32_t count;
	bool overflow;
};

struct walk {
	struct unwind_thread *thread;
	struct region *region; /* that the walk is in */
	uint64_t high;
	bool bounded;	     /* `high` is the stack's end, not how far somebody has looked */
	bool unsure;	     /* beyond interrupted code that was read: what it finds is not kept */
	struct reads *reads; /* NULL: nobody wants to know */
};

/* Finds the region that holds `sp`, by asking the host if need be. */
struct region *region_find(struct unwind_thread *thread, uint64_t sp);

/* Sets the walk's region to the one that `sp` belongs to. Where all frames of a stack have been
 * stepped over it points one past the end, and still belongs. */
static inline void walk_enter(struct walk *w, uint64_t sp)
{
	struct region *region = &w->thread->regions[0];

	if (__builtin_expect(sp < region->low || sp > region->until, 0))
		region = region_find(w->thread, sp);
	w->region = region;
	w->high = region->high;
	w->bounded = region->known;
}

/* Can be read what a step reads, up to `end`? Asks the host if nobody has: for all from w->high on,
 * which moves; in a frame so large that each event would hold up the program, only from `begin` on.
 * Then the walk has to enter the caller's sp anew. */
bool walk_reach(struct walk *w, uint64_t begin, uint64_t end);

/* The step was right: so far the stack reaches. */
static inline void walk_keep(struct walk *w)
{
	if (!w->unsure && w->high > w->region->high)
		w->region->high = w->region->until = w->high;
}

/* The walk goes on at interrupted code, which may be on another stack. If it has no table, and is
 * read, it is read wrongly now and then, and nothing there would show it: at the first instruction
 * of makecontext's last part, say. */
void walk_interrupted(struct walk *w, const struct frame *frame);

/* One past what can be read of a stack for sure, if all that is known is that sp is right. */
static inline uint64_t walk_page_end(uint64_t sp)
{
	return ((sp - 1) | 4095) + 1; /* a page, or a part of one, on any processor */
}

/* Do steps by this row follow what is written in tables, or code on processors where nothing else
 * is? Others may be wrong, and find what looks like the outermost frame: a word that is 0, or the
 * address of a function. */
static inline bool row_is_certain(uint32_t row)
{
	return !row_is(row, ROW_FRAME_POINTER) && !row_is(row, ROW_SCANNED);
}

/* A word of the stack at `address`, for a frame whose stack pointer is `sp`. 0 or -EFAULT. */
int stack_read(struct walk *w, uint64_t sp, uint64_t address, uint64_t *ret_value);

/* A frame's row. A plain one may come out of code, and then holds for a return address only:
 * what is kept is not asked of code that was interrupted, which would be looked up one byte
 * farther on, as if a call ended there. */
static ARCH_HOT uint32_t walk_row(struct unwind_thread *thread, const struct frame *frame)
{
	if (__builtin_expect(frame->flags & FRAME_INTERRUPTED, 0))
		return rows_interrupted(thread, frame->pc - (1u << ARCH_PC_SHIFT));
	return rows_get(thread, frame->pc);
}

/* The step for rows that are not plain, and for plain ones that lead beyond what is known of the
 * stack, or make no sense. */
enum step step_special(struct walk *w, const struct frame *frame, struct frame *outer);

/* From `frame`, whose row is set, to its caller: pc, sp, fp and flags of `outer`. They may be the
 * same object. */
static ARCH_HOT enum step step(struct walk *w, const struct frame *frame, struct frame *outer)
{
	uint32_t row = frame->row;
	uint64_t sp = frame->sp, fp = frame->fp, cfa = row_base(row, sp, fp) + row_cfa(row), pc;

	if (__builtin_expect(!row_is_plain(row) || cfa - sp > w->high - sp ||
				     cfa - row_lowest(row) < sp || (cfa & (ARCH_WORD - 1)),
			     0)) {
		struct frame copy = *frame; /* so that the caller's can live in registers */
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

/* Walks in full and keeps nothing. Also what prefix.c falls back to for stacks that it does not
 * remember. */
void walk_whole(struct unwind_thread *thread, const struct unwind_regs *regs, uint32_t depth_limit,
		struct unwind_delta *ret_delta);

/* The output of a full walk: the outermost `limit` of all that was pushed. What the consumer has of
 * it already is found by comparing with the stack that it got last (the first `emitted` program
 * counters of thread->frames). */
struct sink {
	struct unwind_thread *thread;
	uint32_t limit;
	uint32_t held;
	uint32_t total;
};

void sink_push(struct sink *sink, uint64_t pc);
void sink_finish(struct sink *sink, uint32_t flags, struct unwind_delta *ret_delta);
