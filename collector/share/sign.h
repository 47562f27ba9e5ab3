#pragma once
/* A collector's sign that it is there: its row in the table of collectors, written anew each
 * COLLECTOR_SIGN_NS. share.c gives it. */
#include <stdint.h>

#include "base/error.h"

struct clickhouse;
struct shared_collector;

struct sign {
	uint64_t given_ns;	 /* `seen_ns` of our row as we wrote it last; 0: not yet */
	uint64_t clock_ns;	 /* when that was (cancel_clock_ns) */
	uint64_t found_ns;	 /* `seen_ns` of our row before our first sign; 0: there was none */
	uint32_t process;	 /* a random number below a second, in our row's seen_ns */
	struct err_text doubled; /* another process is this collector, too; "": none is */
};

void sign_init(struct sign *sign);

/*
 * Gives the sign if it is due. `self` has the number, the address and the days; the name is the
 * host's, the time the server's. `folder` is where the number is kept, for the message. Returns
 * -EBUSY with a sentence if another process gives signs with this number; this is found when the
 * second sign is due, and lasts. Without an answer of the server it returns 0: sums go on also
 * where this fails.
 */
int sign_give(struct sign *sign, struct clickhouse *client, const struct shared_collector *self,
	      const char *folder, struct err_text *err);
