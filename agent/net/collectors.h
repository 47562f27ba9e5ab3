#pragma once
/*
 * The collectors that this agent has welcomed: those that are connected, and those that were a
 * while ago. Each stream keeps a cursor for each of them (struct session), so that one which was
 * cut off finds what it lacks, whatever others have acknowledged meanwhile (spool.h).
 *
 * One that has proved itself by a key or a certificate is known by the id that it says. Of the
 * others anybody may say any id, so the address that it comes from belongs to it: a stranger with
 * the id of another one is another one. Who may be `named` is waited for and written for at the end
 * (session_end.c): it has a key, or --collector names its host.
 *
 * Few places. When they are taken a newcomer gets that of one which is away: of whatever address
 * has most of them, and of these the one that has been away longest. Collectors that are connected
 * are fewer than places. Owner: the main loop.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/discovery.h"

#define COLLECTORS_MAX 8
/* then it is forgotten, and nothing is kept for it any more */
#define COLLECTOR_AWAY_NS  UINT64_C(3600000000000)
#define COLLECTOR_ADDRESS  64
#define COLLECTOR_NAME_MAX 128

struct collector {
	bool known; /* else the place is free */
	bool proved;
	bool named;
	uint8_t id[STREAM_ID_SIZE];
	char address[COLLECTOR_ADDRESS]; /* numeric, without a port */
	char name[COLLECTOR_NAME_MAX];	 /* for people: "desk (10.0.0.5)"; printable */
	uint32_t links;			 /* connections; 0: it is away */
	uint64_t left_ns;		 /* CLOCK_MONOTONIC: since when */
};

struct collectors {
	struct collector at[COLLECTORS_MAX];
};

/* Who greets. What it points to is copied. */
struct collector_greeting {
	const uint8_t *id; /* STREAM_ID_SIZE; NULL: it says none */
	const char *host;  /* what it calls itself */
	const char *address;
	bool proved, named;
};

/* It is connected, once more. Its place; *ret_new: nobody known to be it was there before. */
uint32_t collectors_welcome(struct collectors *collectors,
			    const struct collector_greeting *greeting, bool *ret_new);
/* One of its connections is gone. */
void collectors_left(struct collectors *collectors, uint32_t place, uint64_t now);
/* Forgets one that has been away too long. Its place; COLLECTORS_MAX: there is none such. */
uint32_t collectors_lapse(struct collectors *collectors, uint64_t now);
