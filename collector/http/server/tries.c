/* Counts wrong tokens by address. See tries.h. */
#include "collector/http/server/tries.h"

#include <string.h>

#include "base/ban.h"

static bool is_from(const struct tries_address *a, const struct stranger_address *from)
{
	return !memcmp(&a->from, from, sizeof(*from));
}

bool tries_may(const struct tries *tries, const struct stranger_address *from, uint64_t now_ms)
{
	for (unsigned i = 0; i < TRIES_ADDRESSES; i++)
		if (is_from(&tries->list[i], from) &&
		    tries->list[i].forgiven_ms > now_ms + (TRIES_AT_ONCE - 1) * TRIES_FORGIVEN_MS)
			return false;
	return true;
}

void tries_wrong(struct tries *tries, const struct stranger_address *from, uint64_t now_ms)
{
	struct tries_address *a = &tries->list[0];

	for (unsigned i = 0; i < TRIES_ADDRESSES && !is_from(a, from); i++)
		if (is_from(&tries->list[i], from) || tries->list[i].forgiven_ms < a->forgiven_ms)
			a = &tries->list[i];
	if (!is_from(a, from) || a->forgiven_ms < now_ms)
		*a = (struct tries_address){*from, now_ms};
	a->forgiven_ms += TRIES_FORGIVEN_MS;
}
