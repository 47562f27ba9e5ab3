#pragma once
/* The agent of the tests, in two files: the one (ring_agent.c) starts programs and hands them a
 * ring, the other (ring_agent_read.c) reads it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "tests/unit/preload/support/ring_agent.h"

#define SAVED_DEPTH_MAX 256 /* frames of a numbered stack */
#define STACK_MAX	8192
#define MODULES_SIZE	(256u << 10)

struct reader {
	uint64_t tail;
	uint64_t read; /* events, since the claim */
	uint32_t generation;
	bool used;
	bool whole; /* the next event with a stack must have keep = 0 */
	uint32_t epoch;
	uint32_t depth;
	uint64_t stack[STACK_MAX]; /* outermost first */
	uint32_t saved_depth[RING_SAVED_MAX];
	uint64_t saved[RING_SAVED_MAX][SAVED_DEPTH_MAX];
};

struct agent {
	const struct agent_options *options;
	struct agent_result *result;
	struct ring_header *ring;
	int memory;
	size_t size;
	int link;     /* the inherited pair's other end */
	int listener; /* for exec'd images */
	char socket_name[64];
	pid_t pid;
	int output; /* the program's; its place in there is this process's, too */
	bool awake; /* and the program was told so */
	struct reader *readers;
	size_t event_room;
	size_t module_room;
};

static inline void must(bool truth, const char *what)
{
	if (truth)
		return;
	perror(what);
	abort();
}

static inline struct ring_slice *slice_at(struct agent *a, uint32_t index)
{
	return (struct ring_slice *)((uint8_t *)a->ring + a->ring->slices_offset) + index;
}

/* Reads what is published: heads, then modules, then records up to those heads. `ended`: the
 * program's threads are no more. */
void agent_drain(struct agent *a, bool ended);
