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
 *   listener --accept--> guest --[handshake, or hello]--> link
 *   dialer --connect--> guest (TLS only) --> its link
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

#define GUESTS_MAX	8		 /* at a time */
#define GUESTS_EACH	4		 /* of one address */
#define GUEST_PLACES	(GUESTS_MAX + 4) /* some are being closed; the last is the dialer's */
#define GUEST_DIALLED	(GUEST_PLACES - 1)
#define GUESTS_SESSIONS (GUESTS_MAX + 1) /* TLS sessions at a time, at most */

struct guests;

struct guest {
	struct guests *host;
	uv_poll_t poll;
	struct link_io io;
	struct link *link; /* that it will be; NULL: any that is free */
	bool used, closing;
	bool waits; /* for a link that is being closed for it */
	struct stranger who;
	size_t came; /* bytes */
	char peer[80];
};

struct guests {
	uv_loop_t *loop;
	struct secure *secure; /* NULL: plain */
	bool paired;	       /* its keys come by pairing: for what is said of it */
	struct link *link;     /* for those who come */
	uint32_t links;
	struct stranger *holder; /* who has which link, and since when */
	size_t key;	     /* that is offered to whom we dial: another one when it is refused */
	struct guest *guest; /* GUEST_PLACES */
	struct strangers strangers;
};

/* Memory, once. 0 or -ENOMEM. */
int guests_init(struct guests *guests, struct arena *arena, uv_loop_t *loop, struct secure *secure,
		struct link *links, uint32_t count);
/* Takes over a socket that was accepted. */
void guests_accept(struct guests *guests, int fd, const struct sockaddr *from, const char *peer);
/* Takes over a socket that was connected, for this link. */
void guests_dialled(struct guests *guests, int fd, const char *peer, struct link *link);
/* One that was dialled has not got its link yet. */
bool guests_dialling(const struct guests *guests);
/* Forgets it. */
void guests_hang_up(struct guests *guests);
/* Lets go of those whose time is over. */
void guests_tick(struct guests *guests);
void guests_close(struct guests *guests);
