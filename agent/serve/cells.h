#pragma once
/*
 * Counting cells: a process for which there is no place is not recorded, but what it does is
 * counted, in a page that it shares with the agent (RING_COUNTED, proto/ring.h: a ring's header and
 * nothing else). When it is over the stream of the recorded process that it descends from tells of
 * it (Unrecorded in heapcast.proto), and that one is not complete then.
 *
 * There are few; for who gets none either, the stream tells that it was there, without counts. A
 * process asks once for each program that it becomes, and when a place is free it may be recorded
 * after all. Still it is told of once.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/core/target.h"
#include "proto/discovery.h"
#include "proto/ring.h"

#define CELLS_MAX   32
#define CELLS_BYTES (CELLS_MAX * (size_t)RING_HEADER_SIZE) /* are kept for them */

#define CELLS_TOLD 1024

/* A process that was told of: at its number modulo CELLS_TOLD, until another is told of that
 * belongs there. */
struct cell_told {
	pid_t pid;
	uint32_t start_ticks; /* the lower half */
};

struct agent;
struct handshake_client;
struct session;

struct cell {
	struct ring_header *header; /* NULL: it is free */
	int fd;
	pid_t pid;
	uint64_t start_ticks;
	bool swapped;
	bool partly; /* a later program of it can't be counted here */
	uint8_t parent[STREAM_ID_SIZE];
	char name[16];
};

/* Answers who asks for a place and gets none. */
void cells_turn_away(struct agent *agent, struct handshake_client *client,
		     const struct ring_hello *hello);
/* This process has a place now: what was counted before is told. */
void cells_placed(struct agent *agent, pid_t pid);
/* A fork child that can't even be counted. */
void cells_unready(struct agent *agent, struct handshake_client *client,
		   const struct ring_hello *hello);
/* One that was over before it was heard. */
void cells_unheard(struct agent *agent, const struct handshake_client *client,
		   const struct ring_hello *hello);
/* Tells of those that are over. */
void cells_tick(struct agent *agent);
/* The session's process is over: its cells become those of the one that it descends from, or are
 * told of as they are. */
void cells_orphaned(struct session *session);
