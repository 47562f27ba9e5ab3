#pragma once
/* Inside of proto/pairing: its connections. Few at a time: strangers can't take the places of those
 * who have the code for long. */
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
	size_t came; /* before the handshake was done */
	struct pairing_talk talk;
	uint8_t raw[PAIRING_RAW];
};

struct pairing_places {
	struct pairing_share share;
	struct secure *secure;
	struct strangers strangers;
	struct pairing_place place[PAIRING_PLACES];
	struct err_text last; /* what the last attempt came to */
};

void pairing_places_init(struct pairing_places *places, struct secure *secure,
			 const struct pairing_options *options);
/* Takes over a socket that was accepted. */
void pairing_places_accept(struct pairing_places *places, int fd,
			   const struct sockaddr_storage *from, uint64_t now_ms);
/* Connects to this address. 0; -EBUSY: there is no place; another negative errno. */
int pairing_places_dial(struct pairing_places *places, const struct sockaddr_storage *to,
			uint64_t now_ms);
/* One that was dialled is under way. */
bool pairing_places_dialling(const struct pairing_places *places);
/* Somebody has proved that he has the code: he is waited for, though it is used up or too old by
 * now. */
bool pairing_places_busy(const struct pairing_places *places);
/* What to wait for: PAIRING_PLACES of them. */
void pairing_places_poll(const struct pairing_places *places, struct pollfd *polls);
void pairing_places_work(struct pairing_places *places, const struct pollfd *polls,
			 uint64_t now_ms);
void pairing_places_done(struct pairing_places *places);
