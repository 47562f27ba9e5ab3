/* What the program tells us of its own accord; see heapcast.h. */
#define HEAPCAST_WEAK /* they are defined here */
#include "agent/preload/heapcast.h"

#include "agent/preload/record.h"
#include "agent/preload/start.h"
#include "agent/preload/state.h"
#include "agent/preload/thread.h"

#include "agent/preload/poison.h"

#define EXPORT __attribute__((visibility("default")))

/* Numbers of enum MarkKind in heapcast.proto. */
enum { MARK_TEXT = 1, MARK_NUMBER = 2, MARK_START = 3, MARK_STOP = 4 };

static void mark(uintptr_t frame, uint32_t kind, uint64_t value, const char *text, size_t length)
{
	struct ring_header *ring;
	struct hook hook;

	start_resolved();
	ring = shim_ring();
	if (!ring)
		return;
	hook_enter(&hook, ring, frame);
	if (hook.kind == HOOK_RECORD)
		record_mark(hook.thread, kind, value, text, length);
	hook_leave(&hook);
}

static void order(uint32_t stopped)
{
	__atomic_store_n(&shim.stopped, stopped, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shim.control, 1, __ATOMIC_RELEASE);
}

EXPORT void heapcast_start(void)
{
	order(0);
	mark((uintptr_t)__builtin_frame_address(0), MARK_START, 0, NULL, 0);
}

EXPORT void heapcast_stop(void)
{
	mark((uintptr_t)__builtin_frame_address(0), MARK_STOP, 0, NULL, 0);
	order(1);
}

EXPORT void heapcast_mark(uint32_t number)
{
	mark((uintptr_t)__builtin_frame_address(0), MARK_NUMBER, number, NULL, 0);
}

EXPORT void heapcast_text(const char *text, size_t length)
{
	mark((uintptr_t)__builtin_frame_address(0), MARK_TEXT, 0, text, length);
}
