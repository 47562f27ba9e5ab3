#pragma once
/*
 * The connections of proto/pairing, private to it. Their number is small, and limits keep strangers
 * from blocking peers that have the code for long.
 */
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/secure/strangers.h"
#include "proto/pairing_talk.h"

struct pollfd;

#define PAIRING_PLACES	8
#define PAIRING_EACH	4 /* of one address */
#define PAIRING_TALK_MS 15000
#define PAIRING_RAW	2048

struct pairing_place {
	int fd; /* -1: free */
	bool connecting, shaken, leaving;
	bool dialled;
	struct stranger who;
	size_t came; /* bytes received before the handshake was done */
	struct pairing_talk talk;
	uint8_t raw[PAIRING_RAW];
};

struct pairing_places {
	struct pairing_share share;
	struct secure *secure;
	struct strangers strangers;
	struct pairing_place place[PAIRING_PLACES];
	struct err_text last; /* the outcome of the last attempt */
};

void pairing_places_init(struct pairing_places *places, struct secure *secure,
			 const struct pairing_options *options);
/* Takes over an accepted socket. */
void pairing_places_accept(struct pairing_places *places, int fd,
			   const struct sockaddr_storage *from, uint64_t now_ms);
/* Connects to an address. Returns 0, -EBUSY if no place is free, or another negative errno. */
int pairing_places_dial(struct pairing_places *places, const struct sockaddr_storage *to,
			uint64_t now_ms);
/* Tells whether a dialled connection is in progress. */
bool pairing_places_dialling(const struct pairing_places *places);
/*
 * Tells whether a peer has proved that it has the code. The caller waits for such a peer even if
 * the code is meanwhile used up or expired.
 */
bool pairing_places_busy(const struct pairing_places *places);
/* Fills in PAIRING_PLACES entries to poll. */
void pairing_places_poll(const struct pairing_places *places, struct pollfd *polls);
void pairing_places_work(struct pairing_places *places, const struct pollfd *polls,
			 uint64_t now_ms);
void pairing_places_done(struct pairing_places *places);
