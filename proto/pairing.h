#pragma once
/*
 * Pairing: how an agent and a collector agree on a key of their own, by a code
 * (base/secure/pair_code.h) that a person carries from one to the other.
 *
 *   agent                                          collector
 *   beacon, proven by the code    ------------->   dials          or, without broadcasts:
 *   dials HOST                    ------------->   listens
 *   <=========== TLS 1.3, the code is the key of this one handshake (secure.h) ===========>
 *   hello                         <------------>   hello
 *        both derive the same new key from the session (secure_export);
 *        no third party can derive it
 *   writes it, does not use it
 *   ready, the key's id           ------------->
 *                                                  keeps it; the code is used up
 *                                 <-------------   kept, the key's id
 *   keeps it
 *   done                          ------------->
 *
 * The code reveals nothing about the key. An attacker that learns the code later gains nothing,
 * even with a capture of the whole conversation. If the conversation breaks off, neither side has a
 * key, or the collector has a key that no agent uses; such a key does no harm and can be removed.
 *
 * The functions block. They are for the pairing commands, in their only thread.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/secure/pairs.h"

struct err_text;

/* where collectors listen for agents that dial, beside a running collector */
#define PAIRING_PORT	    43514
#define PAIRING_WITHIN_NS   600000000000ull
#define PAIRING_USES_MAX    PAIRS_ALL
#define PAIRING_MESSAGE_MAX 1024

enum pairing_event_kind {
	PAIRING_LISTENS, /* text: the address and port */
	PAIRING_MADE,	 /* name, host, address */
	PAIRING_UNSURE,	 /* name, host, address; the key is kept here, but the peer has not
			  * confirmed it; text: what happened */
	PAIRING_TROUBLE, /* address, text: a failed attempt */
	PAIRING_WAITS,	 /* once a second; left_ns */
};

struct pairing_event {
	enum pairing_event_kind kind;
	const char *name;    /* of the key file here */
	const char *host;    /* the name that the peer gives itself; safe to display */
	const char *address; /* without a port */
	const char *text;
	uint64_t left_ns;
};

struct pairing_options {
	bool agent;
	const struct secret *code;
	const char *folder;    /* for the key */
	const char *name;      /* of the key; NULL: the peer's host name */
	const char *interface; /* NULL: all */
	const char *host;      /* agent: dial this host and send no beacons; NULL: send beacons */
	uint16_t port;	       /* of that host; collector: port to listen at; 0: PAIRING_PORT */
	unsigned uses;	       /* collector: how many agents may use the code */
	uint64_t within_ns;
	const volatile sig_atomic_t *stop;
	void (*event)(void *context, const struct pairing_event *event);
	void *context;
};

/*
 * Runs until pairing is done, the time is over or *stop is set. Returns the number of keys kept,
 * including those reported by PAIRING_UNSURE, which the peer may not have; or a negative errno with
 * a sentence if pairing could not begin.
 */
int pairing_run(const struct pairing_options *options, struct err_text *err);
