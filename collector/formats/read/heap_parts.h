#pragma once
/* What heap.c, which reads a heap profile, and heap_put.c, which puts it into a recording, share.
 * Only they include it. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "collector/formats/read/mapped.h"
#include "collector/formats/read/symbol_section.h"

struct importer;

/* How samples are scaled up. */
enum scaling {
	SCALING_NONE,	 /* nothing is scaled: the numbers are counts */
	SCALING_LINEAR,	 /* heap, version 1: by mean size over interval, if that is below 1 */
	SCALING_POISSON, /* heap_v2 */
};

struct sums {
	uint64_t live_blocks, live_bytes, blocks, bytes; /* in use; allocated so far */
};

struct heap {
	struct importer *im;
	struct mapped mapped;
	struct symbol_section symbols;
	struct map named;   /* addresses that have names in the recording already */
	uint64_t head_line; /* the line of the head of the sums */
	enum scaling scaling;
	uint64_t interval;
	bool jemalloc;
	struct buf words;   /* the words of a profile of words */
	bool words_blocks;  /* the numbers of the words are counts of blocks */
	struct map threads; /* id + 1 (0: all threads) -> number */
	uint64_t *counters; /* of the present stack */
	uint32_t count, capacity;
	uint32_t stack; /* its node */
	bool in_stack;
	double live_factor, factor; /* of the present stack */
	struct sums rest; /* of the present stack: what belongs to threads that are not listed */
	uint64_t strange; /* impossible sums */
};

/* Puts the sums of the next line or thread, for the present stack. Returns 0 or a negative errno,
 * as all functions here do. */
int heap_put_sums(struct heap *heap, uint32_t thread, const struct sums *sums);
/* Returns the factor by which samples are scaled up. */
double heap_factor(const struct heap *heap, uint64_t blocks, uint64_t bytes);
/* Makes "0x55e1 0x55f2 ...", the innermost first, the present stack. */
int heap_read_stack(struct heap *heap, char *at);
/* Makes `counters` the present stack. */
int heap_put_stack(struct heap *heap);
