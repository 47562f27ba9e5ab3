#pragma once
/*
 * Creates the ring's memory: a sealed memfd that has its largest size from the start, with the
 * layout of proto/ring.h. Slices come in several sizes. A thread starts in a slice of 8 KiB. A busy
 * thread moves to one of the few larger slices. Many slices of 2 KiB (the crowd) serve programs
 * with hundreds of threads.
 *
 *   8 MiB limit, one program: 484 slices of 2 KiB, 13 of 8 KiB, 7 of 32 KiB, one of 128 KiB, one of
 *                             512 KiB
 *
 * A ring may be sparse: its pages are allocated step by step (ring_memory_back), for slices in the
 * order of their numbers. The agent announces slices to the program (ring_header.slice_count) after
 * their pages exist and are charged to the agent. Neither side accesses the ring beyond them.
 *
 *   | header | slices of step 0 | 1 | 2 ... | modules | set | data of step 0 | 1 | 2 ... |
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/ring.h"

struct ring_memory {
	int fd; /* the descriptor that programs get */
	/* The agent's own open file description of the same file, locked while the agent lives. -1:
	 * none. */
	int lock;
	size_t size;
	size_t backed;		    /* bytes whose pages exist */
	struct ring_header *header; /* the mapping, shared with the program: never trusted */
	struct ring_slice *slices;
	uint8_t *modules;
	/* The agent's own copy of what it wrote into the header: the program can overwrite the
	 * header. */
	uint32_t slice_count; /* backed slices */
	uint32_t steps;	      /* backed steps */
	uint64_t modules_size;
	struct ring_extent {
		uint64_t offset;
		uint64_t words;
	} extent[];
};

#define RING_SLICES_MAX	     1024
#define RING_STEPS_MAX	     8
#define RING_MEMORY_NAME     "heapcast-ring" /* name of the memfd */
#define RING_INCARNATION_MAX (1u << 30)

struct ring_settings {
	uint8_t stream[RING_STREAM_ID_SIZE];
	uint8_t mark[RING_MARK_SIZE]; /* the agents that the ring belongs to (home.h) */
	uint32_t mode;
	uint32_t policy;
	uint32_t block_max_ms;
	uint64_t sample_interval;
	uint32_t frees_have_stacks;
	uint32_t depth_limit;
	uint32_t verify;
	/* enum ring_clock that stamps may use, besides RING_CLOCK_MONOTONIC. */
	uint32_t counter;
	pid_t emulated; /* the process, if an emulator runs it; else 0 */
};

/* Size of the ring after each of its steps, in bytes, everything included. A ring with one step is
 * complete from the start. */
struct ring_shape {
	uint32_t steps;
	size_t size[RING_STEPS_MAX];
};

static inline struct ring_shape ring_shape_whole(size_t size)
{
	return (struct ring_shape){.steps = 1, .size = {size}};
}

/* Returns the number of slices after `steps` steps; at most RING_SLICES_MAX. */
uint32_t ring_slice_count(const struct ring_shape *shape, uint32_t steps);
/* Returns the size of the slice `index`, in words. */
uint64_t ring_slice_words(const struct ring_shape *shape, uint32_t index);
/* Returns the number of bytes that are backed after `steps` steps. */
size_t ring_backed(const struct ring_shape *shape, uint32_t steps);
/* Returns the size of struct ring_memory for a ring of this shape, in bytes. */
size_t ring_memory_struct_size(const struct ring_shape *shape);
/* Creates a ring with its first step. `ring` has ring_memory_struct_size(shape) bytes and is
 * zeroed, closed, or prepared for this shape. ring_memory_prepare does the slow part in advance,
 * about 1 ms per megabyte; if it was not called, ring_memory_open does that, too. Returns 0 or a
 * negative errno. */
int ring_memory_prepare(struct ring_memory *ring, const struct ring_shape *shape);
int ring_memory_open(struct ring_memory *ring, const struct ring_shape *shape,
		     const struct ring_settings *settings);
/* Backs the slices of the next step, then announces them to the program. Returns 0, or a negative
 * errno with nothing changed for the program. */
int ring_memory_back(struct ring_memory *ring, const struct ring_shape *shape);
/* Takes over a ring that another agent created. `lock` is a locked descriptor of it with an open
 * file description of its own. This function owns it, and closes it on failure. Everything in the
 * header must be as ring_memory_open and some calls of ring_memory_back would have made it. Returns
 * 0, -EBADMSG if the file is no such ring, -ERANGE if its size differs, or another negative
 * errno. */
int ring_memory_adopt(struct ring_memory *ring, const struct ring_shape *shape, int lock);
void ring_memory_close(struct ring_memory *ring);

/* Locks the memory of a descriptor with an open file description of its own. Returns 0,
 * -EWOULDBLOCK if the agent of that ring lives, or another negative errno. */
int ring_memory_lock(int fd);
