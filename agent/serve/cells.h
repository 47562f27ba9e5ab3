#pragma once
/*
 * Counting cells. The agent does not record a process for which no slot is free, but it counts what
 * the process does, in a page shared with the process (RING_COUNTED, proto/ring.h: a ring's header
 * and nothing else). When the process ends, the stream of its nearest recorded ancestor gets an
 * Unrecorded message (heapcast.proto); that stream is then not complete.
 *
 * The number of cells is small. If no cell is free, the stream still reports that the process
 * existed, without counts. A process asks again after each exec, and may be recorded if a slot is
 * free by then. It is reported once all the same.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/core/target.h"
#include "proto/discovery.h"
#include "proto/ring.h"
#include "proto/ring_handshake.h"

#define CELLS_MAX   32
#define CELLS_BYTES (CELLS_MAX * (size_t)RING_HEADER_SIZE) /* reserved for the cells */

#define CELLS_TOLD 1024

/* A process that was reported. The entry at its pid modulo CELLS_TOLD holds it until another
 * process that maps to the same entry is reported. */
struct cell_told {
	pid_t pid;
	uint32_t start_ticks; /* the lower half of the start time */
};

struct agent;
struct handshake_client;
struct session;

struct cell {
	struct ring_header *header; /* NULL: the cell is free */
	int fd;
	pid_t pid;
	uint64_t start_ticks;
	uint8_t parent[STREAM_ID_SIZE];
	char name[16];
};

/* Answers a program that asks when no slot is free. */
void cells_turn_away(struct agent *agent, struct handshake_client *client,
		     const struct ring_hello *hello);
/* Reports what the cell of a process has counted, because the process has a slot now. */
void cells_placed(struct agent *agent, pid_t pid);
/* Reports a fork child that can't even be counted. */
void cells_unready(struct agent *agent, struct handshake_client *client,
		   const struct ring_hello *hello);
/* Reports a process that ended before the agent read its request. */
void cells_unheard(struct agent *agent, const struct handshake_client *client,
		   const struct ring_hello *hello);
/* Reports cells whose processes have ended, and frees them. */
void cells_tick(struct agent *agent);
/* Hands on the cells of a session whose process has ended: to the nearest recorded ancestor.
 * Without such an ancestor, reports them to the session's stream with their present counts. */
void cells_orphaned(struct session *session);
