/* The API by which the program talks to the profiler; see heapcast.h. */
#define HEAPCAST_WEAK /* defined here, so not weak */
#include "agent/preload/heapcast.h"

#include "agent/preload/record/apart.h"
#include "agent/preload/record/often.h"
#include "agent/preload/record/record.h"
#include "agent/preload/record/slice.h"
#include "agent/preload/start/start.h"
#include "agent/preload/system/state.h"
#include "agent/preload/record/thread.h"

#include "agent/preload/poison.h"

/* Numbers of enum MarkKind in heapcast.proto. */
enum {
	MARK_TEXT = 1,
	MARK_NUMBER = 2,
	MARK_START = 3,
	MARK_STOP = 4,
	MARK_LABEL = 10,
	MARK_TIMESTAMP = 11,
};

static void api_mark(uintptr_t frame, uint32_t kind, uint64_t value, const char *text,
		     size_t length)
{
	struct ring_header *ring;
	struct hook hook;

	start_resolved();
	ring = shim_hook(GATE_OTHERS);
	if (!ring)
		return;
	rare_enter(&hook, ring, frame);
	if (hook.kind == HOOK_RECORD)
		record_said(hook.thread, kind, value, text, length);
	else if (hook.kind == HOOK_NESTED && hook.thread) /* the queue has no room for texts */
		thread_put_mark_aside(hook.thread, text ? 0 : kind, value);
	else if (hook.kind != HOOK_NONE)
		record_lost_anywhere(&(struct event){.kind = RING_MARK});
	rare_leave(&hook);
}

static void order(uint32_t stopped)
{
	__atomic_store_n(&shim.stopped, stopped, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shim.control, 1, __ATOMIC_RELEASE);
}

EXPORT void heapcast_start(void)
{
	order(0);
	api_mark(FRAME, MARK_START, 0, NULL, 0);
}

EXPORT void heapcast_stop(void)
{
	api_mark(FRAME, MARK_STOP, 0, NULL, 0);
	order(1);
}

EXPORT void heapcast_mark(uint32_t number)
{
	api_mark(FRAME, MARK_NUMBER, number, NULL, 0);
}

EXPORT void heapcast_text(const char *text, size_t length)
{
	api_mark(FRAME, MARK_TEXT, 0, text, length);
}

EXPORT void heapcast_label(const char *text, size_t length)
{
	api_mark(FRAME, MARK_LABEL, 0, text ? text : "", text ? length : 0);
}

/* Pools. */

static RECORDED void note_pool(uintptr_t frame, unsigned kind, const void *address, size_t size)
{
	struct ring_header *ring;
	struct hook hook;

	start_resolved();
	ring = shim_hook(GATE_OTHERS);
	if (!ring || !address)
		return;
	rare_enter(&hook, ring, frame);
	apart_note(&hook, kind, (uintptr_t)address, size);
}

EXPORT void heapcast_pool_allocate(const void *pool, const void *address, size_t size)
{
	(void)pool;
	note_pool(FRAME, KIND_POOL_ALLOCATE, address, size);
}

EXPORT void heapcast_pool_free(const void *pool, const void *address)
{
	(void)pool;
	note_pool(FRAME, KIND_POOL_FREE, address, 0);
}

/* Aliases of the older profiler. */

EXPORT void memory_profiler_start(void) __attribute__((alias("heapcast_start")));
EXPORT void memory_profiler_stop(void) __attribute__((alias("heapcast_stop")));
EXPORT void memory_profiler_set_marker(uint32_t number) __attribute__((alias("heapcast_mark")));

EXPORT void memory_profiler_sync(void)
{
	if (shim_ring())
		slice_doorbell();
}

EXPORT void memory_profiler_override_next_timestamp(uint64_t microseconds)
{
	api_mark(FRAME, MARK_TIMESTAMP, microseconds, NULL, 0);
}
