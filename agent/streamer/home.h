#pragma once
/*
 * Where an agent's rings belong to: the socket that programs ask at, the network that it is in, and the key (or the authority of
 * certificates) that it proves itself by. An agent takes up only rings of its own mark (takeup.h): what was recorded under a key is never
 * sent without it, and no agent takes what another one, at another socket, is to go on with. What is left in a spool's folder is
 * parted by the key alone.
 */
#include <stdint.h>

#include "proto/ring.h"

struct err_text;
struct agent_settings;

#define HOME_KEY_DIGITS 16

/* A MAC under the key, so it tells nothing of that. Where there is nothing that could be found again it is random. 0 or a negative
 * errno with the reason. */
int home_mark(const struct agent_settings *settings, uint8_t ret_mark[RING_MARK_SIZE], struct err_text *err);
/* Tells keys apart, in hexadecimal; empty: there is none. 0 or a negative errno with the reason. */
int home_key(const struct agent_settings *settings, char ret_digits[HOME_KEY_DIGITS + 1], struct err_text *err);
