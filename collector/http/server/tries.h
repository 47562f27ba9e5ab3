#pragma once
/*
 * Wrong tokens are slowed: of one address so many at once, then one a second; more are not looked
 * at. An address has one number, the moment at which all of its wrong ones are forgiven, each of
 * which moves that by a second.
 *
 *   now          forgiven
 *    |--1 s--|--1 s--|--1 s--|        two more may be tried now
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/secure/strangers.h"

#define TRIES_AT_ONCE	  5
#define TRIES_FORGIVEN_MS 1000 /* each */
#define TRIES_ADDRESSES	  256  /* that are remembered; who is forgiven first gives way */

struct tries {
	struct tries_address {
		struct stranger_address from;
		uint64_t forgiven_ms;
	} list[TRIES_ADDRESSES];
};

/* May a token from there be looked at? */
bool tries_may(const struct tries *tries, const struct stranger_address *from, uint64_t now_ms);
/* It was wrong. */
void tries_wrong(struct tries *tries, const struct stranger_address *from, uint64_t now_ms);
