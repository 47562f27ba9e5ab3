#pragma once
/*
 * Connections that have not shown yet who they are. They have places of their own, small ones, so
 * that strangers can't take the links: a connection moves to a link when its handshake is done
 * (with a key or a certificate), or when the collector has said hello (without). Until then it is
 * told nothing. There are few places, and what holds one has STRANGERS_SHAKE_MS; a newcomer takes
 * the place of the oldest of whoever has most (base/secure/strangers.h). When all links are taken,
 * an address that has two or more of them, and so more than the newcomer's would have, loses its
 * youngest.
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
/* some are being closed; the last is the dialer's */
#define PENDING_PLACES	       (PENDING_PEERS_MAX + 4)
#define PENDING_DIALLED	       (PENDING_PLACES - 1)
#define PENDING_PEERS_SESSIONS (PENDING_PEERS_MAX + 1) /* TLS sessions at a time, at most */

struct pending_peers;

struct pending_peer {
	struct pending_peers *host;
	uv_poll_t poll;
	struct link_io io;
	struct link *link; /* that it will be; NULL: any that is free */
	bool used, closing;
	bool waits; /* for a link that is being closed for it */
	struct stranger who;
	size_t came; /* bytes */
	char peer[80];
};

struct pending_peers {
	uv_loop_t *loop;
	struct secure *secure; /* NULL: plain */
	bool paired;	       /* its keys come by pairing: for what is said of it */
	struct link *link;     /* for those who come */
	uint32_t links;
	struct stranger *holder; /* who has which link, and since when */
	size_t key; /* that is offered to whom we dial: another one when it is refused */
	struct pending_peer *pending_peer; /* PENDING_PLACES */
	struct strangers strangers;
};

/* Memory, once. 0 or -ENOMEM. */
int pending_peers_init(struct pending_peers *pending_peers, struct arena *arena, uv_loop_t *loop,
		       struct secure *secure, struct link *links, uint32_t count);
/* Takes over a socket that was accepted. */
void pending_peers_accept(struct pending_peers *pending_peers, int fd, const struct sockaddr *from,
			  const char *peer);
/* Takes over a socket that was connected, for this link. */
void pending_peers_dialled(struct pending_peers *pending_peers, int fd, const char *peer,
			   struct link *link);
/* One that was dialled has not got its link yet. */
bool pending_peers_dialling(const struct pending_peers *pending_peers);
/* Forgets it. */
void pending_peers_hang_up(struct pending_peers *pending_peers);
/* Lets go of those whose time is over. */
void pending_peers_tick(struct pending_peers *pending_peers);
void pending_peers_close(struct pending_peers *pending_peers);
