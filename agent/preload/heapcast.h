#pragma once
/*
 * What a program may tell the profiler that is preloaded into it. None of it is needed for
 * recording.
 *
 * Link with nothing: declare the functions weak (this header does) and test for them, so that the
 * program also runs without libheapcast.so:
 *
 *	if (heapcast_mark)
 *		heapcast_mark(request_number);
 *
 * All of them may be called from any thread at any time, keep errno, and do nothing in a process
 * that is not recorded.
 */
#include <stddef.h>
#include <stdint.h>

#ifndef HEAPCAST_WEAK
#define HEAPCAST_WEAK __attribute__((weak))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Records from here on, after heapcast_stop. It does not override an agent whose mode is `off`. */
void heapcast_start(void) HEAPCAST_WEAK;

/* Records no further allocations of this process. What becomes of blocks that are on record is
 * still recorded: frees and reallocations go on. */
void heapcast_stop(void) HEAPCAST_WEAK;

/* Puts a number into the recording, at this time in this thread. A mark or a text has room kept for
 * it that events do not have; if even that is used up it is counted as an event that was lost. */
void heapcast_mark(uint32_t number) HEAPCAST_WEAK;

/* Puts a text into the recording: `length` bytes, of which at most 256 are kept. */
void heapcast_text(const char *text, size_t length) HEAPCAST_WEAK;

/* What this thread allocates from here on bears this text, a class of requests for instance: until
 * the next one, or until an empty one. `length` bytes, of which at most 256 are kept. */
void heapcast_label(const char *text, size_t length) HEAPCAST_WEAK;

/* Blocks that the program cuts out of memory of its own: arenas, slabs, shared memory. They are on
 * record with their stacks, in a space of their own: that they lie inside of blocks of the heap
 * changes nothing there. `pool` is any address that stands for the pool; it is not on record (the
 * stack tells who allocates), so of two pools that share memory only one should speak. A pool that
 * is emptied at once says so for each of its blocks. */
void heapcast_pool_allocate(const void *pool, const void *address, size_t size) HEAPCAST_WEAK;
void heapcast_pool_free(const void *pool, const void *address) HEAPCAST_WEAK;

/* The same under the names that programs know from an older profiler: start, stop, mark. */
void memory_profiler_start(void) HEAPCAST_WEAK;
void memory_profiler_stop(void) HEAPCAST_WEAK;
void memory_profiler_set_marker(uint32_t number) HEAPCAST_WEAK;

/* Wakes the agent. It need not be called: what happened before is safe in the agent's memory, and
 * is delivered even if the program is killed. It does not wait for the network. */
void memory_profiler_sync(void) HEAPCAST_WEAK;

/* Overrides nothing, because events must stay in order: the time is put into the recording, as a
 * mark of its own kind. */
void memory_profiler_override_next_timestamp(uint64_t microseconds) HEAPCAST_WEAK;

#ifdef __cplusplus
}
#endif
