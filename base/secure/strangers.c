/* Limits for connections that have not authenticated. strangers.h describes them. */
#include "base/secure/strangers.h"

#include <netinet/in.h>
#include <string.h>

#include "base/ban.h"

#define NETWORK_BYTES 8 /* the network part of an IPv6 address */

struct stranger_address stranger_address(const struct sockaddr *address)
{
	struct stranger_address a = {{0}};

	if (address->sa_family == AF_INET) {
		a.bytes[10] = a.bytes[11] = 0xff;
		memcpy(a.bytes + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr,
		       4);
	} else if (address->sa_family == AF_INET6) {
		const struct in6_addr *six =
			&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
		bool four = IN6_IS_ADDR_V4MAPPED(six);

		/*
		 * All neighbours on a link share the link-local network, so the whole address
		 * counts.
		 */
		memcpy(a.bytes, six, four || IN6_IS_ADDR_LINKLOCAL(six) ? 16 : NETWORK_BYTES);
	}
	return a;
}

static bool strangers_is_same(const struct stranger_address *a, const struct stranger_address *b)
{
	return !memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

static size_t count_of(const struct stranger *s, size_t count, const struct stranger_address *from)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += strangers_is_same(&s[i].from, from);
	return n;
}

static int oldest_of(const struct stranger *s, size_t count, const struct stranger_address *from)
{
	int oldest = -1;

	for (size_t i = 0; i < count; i++)
		if (strangers_is_same(&s[i].from, from) &&
		    (oldest < 0 || s[i].since_ms < s[oldest].since_ms))
			oldest = (int)i;
	return oldest;
}

int strangers_gives_way(const struct stranger *s, size_t count, size_t places, size_t each,
			const struct stranger_address *from)
{
	size_t most = 0, at = 0;

	if (count_of(s, count, from) >= each)
		return oldest_of(s, count, from);
	if (count < places)
		return -1;
	for (size_t i = 0; i < count; i++) {
		size_t n = count_of(s, count, &s[i].from);

		if (n > most || (n == most && s[i].since_ms < s[at].since_ms)) {
			most = n;
			at = i;
		}
	}
	return oldest_of(s, count, &s[at].from);
}

bool strangers_admit(struct strangers *s, uint64_t now_ms)
{
	uint64_t more = (now_ms - s->filled_ms) * STRANGERS_A_SECOND / 1000;

	if (more) {
		uint64_t tokens = more + s->tokens;

		s->filled_ms = now_ms;
		s->tokens =
			tokens < STRANGERS_A_SECOND / 4 ? (unsigned)tokens : STRANGERS_A_SECOND / 4;
	}
	if (!s->tokens)
		return false;
	s->tokens--;
	return true;
}

/* Returns the entry of this address, or the entry whose last log line is the oldest. */
static struct stranger *strangers_place_of(struct strangers *s, const struct stranger_address *from)
{
	struct stranger *place = &s->told[0];

	for (size_t i = 0; i < STRANGERS_TOLD; i++) {
		if (strangers_is_same(&s->told[i].from, from))
			return &s->told[i];
		if (s->told[i].since_ms < place->since_ms)
			place = &s->told[i];
	}
	return place;
}

bool strangers_tell(struct strangers *s, const struct stranger_address *from, uint64_t now_ms)
{
	struct stranger *place = strangers_place_of(s, from);
	uint64_t earned = (now_ms - s->told_ms) / STRANGERS_TELL_MS;

	if (place->since_ms && strangers_is_same(&place->from, from) &&
	    now_ms - place->since_ms < STRANGERS_TOLD_MS)
		return false;
	s->lines = earned >= s->lines ? 0 : s->lines - (unsigned)earned;
	if (s->lines >= STRANGERS_TOLD_AT_ONCE)
		return false;
	s->lines++;
	s->told_ms = now_ms;
	*place = (struct stranger){*from, now_ms};
	return true;
}
