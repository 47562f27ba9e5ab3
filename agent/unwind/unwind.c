/* The public functions. See unwind.h. */
#include "agent/unwind/unwind.h"

#include <errno.h>

#include "agent/unwind/rows.h"
#include "agent/unwind/walk.h"
#include "agent/unwind/ban.h"

int unwind_init(const struct unwind_host *host)
{
	if (!host || !host->find_module || !host->readable)
		return -EINVAL;
	unwind_host = host;
	return 0;
}

struct unwind_thread *unwind_thread_init(void *memory)
{
	struct unwind_thread *thread = memory;

	thread->l1_mask = (1u << L1_BITS_MIN) - 1;
	thread->checks[0].slot =
		(uintptr_t)&thread->checks[0].slot; /* its own address, which is not 0 and so never
						     * matches */
	thread->checks[0].value = 0;
	return thread;
}

void unwind_forget(struct unwind_thread *thread)
{
	thread->emitted = 0;
	saved_drop(thread);
}

void unwind_abandon(struct unwind_thread *thread)
{
	thread->count = 0;
	thread->emitted = 0;
	saved_drop(thread);
}

static void unwind_count(struct unwind_thread *thread, const struct unwind_delta *delta)
{
	thread->counters.captures++;
	thread->counters.truncated += delta->flags & UNWIND_TRUNCATED;
	thread->counters.whole += !delta->keep;
}

void unwind_capture_full(struct unwind_thread *thread, const struct unwind_regs *regs,
			 uint32_t depth_limit, struct unwind_delta *ret_delta)
{
	rows_check_state(thread);
	thread->emitted = 0;
	walk_whole(thread, regs, depth_clamp(depth_limit), ret_delta);
	thread->emitted = 0;
	unwind_count(thread, ret_delta);
}

enum unwind_sought unwind_seek(struct unwind_thread *seeker, const struct unwind_regs *from,
			       const struct unwind_regs *sought)
{
	struct walk w = {.thread = seeker};
	struct frame frame = {.pc = from->pc, .sp = from->sp, .fp = from->fp};
	enum step result = frame.sp & (ARCH_WORD - 1) ? STEP_BROKEN : STEP_FRAME;

	rows_check_state(seeker);
	seeker->seeks = true;
	walk_enter(&w, frame.sp);
	for (unsigned i = 0; result == STEP_FRAME && i < DEPTH_HARD; i++) {
		if (frame.pc == sought->pc && frame.sp == sought->sp)
			return UNWIND_THERE;
		frame.row = walk_row(seeker, &frame);
		if (!row_is_certain(frame.row))
			return UNWIND_UNSURE;
		result = step_special(&w, &frame, &frame);
	}
	return result == STEP_END && frame.row == row_special(ROW_END, END_CERTAIN) ? UNWIND_ABSENT
										    : UNWIND_UNSURE;
}

void unwind_counters(const struct unwind_thread *thread, struct unwind_counters *ret_counters)
{
	*ret_counters = thread->counters;
}
