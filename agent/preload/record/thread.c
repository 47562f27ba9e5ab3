/* Thread states and nested hooks; see thread.h and the comment on struct thread in state.h. */
#include "agent/preload/record/thread.h"

#include <signal.h>
#include <stddef.h>

#include "agent/preload/system/clock.h"
#include "agent/preload/record/gate.h"
#include "agent/preload/modules/modules.h"
#include "agent/preload/system/next.h"
#include "agent/preload/record/note.h"
#include "agent/preload/record/reach.h"
#include "agent/preload/record/record.h"
#include "agent/preload/record/sample.h"
#include "agent/preload/record/slice.h"
#include "agent/preload/record/strict.h"
#include "agent/preload/system/sys.h"
#include "agent/preload/record/thin.h"
#include "proto/event.h"

#include "agent/preload/poison.h"

#define PAGE	    4096u
#define STATE_BYTES ((sizeof(struct thread) + PAGE - 1) & ~(size_t)(PAGE - 1))
#define MARK_POLICY 6	/* the number in enum MarkKind of heapcast.proto */
#define RETRY	    256 /* events of a thread without a slice between two attempts to get one */

__thread struct tls tls __attribute__((tls_model("initial-exec"), aligned(64)));
static __thread unsigned thread_retry __attribute__((tls_model("initial-exec")));

/* Takes a free state: never used, given back, or left by a thread that has ended. */
static struct thread *take_used(void)
{
	struct thread *thread = __atomic_load_n(&shim.threads, __ATOMIC_ACQUIRE);

