#pragma once
/*
 * Keeps the collectors that the agent knows: those that are connected, and those that were
 * connected a while ago. Each stream has a cursor for each of them (struct session). So a collector
 * that has lost its connection later finds the batches that it lacks, even if other collectors have
 * acknowledged them meanwhile (spool.h).
 *
 * A collector that has proved itself by a key or a certificate is identified by the id that it
 * reports. Other collectors may report any id, so they are identified by id and address: a stranger
 * with another collector's id counts as a different collector. At the end of a recording, the agent
 * waits and keeps data only for collectors that are `named` (session_deliver.c): they have a key,
 * or --collector names their host.
 *
 * There are few entries. If all are taken, a newcomer replaces a collector that is away: the one
 * that has been away longest, of the address with the most entries. The number of connected
 * collectors is always smaller than the number of entries. Owner: the main loop.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/discovery.h"

#define COLLECTORS_MAX 8
/* After this time the agent forgets a collector and keeps nothing for it. */
#define COLLECTOR_AWAY_NS  UINT64_C(3600000000000)
#define COLLECTOR_ADDRESS  64
#define COLLECTOR_NAME_MAX 128

struct collector {
	bool known; /* false: the entry is free */
	bool proved;
	bool named;
	uint8_t id[STREAM_ID_SIZE];
	char address[COLLECTOR_ADDRESS]; /* numeric, without a port */
	char name[COLLECTOR_NAME_MAX];	 /* for users: "control socket (10.0.0.5)"; printable */
	bool full; /* it has said that its disk takes nothing, and has acknowledged nothing since */
	uint32_t links;	  /* connections; 0: the collector is away */
	uint64_t left_ns; /* CLOCK_MONOTONIC: away since */
};

struct collectors {
	struct collector at[COLLECTORS_MAX];
};

/* A collector's greeting. The strings and the id are copied. */
struct collector_greeting {
	const uint8_t *id; /* STREAM_ID_SIZE bytes; NULL: it reports none */
	const char *host;  /* the collector's name for itself */
	const char *address;
	bool proved, named;
};

/* Adds a connection of a collector. Returns the collector's index. Sets *ret_new if the agent did
 * not know it. */
uint32_t collectors_welcome(struct collectors *collectors,
			    const struct collector_greeting *greeting, bool *ret_new);
/* Removes a connection of a collector. */
void collectors_left(struct collectors *collectors, uint32_t place, uint64_t now);
/* Forgets a collector that has been away too long. Returns its index, or COLLECTORS_MAX if there is
 * none. */
uint32_t collectors_lapse(struct collectors *collectors, uint64_t now);
