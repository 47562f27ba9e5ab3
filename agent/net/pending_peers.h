#pragma once
/*
 * Holds connections that have not identified themselves yet. They have small places of their own,
 * so strangers can't occupy the links. A connection moves to a link when its TLS handshake is done
 * (with a key or a certificate), or when the collector has sent its hello (without). Until then the
 * agent tells it nothing. The number of places is small, and a connection may keep its place for
 * STRANGERS_SHAKE_MS. When no place is free, a newcomer replaces the oldest connection of the
 * address with the most (base/secure/strangers.h). When all links are taken, the address with the
 * most links gives up its youngest one, if it has at least two more than the newcomer's address.
 *
 *   listener --accept--> pending peer --[handshake, or hello]--> link
 *   dialer --connect--> pending peer (TLS only) --> its link
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

#include "agent/net/link_io.h"
#include "base/secure/secure.h"
#include "base/secure/strangers.h"

struct arena;
struct link;

#define PENDING_PEERS_MAX  8 /* at a time */
#define PENDING_PEERS_EACH 4 /* of one address */
/* more places than connections, because some are still closing; the last is the dialer's */
#define PENDING_PLACES	       (PENDING_PEERS_MAX + 4)
#define PENDING_DIALLED	       (PENDING_PLACES - 1)
#define PENDING_PEERS_SESSIONS (PENDING_PEERS_MAX + 1) /* TLS sessions at a time, at most */

struct pending_peers;

struct pending_peer {
	struct pending_peers *host;
	uv_poll_t poll;
	struct link_io io;
	struct link *link; /* the link that it moves to; NULL: any free one */
	bool used, closing;
	bool waits; /* waits for a link that is being closed to make room */
	struct stranger who;
	size_t came; /* bytes received so far */
	char peer[80];
};

struct pending_peers {
	uv_loop_t *loop;
	struct secure *secure; /* NULL: plain */
	bool paired;	       /* its keys come by pairing; chooses messages */
	struct link *link;     /* array of links for incoming connections */
	uint32_t links;
	struct stranger *holder; /* for each link, the address that has it, and since when */
	size_t key; /* counter that selects the key for dialling; a refusal increments it */
	bool again; /* the dialled collector may take another key: dial it again */
	struct pending_peer *pending_peer; /* PENDING_PLACES */
	struct strangers strangers;
};

/* Takes the memory from `arena`. Returns 0 or -ENOMEM. */
int pending_peers_init(struct pending_peers *pending_peers, struct arena *arena, uv_loop_t *loop,
		       struct secure *secure, struct link *links, uint32_t count);
/* Takes over the accepted socket `fd`. Closes it if no place is free. */
void pending_peers_accept(struct pending_peers *pending_peers, int fd, const struct sockaddr *from,
			  const char *peer);
/* Takes over the connected socket `fd` for `link`. Closes it if the dialer's place is in use. */
void pending_peers_dialled(struct pending_peers *pending_peers, int fd, const char *peer,
			   struct link *link);
/* Returns true while a dialled connection has no link yet. */
bool pending_peers_dialling(const struct pending_peers *pending_peers);
/* Closes the dialled connection. */
void pending_peers_hang_up(struct pending_peers *pending_peers);
/* Closes connections whose time is over, and moves waiting connections to free links. Call this
 * regularly. */
void pending_peers_tick(struct pending_peers *pending_peers);
void pending_peers_close(struct pending_peers *pending_peers);