	for (; thread; thread = thread->next) {
		uint64_t place = __atomic_load_n(&thread->place, __ATOMIC_ACQUIRE);

		if (place == PLACE_TAKEN || (place && !slice_dead(place)))
			continue;
		if (__atomic_compare_exchange_n(&thread->place, &place, PLACE_TAKEN, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return thread;
	}
	return NULL;
}

static struct thread *make_new(void)
{
	struct thread *thread = sys_pages(STATE_BYTES + UNWIND_THREAD_SIZE);

	if (!thread)
		return NULL;
	thread->place = PLACE_TAKEN;
	thread->unwind = unwind_thread_init((uint8_t *)thread + STATE_BYTES);
	if (!thread->unwind)
		/* Cannot happen with valid memory; the pages would be leaked. */
		return NULL;
	thread->next = __atomic_load_n(&shim.threads, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&shim.threads, &thread->next, thread, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return thread;
}

/* From the second thread on, stamps are ordered (clock.h). */
static void order_stamps(void)
{
	enum stamps single = STAMPS_SINGLE;

	__atomic_compare_exchange_n(&shim.stamps, &single, STAMPS_ORDERED, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_RELAXED);
}

static struct thread *thread_take(void)
{
	const struct ring_header *ring = shim_ring();
	struct thread *thread;

	if (!ring || reach_counts_only(ring))
		return NULL;
	if (__atomic_load_n(&shim.threads, __ATOMIC_ACQUIRE))
		order_stamps();
	thread = take_used();
	if (!thread)
		thread = make_new();
	if (!thread)
		return NULL;
	if (thread->next)
		order_stamps(); /* both threads started at the same time */
	thread->aside_count = 0;
	thread->aside_lost = (struct ring_losses){0};
	thread->quiet = false;
	thread->pending = (struct ring_losses){0};
	thread->last_stamp = stamp_now();
	thread->pseudo = 0;
	thread->cut = false;
	thread->incarnation = __atomic_load_n(&shim.incarnation, __ATOMIC_ACQUIRE);
	sample_thread_init(thread);
	if (slice_claim_patiently(thread))
		return thread;
	__atomic_store_n(&thread->place, 0, __ATOMIC_RELEASE);
	return NULL;
}

void thread_forked(void)
{
	strict_forked();
	tls.thread = NULL;
	guard_clear();
	tls.left = 0;
	tls.skipped = NULL;
	shim.heard_beat = 0; /* the next ring has another heartbeat */
	thread_retry = 0;
	for (struct thread *thread = shim.threads; thread; thread = thread->next)
		__atomic_store_n(&thread->place, 0, __ATOMIC_RELAXED);
}

/* Puts a mark about changed thinning, as soon as the thinning is in force and there is room. At the
 * end of a slice each step needs its own room, so only the last step is told. */
static void tell_thinning(struct thread *thread)
{
	if (thread->looks_next || (thread->spare_step && thread->thinned_told && thread->thinned))
		return;
	__atomic_store_n(&thread->slice->entered, thread->last_stamp, __ATOMIC_RELAXED);
	if (record_mark(thread, MARK_POLICY, thread->interval, NULL, 0))
		thread->thinned_told = thread->thinned;
	else
		thread->control--;
}

static void detach(void)
{
	__atomic_store_n(&shim_page.ring, NULL, __ATOMIC_RELEASE);
	gate_shut(GATE_ALLOCATIONS);
	gate_shut(GATE_OTHERS);
}

/* Starts over for another agent, which has taken over the ring, and announces the modules to it. If
 * there is no room, or this is the thread's very first event, the next event tries again. */
static void begin_anew(struct thread *thread, uint32_t incarnation)
{
	if (!tls.thread || !modules_tell_again(incarnation) || !slice_restart(thread, incarnation))
		thread->control--;
}

/* Answers the agent's request for the allocator's figures, unless another thread does. The thread
 * is at the start of a hook, so it holds no lock of the allocator. mallinfo2 takes the locks one by
 * one, and allocates nothing. */
static void tell_allocator(struct ring_allocator *told)
{
	uint32_t asked = 2 * __atomic_load_n(&told->asked, __ATOMIC_RELAXED);
	uint32_t sequence = __atomic_load_n(&told->sequence, __ATOMIC_RELAXED);
	struct next_mallinfo info;

	if (sequence == asked || sequence & 1 || !next.mallinfo2 || strict_refuses(CALLS_WAIT) ||
	    !__atomic_compare_exchange_n(&told->sequence, &sequence, asked - 1, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	told->stamp[0] = stamp_now();
	info = next.mallinfo2();
	told->stamp[1] = stamp_now();
	for (unsigned i = 0; i < RING_ALLOCATOR_FIGURES; i++)
		told->figure[i] = info.figure[i];
	__atomic_store_n(&told->sequence, asked, __ATOMIC_RELEASE);
}

void thread_obey(struct thread *thread, struct ring_header *ring)
{
	uint32_t incarnation, filtered;
	bool on;

	thread->control = thread_control(ring);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	filtered = __atomic_load_n(&ring->filtered, __ATOMIC_RELAXED);
	if (unlikely(filtered))
		strict_told(ring, filtered);
	on = !gate_off(ring);
	incarnation = __atomic_load_n(&ring->account.incarnation, __ATOMIC_RELAXED);
	thread->short_until = 0;
	thread->policy = __atomic_load_n(&ring->policy, __ATOMIC_RELAXED);
	thread->depth_limit = __atomic_load_n(&ring->depth_limit, __ATOMIC_RELAXED);
	slice_set_depth(thread);
	thread->verify = __atomic_load_n(&ring->verify, __ATOMIC_RELAXED);
	if (thread->policy != RING_THIN)
		thread->thinned = 0;
	sample_obey(thread, on ? sample_interval(thread, ring) : 0, on);
	thread->allocations = on && !thread->interval;
	if (thread->allocations)
		sample_record_all();
	if (!on && !shim.nests)
		gate_shut(GATE_ALLOCATIONS);
	thread->spare = thin_spare(thread);
	thin_obey(thread);
	/* While the set is open, blocks that this thread frees must be removed from it. */
	thread->frees = !thread->interval && !shim_page.set &&
			__atomic_load_n(&shim.recorded, __ATOMIC_RELAXED);
	/* If sampling follows full mode, most frees carry no information; without stacks they are
	 * cheaper. */
	thread->free_stacks = __atomic_load_n(&ring->frees_have_stacks, __ATOMIC_RELAXED) &&
			      !(thread->interval && shim.recorded);
	if (__atomic_load_n(&ring->detached, __ATOMIC_RELAXED))
		detach();
	else if (unlikely(thread->incarnation != incarnation))
		begin_anew(thread, incarnation);
	else if (unlikely(thread->thinned != thread->thinned_told))
		tell_thinning(thread);
	tell_allocator(&ring->allocator);
}

void thread_enter_first(struct hook *hook)
{
	struct ring_header *ring = shim_ring();

	tls.frame = hook->frame | 1;
	hook->kind = HOOK_NONE;
	if (!ring)
		return;
	if (gate_off(ring) && !gate_any_on_record()) {
		gate_shut(GATE_ALLOCATIONS);
		gate_shut(GATE_OTHERS);
		return;
	}
	hook->kind = HOOK_LOST;
	if (thread_retry) {
		thread_retry--;
		return;
	}
	hook->thread = thread_take();
	if (!hook->thread) {
		thread_retry = RETRY;
		return;
	}
	thread_obey(hook->thread, ring);
	hook->kind = HOOK_RECORD;
	tls.frame = hook->frame;
	strict_begin_thread();
	barrier();
	tls.thread = hook->thread;
}

static bool on_stack(const stack_t *stack, uintptr_t frame)
{
	return !(stack->ss_flags & SS_DISABLE) && frame - (uintptr_t)stack->ss_sp < stack->ss_size;
}

/*
 * Returns true if the hook at `outer` is still under way, further up the stack. Stacks grow down,
 * so a nested hook has a lower frame, unless it runs on the alternate stack of a signal handler,
 * which may lie anywhere. Otherwise a jump has left the outer hook. If calls after a jump go deeper
 * than the hook did, the hook looks nested at first; was_left() detects this when the queue is
 * full.
 */
static bool nested(uintptr_t outer, uintptr_t frame)
{
	stack_t alternate = {.ss_flags = SS_DISABLE};

	if (frame < outer)
		return true;
	if (sys_call(SYS_sigaltstack, NULL, &alternate) < 0)
		return strict_refuses(CALLS_STACK); /* if refused, the stack is unknown */
	return on_stack(&alternate, frame) && !on_stack(&alternate, outer);
}

bool thread_in_hook(uintptr_t frame)
{
	return tls.frame && nested(tls.frame, frame);
}

/* in tls.return_address, while this thread searches its stack for a hook */
#define SEEKING (1ull << 63)

/* Returns true if the hook is absent from the stack. This thread may have interrupted a capture, or
 * the code that announces modules. The walk therefore uses its own memory (of which 12 KiB become
 * resident), and modules that are not known stay unknown (thread_seeks). If a jump leaves this
 * function, the next hook's guard repairs the state. */
static bool is_absent(struct thread *thread, uintptr_t frame, const struct unwind_regs *sought)
{
	enum unwind_sought answer;
	struct unwind_regs from;

	if (!thread->seeker) {
		void *memory = sys_pages(UNWIND_THREAD_SIZE);

		thread->seeker = memory ? unwind_thread_init(memory) : NULL;
	}
	if (!thread->seeker)
		return false;
	arch_caller(frame, &from);
	tls.return_address |= SEEKING;
	barrier();
	answer = unwind_seek(thread->seeker, &from, sought);
	barrier();
	tls.return_address &= ~SEEKING;
	return answer == UNWIND_ABSENT;
}

bool thread_seeks(void)
{
	return tls.return_address & SEEKING;
}

/*
 * Returns true if the hook at `outer` was left by a jump. The check is worth its cost only if the
 * queue is full, or if an exception may have passed that the C++ runtime does not report (no record
 * is then being written). Deeper calls have mostly overwritten the frame of a hook that was left,
 * so its return address has changed. If it has not, this function walks the stack to find the hook.
 * A walk may take a millisecond if code must be read, so of the events that find the queue full
 * only the first, second, fourth and so on walk. Mistaking a hook under way for one that was left
 * would spoil its record, so in doubt the hook counts as under way.
 */
static bool was_left(struct thread *thread, uintptr_t outer, uintptr_t frame)
{
	bool thrown = !ARCH_HEARS_EXCEPTIONS && tls.throwing == tls.frame;
	uint64_t lost = thread->aside_lost.events;
	struct unwind_regs regs;

	if (!thrown && thread->aside_count < ASIDE_MAX)
		return false;
	if (thread_seeks()) /* a handler has interrupted this very check */
		return false;
	arch_caller(outer, &regs);
	if (tls.return_address && regs.pc != tls.return_address)
		return true;
	return (thrown || !(lost & (lost - 1))) && is_absent(thread, frame, &regs);
}

void thread_enter_nested(struct hook *hook)
{
	struct thread *thread = hook->thread;

	if (nested(tls.frame, hook->frame) &&
	    !(thread && was_left(thread, tls.frame, hook->frame))) {
		hook->kind = HOOK_NESTED;
		hook->frame = 1 + (thread ? thread->aside_count : 0);
		return;
	}
	tls.return_address = 0; /* it belonged to the hook that was left */
	barrier();
	/* The jump may have come between a capture and its record. Events that are aside go first:
	 * they are older, and do not belong to this hook. */
	if (thread) {
		unwind_abandon(thread->unwind);
		thread->short_until = 0;
		tls.frame = 0;
		hook_leave_slow(hook);
	}
}

/* Events put aside. */

void thread_put_aside(struct thread *thread, const struct event *event)
{
	uint32_t index;

	if (!__atomic_load_n(&thread->slice->entered, __ATOMIC_RELAXED))
		__atomic_store_n(&thread->slice->entered, thread->last_stamp, __ATOMIC_RELAXED);
	index = __atomic_fetch_add(&thread->aside_count, 1, __ATOMIC_RELAXED);
	if (index < ASIDE_MAX)
		thread->aside[index] = *event;
	else
		record_count_lost(&thread->aside_lost, event);
}

/* Puts the mark aside as an event, with a kind that no event has. */
void thread_put_mark_aside(struct thread *thread, uint32_t kind, uint64_t value)
{
	const struct event mark = {.kind = RING_MARK, .size = kind, .old_address = value};

	thread_put_aside(thread, &mark);
}

bool thread_has_aside(const struct thread *thread, uint64_t address)
{
	for (uint32_t i = 0; i < thread->aside_count && i < ASIDE_MAX; i++)
		if (thread->aside[i].kind && thread->aside[i].address == address &&
		    thread->aside[i].kind < KIND_FREE)
			return true;
	return false;
}

static void thread_take_back(struct event *inner)
{
	inner->kind = 0;
	shim.nests = 1;
}

/* Searches from the last event back. A signal handler may have used the same addresses: the
 * allocated one before the allocator handed it out, and the freed one after the allocator took it
 * back. Among the events on the allocated address the last is therefore `outer`'s, among those on
 * the freed address the first. */
void thread_drop_inner(struct thread *thread, const struct event *outer, uint32_t from)
{
	bool frees = outer->kind >= KIND_FREE;
	uint64_t born = frees ? 0 : outer->address,
		 freed = frees ? outer->address : outer->old_address;
	struct event *end = NULL;

	if (thread->aside_count > ASIDE_MAX)
		return;
	for (uint32_t i = thread->aside_count; i-- > from;) {
		struct event *inner = &thread->aside[i];
		bool inner_frees = inner->kind >= KIND_FREE;

		if (!inner->kind || event_space(inner->kind) != EVENT_SPACE_HEAP)
			continue;
		if (inner->address == freed || inner->old_address == freed)
			end = inner_frees ? inner : NULL;
		if (inner->address != born && inner->old_address != born)
			continue;
		if (born && !inner_frees && inner->address == born)
			thread_take_back(inner);
		born = 0;
	}
	if (end && freed)
		thread_take_back(end);
}

static void flush_one(struct thread *thread, const struct event *event)
{
	if (event->kind == RING_MARK)
		record_said(thread, (uint32_t)event->size, event->old_address, NULL, 0);
	else if (event->kind)
		record_event(thread, event, 0);
}

/* Records the events put aside. Meanwhile, a signal handler may put more events aside, or lose
 * them; the count is set to 0 only if none was added since it was read. Recorded events are marked
 * at once, so if a jump ends this function, the next hook continues. */
static void flush_aside(struct thread *thread)
{
	uint32_t done = 0, count;

	do {
		count = thread->aside_count;
		for (; done < count && done < ASIDE_MAX; done++) {
			flush_one(thread, &thread->aside[done]);
			thread->aside[done].kind = 0;
		}
	} while (!__atomic_compare_exchange_n(&thread->aside_count, &count, 0, false,
					      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	if (thread->aside_lost.events) {
		struct ring_losses lost = thread->aside_lost;

		thread->aside_lost = (struct ring_losses){0};
		record_lost_sum(thread, &lost);
	}
}

void hook_leave_slow(const struct hook *hook)
{
	struct thread *thread = hook->thread;

	if (hook->kind == HOOK_NESTED)
		return;
	if (hook->kind != HOOK_RECORD) {
		guard_clear();
		return;
	}
	do {
		/* 0: a signal handler left this hook before this check. Another hook's frame: this
		 * hook was mistaken for one that was left. */
		if (tls.frame != hook->frame && tls.frame != 0)
			return;
		guard_set(hook->frame);
		flush_aside(thread);
		__atomic_store_n(&thread->slice->entered, 0, __ATOMIC_RELEASE);
		guard_clear();
	} while (thread->aside_count);
}
