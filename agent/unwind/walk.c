/* The full walk: every frame from the hook's caller to the outermost, and the output of such walks.
 * See walk.h. */
#include "agent/unwind/walk.h"

#include <string.h>

#include "agent/unwind/registers.h"
#include "agent/unwind/ban.h"

/* Adds a program counter. Drops the innermost frames in batches as more arrive; the buffer always
 * holds at least the last UNWIND_MAX_DEPTH frames. */
void sink_push(struct sink *sink, uint64_t pc)
{
	uint64_t *pcs = sink->thread->pcs;

	if (sink->held == PCS_MAX) {
		memmove(pcs, pcs + PCS_MAX - UNWIND_MAX_DEPTH, UNWIND_MAX_DEPTH * sizeof(*pcs));
		sink->held = UNWIND_MAX_DEPTH;
	}
	pcs[sink->held++] = pc;
	sink->total++;
}

void sink_finish(struct sink *sink, uint32_t flags, struct unwind_delta *ret_delta)
{
	struct unwind_thread *thread = sink->thread;
	uint32_t depth = sink->total < sink->limit ? sink->total : sink->limit, keep = 0;
	const uint64_t *outermost = thread->pcs + sink->held - 1;

	while (keep < depth && keep < thread->emitted &&
	       thread->frames[keep].pc == *(outermost - keep))
		keep++;
	for (uint32_t i = keep; i < depth; i++)
		thread->frames[i].pc = *(outermost - i);
	thread->count = 0; /* nothing to verify: only the emitted frames are known */
	thread->emitted = depth;
	*ret_delta = (struct unwind_delta){
		.keep = keep,
		.count = depth - keep,
		.pcs = thread->pcs + sink->held - depth,
		.depth = depth,
		.flags = flags | (sink->total > sink->limit ? UNWIND_DEPTH_LIMIT : 0),
	};
}

void walk_whole(struct unwind_thread *thread, const struct unwind_regs *regs, uint32_t depth_limit,
		struct unwind_delta *ret_delta)
{
	struct walk w = {.thread = thread};
	struct sink sink = {.thread = thread, .limit = depth_limit};
	struct frame frame = {.pc = regs->pc, .sp = regs->sp, .fp = regs->fp};
	enum step result = frame.sp & (ARCH_WORD - 1) ? STEP_BROKEN : STEP_FRAME;

	walk_enter(&w, frame.sp);
	do {
		frame.row = walk_row(thread, &frame);
		if (row_is(frame.row, ROW_BAD) && sink.total) {
			result = STEP_BROKEN;
			break;
		}
		sink_push(&sink, frame.pc);
		if (result == STEP_FRAME) /* both do the same; step_special keeps this function
					   * small where code is large */
			result = ARCH_SCAN ? step_special(&w, &frame, &frame)
					   : step(&w, &frame, &frame);
	} while (result == STEP_FRAME && sink.total < DEPTH_HARD);

	thread->counters.frames_walked += sink.total;
	if (result == STEP_NEEDS_REGISTERS)
		registers_walk(thread, regs, depth_limit, ret_delta);
	else
		sink_finish(&sink, result == STEP_END ? 0 : UNWIND_TRUNCATED, ret_delta);
}
