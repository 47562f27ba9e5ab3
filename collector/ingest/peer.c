/*
 * Agents that the collector wants a link to. It retries with growing pauses as long as their
 * beacons arrive, or forever if they were named.
 *
 * An agent is one peer, however many ways its beacons take. The first beacon's address is kept as
 * long as beacons arrive from there, or a link to it works. After that the agent is where its
 * newest beacon comes from, and the old link is closed.
 *
 * Beacons can be forged. Each address has a share of the places, and an agent that has answered a
 * probe, so that it is known to be there, replaces one that has not.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "collector/ingest/state.h"
#include "base/ban.h"

#define NAME_ADDRESSES 8 /* addresses per name that are tried */
#define PEERS_AN_AGENT 4 /* known peers per place */

static void back_off(struct peer *p, uint64_t now_ms)
{
	p->backoff_ms = p->backoff_ms ? p->backoff_ms * 2 : BACKOFF_FIRST_MS;
	if (p->backoff_ms > BACKOFF_MAX_MS)
		p->backoff_ms = BACKOFF_MAX_MS;
	p->next_try_ms = now_ms + p->backoff_ms;
}

/* Tells the user once why a named agent cannot be reached. */
static void warn_once(struct peer *p, const char *why)
{
	if (p->fixed && !p->warned)
		ingest_warn(p->ingest, "cannot reach %s port %u: %s; trying again", p->host,
			    p->port, why);
	p->warned = true;
}

static struct peer *peer_find(const struct ingest *ingest, const uint8_t agent[STREAM_ID_SIZE])
{
	const uint64_t *at = map_get(&ingest->peer_of, id_key(ingest, agent));

	return at ? (struct peer *)(uintptr_t)*at : NULL;
}

enum link_kind peer_kind(const struct peer *p)
{
	const struct ingest *ingest = p->ingest;

	if (!ingest->secure)
		return LINK_PLAIN;
	if (ingest->strict || p->keyed)
		return LINK_TLS;
	return p->fixed && !p->plain && secure_keys(ingest->secure) ? LINK_TLS : LINK_PLAIN;
}

static bool is_silent(const struct link *link)
{
	return uv_now(link->ingest->loop) - link->heard_ms >= MOVED_MS;
}

/*
 * Tells whether the agent at the other end still sends beacons. If so, another agent's beacon,
 * which may be forged, does not displace it.
 */
static bool is_announced(const struct link *link)
{
	const struct peer *p = peer_find(link->ingest, link->agent);

	return p && p->address_seen_ms &&
	       uv_now(link->ingest->loop) - p->address_seen_ms < MOVED_MS;
}

/*
 * Several peers can have one address: a named one that also sends beacons, or a restarted agent.
 * After a restart the old agent cannot be at that address any more, so a silent link to it is dead.
 */
static void connect_to(struct peer *p, const struct sockaddr *address)
{
	char text[ADDRESS_TEXT];
	struct link *other = link_by_address(p->ingest, address_format(text, address));
	int r;

	if (other && p->has_agent && other->state == LINK_OPEN && is_silent(other) &&
	    !is_announced(other) && memcmp(other->agent, p->agent, STREAM_ID_SIZE)) {
		link_close(other, "another agent is there now");
		other = NULL;
	}
	if (other) {
		p->next_try_ms = uv_now(p->ingest->loop) + BACKOFF_OTHER_MS;
		return;
	}
	r = link_connect(p->ingest, p, address);
	if (r < 0) {
		warn_once(p, uv_strerror(r));
		back_off(p, uv_now(p->ingest->loop));
	}
}

/* A name can have several addresses; attempts rotate through them. */
static const struct addrinfo *peer_choose(const struct addrinfo *list, unsigned number)
{
	const struct addrinfo *at = list;

	while (number--)
		at = at->ai_next ? at->ai_next : list;
	return at;
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *result)
{
	struct peer *p = request->data;
	struct ingest *ingest = p->ingest;

	p->resolving = false;
	if (status < 0 || !result) {
		if (!ingest->stopping) {
			warn_once(p, status < 0 ? uv_strerror(status) : "no address");
			back_off(p, uv_now(ingest->loop));
		}
	} else if (!ingest->stopping) {
		connect_to(p, peer_choose(result, p->tries++ % NAME_ADDRESSES)->ai_addr);
	}
	uv_freeaddrinfo(result);
	ingest_released(ingest);
}

static void resolve(struct peer *p)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	char service[8];
	int r;

	snprintf(service, sizeof(service), "%u", p->port);
	p->resolve.data = p;
	r = uv_getaddrinfo(p->ingest->loop, &p->resolve, on_resolved, p->host, service, &hints);
	if (r < 0) {
		back_off(p, uv_now(p->ingest->loop));
		return;
	}
	p->resolving = true;
	p->ingest->pending++;
}

