/* Holds pending connections. See pending_peers.h. */
#include "agent/net/pending_peers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/core/arena.h"
#include "agent/net/link.h"
#include "base/error.h"
#include "base/log.h"
#include "proto/frame.h"
#include "base/ban.h"

int pending_peers_init(struct pending_peers *gs, struct arena *arena, uv_loop_t *loop,
		       struct secure *secure, struct link *links, uint32_t count)
{
	*gs = (struct pending_peers){.loop = loop, .secure = secure, .link = links, .links = count};
	gs->pending_peer = arena_take(arena, PENDING_PLACES * sizeof(*gs->pending_peer));
	gs->holder = arena_take(arena, count * sizeof(*gs->holder));
	if (!gs->pending_peer || !gs->holder)
		return -ENOMEM;
	for (int i = 0; i < PENDING_PLACES; i++)
		gs->pending_peer[i] = (struct pending_peer){.host = gs, .io = {.fd = -1}};
	return 0;
}

static void closed(uv_handle_t *handle)
{
	struct pending_peer *g = handle->data;

	g->used = g->closing = false;
}

/* Closes the connection. The place becomes free when libuv has closed the handle. */
static void pending_peers_leave(struct pending_peer *g)
{
	uv_poll_stop(&g->poll);
	link_io_close(&g->io);
	g->closing = true;
	uv_close((uv_handle_t *)&g->poll, closed);
}

/* Returns true if the dialer should try the next key. The keys come from pairing, so the dialled
 * collector may have another key, or may not have read its new key yet. The user is told only after
 * all keys were tried twice. */
static bool tries_next_key(struct pending_peer *g, int error)
{
	struct pending_peers *gs = g->host;
	size_t keys = gs->secure && gs->paired ? secure_keys(gs->secure) : 0;

	return g->link && error == -EACCES && keys && ++gs->key % (2 * keys) != 0;
}

static void pending_peers_refuse(struct pending_peer *g, const char *why)
{
	const char *what = g->link ? "can't use the collector at" : "refused";

	if (!strangers_tell(&g->host->strangers, &g->who.from, uv_now(g->host->loop)))
		log_debug("%s %s: %s", what, g->peer, why);
	else if (g->host->secure)
		log_warn("%s %s: %s", what, g->peer, why);
	else
		log_info("%s %s: %s", what, g->peer, why);
	pending_peers_leave(g);
}

static uint32_t waiting(const struct pending_peers *gs)
{
	uint32_t count = 0;

	for (int i = 0; i < PENDING_PLACES; i++)
		count += gs->pending_peer[i].used && !gs->pending_peer[i].closing &&
			 gs->pending_peer[i].waits;
	return count;
}

/* Returns a free link for the connection, or NULL. A connection for which a link was closed gets
 * the link before all others. */
static struct link *free_link(const struct pending_peer *g)
{
	const struct pending_peers *gs = g->host;
	uint32_t kept = g->waits ? 0 : waiting(gs);

	if (g->link)
		return link_free(g->link) ? g->link : NULL;
	for (uint32_t i = 0; i < gs->links; i++) {
		if (!link_free(&gs->link[i]))
			continue;
		if (!kept)
			return &gs->link[i];
		kept--;
	}
	return NULL;
}

static bool pending_peers_same(const struct stranger_address *a, const struct stranger_address *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static bool is_held(const struct link *link)
{
	return link->fd >= 0 && !link->closing;
}

static uint32_t links_of(const struct pending_peers *gs, const struct stranger_address *from)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < gs->links; i++)
		count += is_held(&gs->link[i]) && pending_peers_same(&gs->holder[i].from, from);
	return count;
}

/* Returns the youngest link of the address with the most links, if it has at least two more than
 * the newcomer's address. Returns NULL if links are shared fairly. */
static struct link *crowding_link(const struct pending_peer *g)
{
	const struct pending_peers *gs = g->host;
	uint32_t most = links_of(gs, &g->who.from) + 1, youngest = 0;
	struct link *link = NULL;

	for (uint32_t i = 0; i < gs->links; i++) {
		uint32_t count = links_of(gs, &gs->holder[i].from);

		if (!is_held(&gs->link[i]) || count < most || (!link && count == most) ||
		    (count == most && gs->holder[i].since_ms < gs->holder[youngest].since_ms))
			continue;
		most = count;
		youngest = i;
		link = &gs->link[i];
	}
	return link;
}

static bool pending_peers_make_room(struct pending_peer *g)
{
	struct link *link = g->link ? NULL : crowding_link(g);

	if (!link)
		return false;
	log_info("link to %s: closed for %s, which has none", link->peer, g->peer);
	link_close(link);
	uv_poll_stop(&g->poll);
	g->waits = true;
	return true;
}

