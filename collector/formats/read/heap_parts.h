#pragma once
/* Shared by heap.c, which reads a heap profile, and heap_put.c, which writes it into a recording.
 * No other file includes it. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "collector/formats/read/mapped.h"
#include "collector/formats/read/symbol_section.h"

struct importer;

/* The ways to scale samples up. */
enum scaling {
	SCALING_NONE,	 /* numbers are counts, and stay as they are */
	SCALING_LINEAR,	 /* heap, version 1: divides by mean size / interval, if below 1 */
	SCALING_POISSON, /* heap_v2 */
};

struct sums {
	uint64_t live_blocks, live_bytes, blocks, bytes; /* in use; allocated in total */
};

struct heap {
	struct importer *im;
	struct mapped mapped;
	struct symbol_section symbols;
	struct map named;   /* addresses that already have names in the recording */
	uint64_t head_line; /* line number of the head of the sums */
	enum scaling scaling;
	uint64_t interval;
	bool jemalloc;
	struct buf words;   /* content of a binary profile (cpu_profile.h) */
	bool words_blocks;  /* its numbers count blocks, not bytes */
	struct map threads; /* thread id + 1 (0: all threads) -> number */
	uint64_t *counters; /* addresses of the current stack, innermost first */
	uint32_t count, capacity;
	uint32_t stack; /* node of the current stack */
	bool in_stack;
	double live_factor, factor; /* scaling factors of the current stack */
	struct sums rest;	    /* of the current stack: not yet assigned to a thread */
	uint64_t strange;	    /* number of impossible sums */
};

/* Adds the sums of the next line or thread to the current stack. Returns 0 or a negative errno, as
 * all functions here do. */
int heap_put_sums(struct heap *heap, uint32_t thread, const struct sums *sums);
/* Returns the factor by which samples are scaled up. */
double heap_factor(const struct heap *heap, uint64_t blocks, uint64_t bytes);
/* Parses "0x55e1 0x55f2 ...", innermost first, and makes it the current stack. */
int heap_read_stack(struct heap *heap, char *at);
/* Makes `counters` the current stack. */
int heap_put_stack(struct heap *heap);