/* Tells whether the peer's key was revoked. */
static bool has_lost_key(const struct peer *p)
{
	const struct secure *secure = p->ingest->secure;

	return p->keyed && (!secure || secure_find(secure, p->key_id) == secure_keys(secure));
}

static void try_peer(struct peer *p)
{
	if (has_lost_key(p)) {
		back_off(p, uv_now(p->ingest->loop));
		return;
	}
	if (p->has_agent && link_by_agent(p->ingest, p->agent, p->keyed)) {
		p->next_try_ms = uv_now(p->ingest->loop) + BACKOFF_MAX_MS;
		return;
	}
	if (p->fixed)
		resolve(p);
	else
		connect_to(p, (const struct sockaddr *)&p->address);
}

static uint64_t peers_max(const struct ingest *ingest)
{
	return PEERS_AN_AGENT * (uint64_t)ingest->agents_max;
}

static struct peer *peer_new(struct ingest *ingest)
{
	struct peer *p;

	if (ingest->peer_count >= peers_max(ingest))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->ingest = ingest;
	p->next = ingest->peers;
	ingest->peers = p;
	ingest->peer_count++;
	return p;
}

bool peer_is_proven(const struct ingest *ingest, const uint8_t agent[STREAM_ID_SIZE])
{
	const struct peer *p = peer_find(ingest, agent);

	return (p && p->keyed) || link_by_agent(ingest, agent, true);
}

static void forget_agent(struct peer *p)
{
	if (p->has_agent && peer_find(p->ingest, p->agent) == p)
		map_remove(&p->ingest->peer_of, id_key(p->ingest, p->agent), NULL);
	p->has_agent = false;
}

static void peer_remove(struct peer **at)
{
	struct peer *p = *at;

	*at = p->next;
	p->ingest->peer_count--;
	forget_agent(p);
	free(p);
}

/*
 * Makes room for a peer from this address. Returns false if it has to wait. The newest peers are
 * first in the list.
 */
static bool peer_make_room(struct ingest *ingest, const struct stranger_address *from, bool answers)
{
	struct peer **oldest = NULL, **oldest_there = NULL;
	unsigned there = 0;

	for (struct peer **at = &ingest->peers; *at; at = &(*at)->next) {
		struct peer *p = *at;
		bool is_there = !memcmp(&p->from, from, sizeof(*from));

		if (p->fixed || p->link || p->resolving)
			continue;
		there += is_there;
		if (p->answers)
			continue;
		oldest = at;
		if (is_there)
			oldest_there = at;
	}
	if (there >= PEERS_EACH)
		oldest = oldest_there;
	else if (ingest->peer_count < peers_max(ingest))
		return true;
	if (!answers || !oldest)
		return false;
	peer_remove(oldest);
	return true;
}

int peer_add_fixed(struct ingest *ingest, const char *text, struct err_text *err)
{
	struct peer *p = peer_new(ingest);

	if (!p)
		return err_set(err, -ENOMEM, "more agents than there is room for (%u)",
			       ingest->agents_max);
	p->fixed = true;
	if (parse_endpoint(text, p->host, sizeof(p->host), &p->port) < 0)
		return err_set(err, -EINVAL, "'%.200s' is no HOST:PORT", text);
	if (!p->port)
		p->port = AGENT_TCP_PORT_FIRST;
	return 0;
}

void peer_set_agent(struct peer *p, const uint8_t agent[STREAM_ID_SIZE])
{
	uint64_t *at;

	forget_agent(p);
	memcpy(p->agent, agent, STREAM_ID_SIZE);
	p->has_agent = true;
	at = map_put(&p->ingest->peer_of, id_key(p->ingest, agent), NULL);
	if (at && !*at)
		*at = (uintptr_t)p;
}

/* Returns the address where the sender of a beacon listens. */
static struct sockaddr_storage peer_place_of(const struct beacon_seen *beacon,
					     const struct sockaddr_storage *from)
{
	struct sockaddr_storage place = *from;

	if (place.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&place)->sin6_port = htons(beacon->port);
	else
		((struct sockaddr_in *)&place)->sin_port = htons(beacon->port);
	return place;
}

static bool same_place(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	char first[ADDRESS_TEXT], second[ADDRESS_TEXT];

	return !strcmp(address_format(first, (const struct sockaddr *)a),
		       address_format(second, (const struct sockaddr *)b));
}

/* Tells whether the agent may have moved to where a beacon comes from. */
static bool has_moved(const struct peer *p, uint64_t now_ms)
{
	if (p->fixed || (p->link && p->link->state == LINK_OPEN && !is_silent(p->link)))
		return false;
	return (!p->link && p->failed) || now_ms - p->address_seen_ms >= MOVED_MS;
}