/* The other side has identified itself: moves the connection to a link. */
static void admit(struct pending_peer *g)
{
	struct link *link = free_link(g);
	struct link_io io;

	if (!link && (g->waits || pending_peers_make_room(g)))
		return;
	if (!link) {
		log_info("turned %s away: %u collectors are connected already", g->peer,
			 g->host->links);
		pending_peers_leave(g);
		return;
	}
	if (!g->link)
		g->host->holder[link - g->host->link] =
			(struct stranger){g->who.from, uv_now(g->host->loop)};
	uv_poll_stop(&g->poll);
	link_io_move(&io, &g->io);
	log_info(g->link ? "connected to the collector at %s" : "collector at %s connected",
		 g->peer);
	pending_peers_leave(g);
	link_take(link, &io, g->peer);
}

static void more(uv_poll_t *poll, int status, int events);

static void pending_peers_go_on(struct pending_peer *g)
{
	uv_poll_start(&g->poll, UV_READABLE | (link_io_waits(&g->io) ? UV_WRITABLE : 0), more);
}

static void pending_peers_shake(struct pending_peer *g, bool readable)
{
	struct err_text err = {{0}};
	int r = link_io_shake(&g->io, readable, &g->came, &err);

	if (r == 0) {
		admit(g);
	} else if (tries_next_key(g, r)) {
		g->host->again = true;
		pending_peers_leave(g);
	} else if (r < 0) {
		pending_peers_refuse(
			g, r == -ENODATA ? "it closed the connection, before it had said who it is"
					 : err_get(&err, r));
	} else if (g->came > SECURE_SHAKE_BYTES) {
		pending_peers_refuse(g, "its handshake is too long");
	} else {
		pending_peers_go_on(g);
	}
}

/* The other side uses the wrong kind of connection. Tells it that, and nothing else. */
static void refuse_kind(struct pending_peer *g, const char *why)
{
	link_io_send(&g->io, secure_refusal, sizeof(secure_refusal));
	pending_peers_refuse(g, why);
}

static const char *plain_words(const struct pending_peers *gs)
{
	return gs->paired
		       ? "it speaks no TLS: 'collector pair' there and 'agent pair CODE' make a key"
		       : "it speaks no TLS: give --key there, too (or a certificate)";
}

static void begin_tls(struct pending_peer *g)
{
	switch (secure_first(g->io.raw, g->io.raw_length)) {
	case SECURE_FIRST_UNKNOWN:
		return;
	case SECURE_FIRST_HANDSHAKE:
		g->io.session = secure_session_new(g->host->secure, true, 0);
		if (g->io.session)
			pending_peers_shake(g, false);
		else
			pending_peers_refuse(g, strerror(ENOMEM));
		return;
	default:
		refuse_kind(g, plain_words(g->host));
	}
}

/* Checks the greeting. Without a key, the collector must send it first. */
static void pending_peers_greet(struct pending_peer *g)
{
	struct err_text err = {{0}};
	size_t length;
	int r;

	if (secure_first(g->io.raw, g->io.raw_length) == SECURE_FIRST_HANDSHAKE) {
		refuse_kind(g, "it speaks TLS, and this agent has no key: give --key here, too, or "
			       "'collector "
			       "pair' there and 'agent pair CODE' here make one");
		return;
	}
	r = frame_length(g->io.raw, g->io.raw_length, &length, &err);
	if (r == 1)
		admit(g);
	else if (r < 0 || length > sizeof(g->io.raw))
		pending_peers_refuse(g, r < 0 ? err_get(&err, r) : "its greeting is too long");
}

/* Appends the first bytes of the connection to `raw`. Returns false if nothing came or the
 * connection was closed. */
static bool pending_peers_receive(struct pending_peer *g)
{
	struct link_io *io = &g->io;
	struct link_io rest = {.fd = io->fd};
	ssize_t n = link_io_receive(&rest, io->raw + io->raw_length,
				    sizeof(io->raw) - io->raw_length, true, NULL);

	if (n < 0) {
		pending_peers_refuse(
			g, n == -ENODATA ? "it closed the connection, before it had said who it is"
					 : strerror((int)-n));
		return false;
	}
	io->raw_length += (size_t)n;
	g->came += (size_t)n;
	return n > 0;
}

static void more(uv_poll_t *poll, int status, int events)
{
	struct pending_peer *g = poll->data;

	if (status < 0)
		pending_peers_refuse(g, "the connection broke");
	else if (g->io.session)
		pending_peers_shake(g, events & UV_READABLE);
	else if (!pending_peers_receive(g))
		return;
	else if (g->host->secure)
		begin_tls(g);
	else
		pending_peers_greet(g);
}

