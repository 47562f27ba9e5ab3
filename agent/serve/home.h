#pragma once
/*
 * The home of an agent's rings: the socket where programs ask, the network namespace of the agent,
 * and the key (or the certificate authority) with which it authenticates. An agent takes up only
 * rings with its own mark (takeup.h). So what was recorded under a key is never sent without that
 * key, and no agent takes what an agent at another socket should continue. The contents of a spool
 * folder are separated by the key alone.
 *
 * Keys by pairing come and go. A recording must not be lost with a key, nor be sent without any
 * key. All keys of a folder belong to one owner of the board, so a recording belongs not to one of
 * the keys but to the installation: a secret of the folder that is created at the first pairing and
 * stays (base/secure/pairs.h). The rule: what an agent with a folder of keys recorded is sent only
 * by agents with this folder, over TLS, to a peer whose key is in the folder at that time. A
 * collector that is paired later gets what waits. A collector whose key was removed gets nothing
 * more. An agent that was paired once still has the installation when all keys are gone, and then
 * sends nothing.
 */
#include <stdint.h>

#include "proto/ring.h"

struct err_text;
struct secret;

#define HOME_KEY_DIGITS 16

/* The properties that tell the homes of agents apart. */
struct home {
	const char *socket;	     /* NULL: no agent may take up the rings */
	const struct secret *secret; /* the key; NULL: none */
	const char *authority;	     /* file of the certificate authority; NULL: none */
};

/* Computes the mark of this agent's rings: a MAC under the key, so the mark does not reveal the
 * key. Without a socket, the mark is random. Returns 0, or a negative errno with the reason. */
int home_mark(const struct home *home, uint8_t ret_mark[RING_MARK_SIZE], struct err_text *err);
/* Computes an identifier of the key, in hexadecimal; empty if no key is set. Returns 0, or a
 * negative errno with the reason. */
int home_key(const struct home *home, char ret_digits[HOME_KEY_DIGITS + 1], struct err_text *err);