bool peer_is_news(const struct ingest *ingest, const struct beacon_seen *beacon,
		  const struct sockaddr_storage *from)
{
	const struct peer *p = peer_find(ingest, beacon->agent);
	struct sockaddr_storage place = peer_place_of(beacon, from);

	if (p && beacon->keyed != p->keyed && !p->fixed)
		return beacon->keyed;
	return !p || (!p->answers && !p->fixed && !p->link) ||
	       (beacon->sequence > p->sequence && !same_place(&p->address, &place) &&
		has_moved(p, uv_now(ingest->loop)));
}

static void move(struct peer *p, const struct sockaddr_storage *place)
{
	struct link *link = p->link;
	char text[ADDRESS_TEXT];

	if (link)
		link_close(link, "its agent is at %s now",
			   address_format(text, (const struct sockaddr *)place));
	p->address = *place;
	p->address_seen_ms = uv_now(p->ingest->loop);
	p->failed = false;
	p->backoff_ms = 0;
	if (!p->resolving)
		try_peer(p);
}

/* Proven beacons have priority: a peer that used this agent's id without its key loses the id. */
static struct peer *find_proven(struct ingest *ingest, const struct beacon_seen *beacon)
{
	struct peer *p = peer_find(ingest, beacon->agent);

	if (!p || !beacon->keyed || p->keyed || (p->link && p->link->secured))
		return p;
	forget_agent(p);
	return NULL;
}

static void heard_again(struct peer *p, const struct beacon_seen *beacon,
			const struct sockaddr_storage *place)
{
	uint64_t now_ms = uv_now(p->ingest->loop);
	bool newer = beacon->sequence > p->sequence, same = same_place(&p->address, place);

	if (newer) {
		p->sequence = beacon->sequence;
		p->streams = beacon->streams;
		p->seen_ms = now_ms;
	}
	if (same && beacon->sequence >= p->sequence)
		p->address_seen_ms = now_ms;
	if (!same && newer && has_moved(p, now_ms))
		move(p, place);
}

void peer_beacon(struct ingest *ingest, const struct beacon_seen *beacon,
		 const struct sockaddr_storage *from, bool answers)
{
	const struct stranger_address there = stranger_address((const struct sockaddr *)from);
	struct sockaddr_storage place = peer_place_of(beacon, from);
	struct peer *p = find_proven(ingest, beacon);
	char address[ADDRESS_TEXT];

	if (p && p->keyed && !beacon->keyed)
		return;
	if (p) {
		if (beacon->keyed)
			memcpy(p->key_id, beacon->key_id, SECRET_ID_SIZE);
		p->answers |= answers;
		heard_again(p, beacon, &place);
		return;
	}
	p = peer_make_room(ingest, &there, answers) ? peer_new(ingest) : NULL;
	if (!p) {
		probe_soon(ingest);
		return;
	}
	p->from = there;
	p->keyed = beacon->keyed;
	memcpy(p->key_id, beacon->key_id, SECRET_ID_SIZE);
	p->answers = answers;
	peer_set_agent(p, beacon->agent);
	p->address = place;
	p->streams = beacon->streams;
	p->port = beacon->port;
	p->sequence = beacon->sequence;
	p->seen_ms = p->address_seen_ms = uv_now(ingest->loop);
	if (!link_by_agent(ingest, beacon->agent, beacon->keyed))
		ingest_tell(ingest, &(struct ingest_event){
					    .kind = INGEST_FOUND,
					    .address = address_format(
						    address, (struct sockaddr *)&p->address)});
	try_peer(p);
}

void peer_link_gone(struct peer *p, bool good)
{
	p->link = NULL;
	p->failed = !good;
	if (good)
		p->backoff_ms = p->turned = 0;
	back_off(p, uv_now(p->ingest->loop));
}

static bool forgettable(const struct peer *p, uint64_t now_ms)
{
	return !p->fixed && !p->link && !p->resolving && now_ms - p->seen_ms > FORGET_MS;
}

void peer_tick(struct ingest *ingest, uint64_t now_ms)
{
	struct peer **at = &ingest->peers;

	while (*at) {
		struct peer *p = *at;

		if (forgettable(p, now_ms)) {
			peer_remove(at);
			continue;
		}
		if (!p->link && !p->resolving && now_ms >= p->next_try_ms)
			try_peer(p);
		at = &p->next;
	}
}

void peers_free(struct ingest *ingest)
{
	while (ingest->peers) {
		struct peer *p = ingest->peers;

		ingest->peers = p->next;
		free(p);
	}
	map_done(&ingest->peer_of);
}
