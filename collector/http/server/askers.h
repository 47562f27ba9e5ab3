#pragma once
/*
 * Connections that have sent at least one request. The table records their addresses, so that one
 * address cannot take all places. A connection is busy while its request is being answered. Idle
 * connections may send further requests, and are evicted for a newcomer when places are short
 * (strangers.h).
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/secure/strangers.h"

#define ASKERS_MAX  256
#define ASKERS_EACH 128 /* per address, including a proxy's */

struct asker {
	struct asker *next;
	struct stranger who; /* `time`: of arrival, or of the last answer */
	void *connection;
	bool busy;
};

struct askers {
	struct asker *list;
};

/* Adds a connection from `who`. Sets `ret_leaver` to the connection that the caller has to close in
 * exchange, or to NULL. Returns NULL if busy connections take all places, or all of this address,
 * or if memory is short. */
struct asker *askers_add(struct askers *askers, const struct stranger *who,
			 struct asker **ret_leaver);
/* Removes an entry whose connection is closed. */
void askers_remove(struct askers *askers, struct asker *asker);
