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

/* Puts a number into the recording, at this time in this thread. */
void heapcast_mark(uint32_t number) HEAPCAST_WEAK;

/* Puts a text into the recording: `length` bytes, of which at most 256 are kept. */
void heapcast_text(const char *text, size_t length) HEAPCAST_WEAK;

#ifdef __cplusplus
}
#endif
