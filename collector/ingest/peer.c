/* Agents that we want a link to: tried again and again, with longer pauses, for as long as they are
 * heard of (or were named). */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "collector/ingest/state.h"
#include "base/ban.h"

static void back_off(struct peer *p, uint64_t now_ms)
{
	p->backoff_ms = p->backoff_ms ? p->backoff_ms * 2 : BACKOFF_FIRST_MS;
	if (p->backoff_ms > BACKOFF_MAX_MS)
		p->backoff_ms = BACKOFF_MAX_MS;
	p->next_try_ms = now_ms + p->backoff_ms;
}

/* A person who named the agent wants to know why nothing comes, once. */
static void warn_once(struct peer *p, const char *why)
{
	if (p->fixed && !p->warned)
		ingest_warn(p->ingest, "cannot reach %s port %u: %s; trying again", p->host,
			    p->port, why);
	p->warned = true;
}

/* Several peers can have one address: an agent that was started anew, one that was named and is heard, too. */
static void connect_to(struct peer *p, const struct sockaddr *address)
{
	char text[ADDRESS_TEXT];
	int r;

	if (link_by_address(p->ingest, address_format(text, address))) {
		p->next_try_ms = uv_now(p->ingest->loop) + BACKOFF_MAX_MS;
		return;
	}
	r = link_connect(p->ingest, p, address);
	if (r < 0) {
		warn_once(p, uv_strerror(r));
		back_off(p, uv_now(p->ingest->loop));
	}
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
		connect_to(p, result->ai_addr);
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

static void try_peer(struct peer *p)
{
	if (p->has_agent && link_by_agent(p->ingest, p->agent)) {
		p->next_try_ms = uv_now(p->ingest->loop) + BACKOFF_MAX_MS;
		return;
	}
	if (p->fixed)
		resolve(p);
	else
		connect_to(p, (const struct sockaddr *)&p->address);
}

static struct peer *peer_new(struct ingest *ingest)
{
	struct peer *p;

	if (ingest->peer_count >= PEERS_MAX)
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

int peer_add_fixed(struct ingest *ingest, const char *text, struct err_text *err)
{
	struct peer *p = peer_new(ingest);

	if (!p)
		return err_set(err, -ENOMEM, "more than %d agents", PEERS_MAX);
	p->fixed = true;
	if (parse_endpoint(text, p->host, sizeof(p->host), &p->port) < 0)
		return err_set(err, -EINVAL, "'%.200s' is no HOST:PORT", text);
	if (!p->port)
		p->port = AGENT_TCP_PORT_FIRST;
	return 0;
}

void peer_beacon(struct ingest *ingest, const uint8_t agent[STREAM_ID_SIZE],
		 const struct sockaddr *from, uint16_t port)
{
	struct peer *p = ingest->peers;
	char address[ADDRESS_TEXT];

	if (from->sa_family != AF_INET)
		return;
	while (p && !(p->has_agent && !memcmp(p->agent, agent, STREAM_ID_SIZE)))
		p = p->next;
	if (p) {
		p->seen_ms = uv_now(ingest->loop);
		return;
	}
	p = peer_new(ingest);
	if (!p)
		return;
	memcpy(p->agent, agent, STREAM_ID_SIZE);
	memcpy(&p->address, from, sizeof(struct sockaddr_in));
	((struct sockaddr_in *)&p->address)->sin_port = htons(port);
	p->has_agent = true;
	p->port = port;
	p->seen_ms = uv_now(ingest->loop);
	if (!link_by_agent(ingest, agent))
		ingest_tell(ingest, &(struct ingest_event){
					    .kind = INGEST_FOUND,
					    .address = address_format(
						    address, (struct sockaddr *)&p->address)});
	try_peer(p);
}

void peer_link_gone(struct peer *p, bool good)
{
	p->link = NULL;
	if (good)
		p->backoff_ms = 0;
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
			*at = p->next;
			ingest->peer_count--;
			free(p);
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
}
