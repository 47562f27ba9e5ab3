#pragma once
/*
 * The API by which a program can talk to the profiler that is preloaded into it. Recording does not
 * need any of it.
 *
 * The program links with nothing. It declares the functions weak, as this header does, and tests
 * for them, so that it also runs without libheapcast.so:
 *
 * 	if (heapcast_mark)
 * 		heapcast_mark(request_number);
 *
 * Any thread may call these functions at any time. They preserve errno, and do nothing in a process
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

/* Resumes recording after heapcast_stop. It does not override an agent whose mode is `off`. */
void heapcast_start(void) HEAPCAST_WEAK;

/* Stops recording allocations of this process. The library still records frees and reallocations of
 * blocks that are already on record. */
void heapcast_stop(void) HEAPCAST_WEAK;

/* Puts a number into the recording, at this time in this thread. Marks and texts have reserved room
 * that events cannot use. If this room is full, too, the mark is counted as a lost event. */
void heapcast_mark(uint32_t number) HEAPCAST_WEAK;

/* Puts a text of `length` bytes into the recording. At most 256 bytes are kept. */
void heapcast_text(const char *text, size_t length) HEAPCAST_WEAK;

/* Labels the following allocations of this thread, for example with a class of requests. The label
 * holds until the next call; an empty text removes it. The text has `length` bytes, of which at
 * most 256 are kept. */
void heapcast_label(const char *text, size_t length) HEAPCAST_WEAK;

/* Record blocks that the program cuts out of its own memory: arenas, slabs, shared memory. They are
 * recorded with their stacks in an address space of their own, so it does not matter that they
 * overlap blocks of the heap. `pool` is any address that identifies the pool; it is not recorded
 * (the stack shows the caller), so of two pools that share memory only one should call these
 * functions. A pool that frees everything at once must call heapcast_pool_free for each of its
 * blocks. */
void heapcast_pool_allocate(const void *pool, const void *address, size_t size) HEAPCAST_WEAK;
void heapcast_pool_free(const void *pool, const void *address) HEAPCAST_WEAK;

/* Aliases that programs know from an older profiler: start, stop, mark. */
void memory_profiler_start(void) HEAPCAST_WEAK;
void memory_profiler_stop(void) HEAPCAST_WEAK;
void memory_profiler_set_marker(uint32_t number) HEAPCAST_WEAK;

/* Wakes the agent. The program need not call it: earlier events are already in the agent's memory,
 * and are delivered even if the program is killed. It does not wait for the network. */
void memory_profiler_sync(void) HEAPCAST_WEAK;

/* Does not override the next timestamp, because events must stay in order. It puts the time into
 * the recording as a mark of its own kind. */
void memory_profiler_override_next_timestamp(uint64_t microseconds) HEAPCAST_WEAK;

#ifdef __cplusplus
}
#endif
