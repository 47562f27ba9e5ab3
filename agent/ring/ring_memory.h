#pragma once
/*
 * The ring's memory as the agent makes it: a sealed memfd that has its largest size from the start,
 * laid out as proto/ring.h says. Slices come in sizes: a thread begins in one of 8 KiB, a busy one
 * moves on to a larger one, of which there are few; and for programs with hundreds of threads there
 * is a crowd of 2 KiB each.
 *
 *   8 MiB limit, one program: 484 of 2 KiB, 13 of 8 KiB, 7 of 32 KiB, one of 128 KiB and one of 512
 *   KiB
 *
 * A ring may be sparse: it is backed step by step (ring_memory_back), slices in the order of their
 * numbers, and the program is told of a slice (ring_header.slice_count) when its pages are there,
 * charged to the agent. Beyond them nobody reads or writes.
 *
 *   | header | slices of step 0 | 1 | 2 ... | modules | set | data of step 0 | 1 | 2 ... |
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/ring.h"

struct ring_memory {
	int fd;	  /* what programs are given */
	int lock; /* the agent's own description of the same file, locked for as long as the agent
		     lives; -1: none */
	size_t size;
	size_t backed;		    /* bytes of it that are there */
	struct ring_header *header; /* the mapping, shared with the program: never trusted */
	struct ring_slice *slices;
	uint8_t *modules;
	/* What the agent wrote into the header, for its own use: the program can overwrite the
	 * other copy. */
	uint32_t slice_count; /* that are backed */
	uint32_t steps;	      /* likewise */
	bool swapped;	      /* its words are of the other byte order (ring_words.h) */
	uint64_t modules_size;
	struct ring_extent {
		uint64_t offset;
		uint64_t words;
	} extent[];
};

#define RING_SLICES_MAX	     1024
#define RING_STEPS_MAX	     8
#define RING_MEMORY_NAME     "heapcast-ring" /* of the memfd */
#define RING_INCARNATION_MAX (1u << 30)

struct ring_settings {
	uint8_t stream[RING_STREAM_ID_SIZE];
	uint8_t mark[RING_MARK_SIZE]; /* where it belongs to (home.h) */
	uint32_t mode;
	uint32_t policy;
	uint32_t block_max_ms;
	uint64_t sample_interval;
	uint32_t frees_have_stacks;
	uint32_t depth_limit;
	uint32_t verify;
	uint32_t counter; /* enum ring_clock that stamps may be of, besides RING_CLOCK_MONOTONIC */
	bool swapped;	  /* for a program of the other byte order */
	pid_t emulated;	  /* the process, if an emulator runs it; else 0 */
};

/* How large a ring is after each of its steps, bytes with all that belongs to it. One step: it is
 * whole from the start. */
struct ring_shape {
	uint32_t steps;
	size_t size[RING_STEPS_MAX];
};

static inline struct ring_shape ring_shape_whole(size_t size)
{
	return (struct ring_shape){.steps = 1, .size = {size}};
}

/* How many slices a ring has after `steps` of its steps; at most RING_SLICES_MAX. */
uint32_t ring_slice_count(const struct ring_shape *shape, uint32_t steps);
/* Words of one of them. */
uint64_t ring_slice_words(const struct ring_shape *shape, uint32_t index);
/* Bytes that are backed after so many steps. */
size_t ring_backed(const struct ring_shape *shape, uint32_t steps);
/* Bytes of struct ring_memory for a ring of this shape. */
size_t ring_memory_struct_size(const struct ring_shape *shape);
/* Makes a ring with its first step; `ring` has ring_memory_struct_size(shape), and is zeroed,
 * closed, or prepared for that shape: what takes the time, about 1 ms a megabyte, is done then. 0
 * or a negative errno. */
int ring_memory_prepare(struct ring_memory *ring, const struct ring_shape *shape);
int ring_memory_open(struct ring_memory *ring, const struct ring_shape *shape,
		     const struct ring_settings *settings);
/* Backs the slices of the next step, and then tells the program. 0 or a negative errno: nothing has
 * changed. */
int ring_memory_back(struct ring_memory *ring, const struct ring_shape *shape);
/* Takes up a ring that another agent has made: `lock` is a descriptor of it that nobody else has,
 * locked; it is taken over, and closed on failure. All that the header says must be as
 * ring_memory_open would have made it, after some of the steps. 0; -EBADMSG: it is no such ring;
 * -ERANGE: it is one of another size; or another negative errno. */
int ring_memory_adopt(struct ring_memory *ring, const struct ring_shape *shape, int lock);
void ring_memory_close(struct ring_memory *ring);

/* Locks the memory that a descriptor, which nobody else has, refers to. 0; -EWOULDBLOCK: its agent
 * lives; negative errno. */
int ring_memory_lock(int fd);
