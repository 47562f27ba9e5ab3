#pragma once
/*
 * Rate limit for wrong tokens. An address may try TRIES_AT_ONCE wrong tokens in a burst and then
 * one per second; further tokens are refused without a check. The state of an address is one
 * number: the time at which all its wrong tokens are forgiven. Each wrong token moves that time by
 * one second.
 *
 *   now          forgiven
 *    |--1 s--|--1 s--|--1 s--|        two more may be tried now
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/secure/strangers.h"

#define TRIES_AT_ONCE	  5
#define TRIES_FORGIVEN_MS 1000 /* per wrong token */
#define TRIES_ADDRESSES	  256  /* remembered; the one forgiven first is evicted */

struct tries {
	struct tries_address {
		struct stranger_address from;
		uint64_t forgiven_ms;
	} list[TRIES_ADDRESSES];
};

/* Tells whether a token from this address may be checked now. */
bool tries_may(const struct tries *tries, const struct stranger_address *from, uint64_t now_ms);
/* Records a wrong token. */
void tries_wrong(struct tries *tries, const struct stranger_address *from, uint64_t now_ms);
