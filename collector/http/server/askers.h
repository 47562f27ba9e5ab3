#pragma once
/*
 * Connections that have asked once: whose they are, so that one address does not take the places of
 * all. One whose question is being answered is busy; others may ask again, and give way to a
 * newcomer when places are short (strangers.h).
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/secure/strangers.h"

#define ASKERS_MAX  256
#define ASKERS_EACH 128 /* of one address: a proxy's, too */

struct asker {
	struct asker *next;
	struct stranger who; /* since it came, or was answered */
	void *connection;
	bool busy;
};

struct askers {
	struct asker *list;
};

/* A place for one from there. ret_leaver: who has to go for it, NULL: nobody. NULL: there is none,
 * all are busy; or no memory. */
struct asker *askers_add(struct askers *askers, const struct stranger *who,
			 struct asker **ret_leaver);
/* Its connection is gone. */
void askers_remove(struct askers *askers, struct asker *asker);
