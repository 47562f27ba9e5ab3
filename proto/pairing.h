#pragma once
/*
 * How an agent and a collector get a key of their own: by a code (base/secure/pair_code.h) that a
 * person has brought from one to the other.
 *
 *   agent                                           collector
 *   beacon, proven by the code    ------------->    dials           or, without broadcasts:
 *   dials HOST                    ------------->    listens
 *   <=========== TLS 1.3, the code is the key of this one handshake (secure.h) ===========>
 *   hello                         <------------>    hello
 *            both derive the same new key from the session, that nobody else can tell
 *            (secure_export)
 *   writes it, does not use it
 *   ready, the key's id           ------------->
 *                                                   keeps it; the code is used
 *                                 <-------------    kept, the key's id
 *   keeps it
 *   done                          ------------->
 *
 * What the code was tells nothing of the key, and who gets to know the code later can do nothing
 * with it, not even with a recording of all this. Where the conversation breaks, nobody has a key,
 * or the collector has one that no agent uses: that does no harm, and can be removed.
 *
 * It blocks: for the commands that pair, in their only thread.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/secure/pairs.h"

struct err_text;

/* where collectors listen for agents that dial; beside a collector that gathers */
#define PAIRING_PORT	    43514
#define PAIRING_WITHIN_NS   600000000000ull
#define PAIRING_USES_MAX    PAIRS_ALL
#define PAIRING_MESSAGE_MAX 1024

enum pairing_event_kind {
	PAIRING_LISTENS, /* text: where */
	PAIRING_MADE,	 /* name, host, address */
	PAIRING_UNSURE,	 /* name, host, address: kept here, and the other side has not said that it
			    did; text: what happened */
	PAIRING_TROUBLE, /* address, text: an attempt that came to nothing */
	PAIRING_WAITS,	 /* once a second; left_ns */
};

struct pairing_event {
	enum pairing_event_kind kind;
	const char *name;    /* of the key's file here */
	const char *host;    /* as the other side says, cleaned */
	const char *address; /* without a port */
	const char *text;
	uint64_t left_ns;
};

struct pairing_options {
	bool agent;
	const struct secret *code;
	const char *folder;    /* for the key */
	const char *name;      /* of it; NULL: as the other side says */
	const char *interface; /* NULL: all */
	const char *host;      /* agent: dial this, and announce nothing; NULL: announce */
	uint16_t port;	       /* of that; collector: to listen at; 0: PAIRING_PORT */
	unsigned uses;	       /* collector: how many agents may use the code */
	uint64_t within_ns;
	const volatile sig_atomic_t *stop;
	void (*event)(void *context, const struct pairing_event *event);
	void *context;
};

/* Until it is done, or time is over, or *stop is set. How many keys were kept (with PAIRING_UNSURE
 * told of those that the other side may not have); a negative errno with a sentence: it could not
 * begin. */
int pairing_run(const struct pairing_options *options, struct err_text *err);