static bool pending_peers_start(struct pending_peer *g, int fd, const char *peer)
{
	struct pending_peers *gs = g->host;

	*g = (struct pending_peer){.host = gs, .used = true, .io = {.fd = fd}};
	g->who.since_ms = uv_now(gs->loop);
	snprintf(g->peer, sizeof(g->peer), "%s", peer);
	g->poll.data = g;
	if (uv_poll_init(gs->loop, &g->poll, fd) < 0) {
		close(fd);
		g->used = false;
		return false;
	}
	return true;
}

/* Collects the incoming connections in `who`; `ret_index` gets their places. Returns their
 * number. */
static size_t present(const struct pending_peers *gs, struct stranger who[PENDING_PLACES],
		      int ret_index[PENDING_PLACES])
{
	size_t count = 0;

	for (int i = 0; i < PENDING_DIALLED; i++) {
		if (!gs->pending_peer[i].used || gs->pending_peer[i].closing)
			continue;
		who[count] = gs->pending_peer[i].who;
		ret_index[count++] = i;
	}
	return count;
}

/* Finds a place for a connection from `from`, and closes another connection if the limits demand
 * it. Returns NULL if no place is free now. */
static struct pending_peer *pending_peers_find_place(struct pending_peers *gs,
						     const struct stranger_address *from)
{
	struct stranger who[PENDING_PLACES];
	int index[PENDING_PLACES],
		leaver = strangers_gives_way(who, present(gs, who, index), PENDING_PEERS_MAX,
					     PENDING_PEERS_EACH, from);

	if (leaver >= 0)
		pending_peers_refuse(&gs->pending_peer[index[leaver]],
				     "it has not said who it is, and others want its place");
	for (int i = 0; i < PENDING_DIALLED; i++)
		if (!gs->pending_peer[i].used)
			return &gs->pending_peer[i];
	return NULL;
}

void pending_peers_accept(struct pending_peers *gs, int fd, const struct sockaddr *from,
			  const char *peer)
{
	struct stranger_address address = stranger_address(from);
	struct pending_peer *g = pending_peers_find_place(gs, &address);

	if (!g) {
		close(fd);
		return;
	}
	if (!pending_peers_start(g, fd, peer))
		return;
	g->who.from = address;
	pending_peers_go_on(g);
}

void pending_peers_dialled(struct pending_peers *gs, int fd, const char *peer, struct link *link)
{
	struct pending_peer *g = &gs->pending_peer[PENDING_DIALLED];
	struct sockaddr_storage address = {0};
	socklen_t length = sizeof(address);

	if (g->used || !pending_peers_start(g, fd, peer)) {
		if (g->used)
			close(fd);
		return;
	}
	getpeername(fd, (struct sockaddr *)&address, &length);
	g->who.from = stranger_address((const struct sockaddr *)&address);
	g->link = link;
	if (gs->secure)
		g->io.session = secure_session_new(gs->secure, false, gs->key);
	if (!gs->secure)
		admit(g); /* the agent has chosen the collector itself */
	else if (!secure_keys(gs->secure))
		pending_peers_refuse(
			g, "no pair is left here: 'collector pair' and 'agent pair CODE' make one");
	else if (g->io.session)
		pending_peers_shake(g, false);
	else
		pending_peers_refuse(g, strerror(ENOMEM));
}

bool pending_peers_dialling(const struct pending_peers *gs)
{
	return gs->pending_peer[PENDING_DIALLED].used;
}

void pending_peers_hang_up(struct pending_peers *gs)
{
	struct pending_peer *g = &gs->pending_peer[PENDING_DIALLED];

	if (g->used && !g->closing)
		pending_peers_leave(g);
}

void pending_peers_tick(struct pending_peers *gs)
{
	uint64_t now = uv_now(gs->loop);

	for (int i = 0; i < PENDING_PLACES; i++) {
		struct pending_peer *g = &gs->pending_peer[i];

		if (!g->used || g->closing)
			continue;
		if (g->waits && free_link(g)) {
			g->waits = false;
			admit(g);
		} else if (now - g->who.since_ms > STRANGERS_SHAKE_MS) {
			pending_peers_refuse(
				g, g->waits ? "no link was free in time: others have all of them"
					    : "it has not said who it is in time");
		}
	}
}

void pending_peers_close(struct pending_peers *gs)
{
	for (int i = 0; gs->pending_peer && i < PENDING_PLACES; i++)
		if (gs->pending_peer[i].used && !gs->pending_peer[i].closing)
			pending_peers_leave(&gs->pending_peer[i]);
}
