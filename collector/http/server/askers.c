/* Tracks connections that have sent a request. See askers.h. */
#include "collector/http/server/askers.h"

#include <stdlib.h>
#include <string.h>

#include "base/ban.h"

/* Makes room by evicting an idle connection. Returns false if all places are busy. */
static bool askers_make_room(const struct askers *askers, const struct stranger_address *from,
			     struct asker **ret_leaver)
{
	struct stranger idle[ASKERS_MAX];
	struct asker *one[ASKERS_MAX];
	size_t count = 0, busy = 0, own = 0;
	int leaver;

	for (struct asker *c = askers->list; c; c = c->next) {
		if (c->busy) {
			busy++;
			own += !memcmp(&c->who.from, from, sizeof(*from));
			continue;
		}
		idle[count] = c->who;
		one[count++] = c;
	}
	*ret_leaver = NULL;
	if (busy >= ASKERS_MAX || own >= ASKERS_EACH)
		return false;
	leaver = strangers_gives_way(idle, count, ASKERS_MAX - busy, ASKERS_EACH - own, from);
	if (leaver >= 0)
		*ret_leaver = one[leaver];
	return true;
}

struct asker *askers_add(struct askers *askers, const struct stranger *who,
			 struct asker **ret_leaver)
{
	struct asker *c =
		askers_make_room(askers, &who->from, ret_leaver) ? calloc(1, sizeof(*c)) : NULL;

	if (!c)
		return NULL;
	c->who = *who;
	c->next = askers->list;
	askers->list = c;
	return c;
}

void askers_remove(struct askers *askers, struct asker *asker)
{
	struct asker **at = &askers->list;

	while (*at != asker)
		at = &(*at)->next;
	*at = asker->next;
	free(asker);
}
