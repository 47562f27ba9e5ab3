#pragma once
/* Reading a heap profile (heap.c), and putting what it tells into a recording (heap_put.c). Inside
 * of it only. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "collector/formats/read/mapped.h"
#include "collector/formats/read/symbol_section.h"

struct importer;

/* How samples stand for others. */
enum scaling {
	SCALING_NONE,	 /* counts */
	SCALING_LINEAR,	 /* heap, version 1: by mean size over interval, where that is below 1 */
	SCALING_POISSON, /* heap_v2 */
};

struct sums {
	uint64_t live_blocks, live_bytes, blocks, bytes; /* in use; allocated so far */
};

struct heap {
	struct importer *im;
	struct mapped mapped;
	struct symbol_section symbols;
	struct map named;   /* addresses whose names are in the recording */
	uint64_t head_line; /* where the head of the sums stands */
	enum scaling scaling;
	uint64_t interval;
	bool jemalloc;
	struct buf words;   /* of a profile of words */
	bool words_blocks;  /* their numbers are counts of blocks */
	struct map threads; /* id + 1 (0: all) -> number */
	uint64_t *counters; /* of the stack at hand */
	uint32_t count, capacity;
	uint32_t stack; /* its node */
	bool in_stack;
	double live_factor, factor; /* of the stack at hand */
	struct sums rest;	    /* of the stack at hand, of threads that are not told */
	uint64_t strange;	    /* sums that can't be */
};

/* The next line's or thread's sums, of the stack at hand. 0 or a negative errno, as all here. */
int heap_put_sums(struct heap *heap, uint32_t thread, const struct sums *sums);
/* By how much samples stand for others. */
double heap_factor(const struct heap *heap, uint64_t blocks, uint64_t bytes);
/* "0x55e1 0x55f2 ...", the innermost first, becomes the stack at hand. */
int heap_read_stack(struct heap *heap, char *at);
/* The same of `counters`. */
int heap_put_stack(struct heap *heap);
