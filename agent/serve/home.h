#pragma once
/*
 * Where an agent's rings belong to: the socket that programs ask at, the network that it is in, and
 * the key (or the authority of certificates) that it proves itself by. An agent takes up only rings
 * of its own mark (takeup.h): what was recorded under a key is never sent without it, and no agent
 * takes what another one, at another socket, is to go on with. What is left in a spool's folder is
 * parted by the key alone.
 *
 * Keys by pairing come and go, and what was recorded must not be lost with one, nor be sent without
 * any: all of a folder belong to one owner of the board. So what is recorded belongs not to one of
 * them but to the installation, a secret of the folder that is made at the first pairing and stays
 * (base/secure/pairs.h). The law is: what was recorded by an agent with a folder of keys is sent by
 * agents with this folder only, by TLS, to whoever has a key that is in it when it is sent. Who is
 * paired later gets what waits; whose key is forgotten gets no more; and an agent that was paired
 * once has the installation when all keys are gone, and sends nothing.
 */
#include <stdint.h>

#include "proto/ring.h"

struct err_text;
struct agent_settings;

#define HOME_KEY_DIGITS 16

/* A MAC under the key, so it tells nothing of that. Where there is nothing that could be found
 * again it is random. 0 or a negative errno with the reason. */
int home_mark(const struct agent_settings *settings, uint8_t ret_mark[RING_MARK_SIZE],
	      struct err_text *err);
/* Tells keys apart, in hexadecimal; empty: there is none. 0 or a negative errno with the reason. */
int home_key(const struct agent_settings *settings, char ret_digits[HOME_KEY_DIGITS + 1],
	     struct err_text *err);
