#pragma once
/*
 * How agent and collector come together: the agent listens (and its beacon tells the network
 * where), or it dials. Connections go to the pending peers, and from there to free links; when all
 * are taken, further ones are closed.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

#include "agent/core/budget.h"
#include "agent/net/pending_peers.h"
#include "agent/net/link.h"

struct err_text;

struct listener {
	uv_loop_t *loop;
	uv_poll_t poll;
	int fd; /* -1: not listening */
	uint16_t port;
	bool paused; /* too many have come in too short a time */
	struct pending_peers *pending_peers;
	size_t socket_buffer;
	const char *interface; /* set once it listens: connections to addresses of others are turned
				  away; NULL: to none */
	const struct dialer *only; /* likewise: of others than its collector, if it has one */
};

/* Listens at this address (of no family: at all, by IPv6 and IPv4), on the first free port of
 * `first` to `last`. 0; a negative errno with the reason. */
int listener_open(struct listener *listener, uv_loop_t *loop, struct pending_peers *pending_peers,
		  size_t socket_buffer, const struct sockaddr_storage *at, uint16_t first,
		  uint16_t last, struct err_text *err);
/* Listens on a socket that listens already, and takes it over. 0 or a negative errno. */
int listener_adopt(struct listener *listener, uv_loop_t *loop, struct pending_peers *pending_peers,
		   size_t socket_buffer, int fd);
/* Goes on after a pause. */
void listener_tick(struct listener *listener);
void listener_close(struct listener *listener);

#define DIAL_ADDRESSES 8 /* of one name, that are tried */

/* Dials one collector, again and again until it is there, and when it is lost. */
struct dialer {
	uv_loop_t *loop;
	uv_timer_t timer;
	uv_poll_t poll;
	uv_getaddrinfo_t resolve;
	char host[256];
	char port[8];
	int fd;		 /* connecting; -1: not */
	uint32_t waited; /* turns of the timer that it connects */
	unsigned tries;	 /* of the addresses of the host's name */
	struct sockaddr_storage
		address[DIAL_ADDRESSES]; /* those, as of the last time that it was looked up */
	unsigned addresses;
	bool resolving;
	bool outdated; /* what is being resolved is not wanted any more */
	bool open;
	bool said;	   /* that nobody answers */
	struct link *link; /* its own one */
	struct pending_peers *pending_peers;
	size_t socket_buffer;
};

/* `host` "": nobody yet. 0 or a negative errno. */
int dialer_open(struct dialer *dialer, uv_loop_t *loop, struct pending_peers *pending_peers,
		struct link *link, size_t socket_buffer, const char *host, uint16_t port);
/* Dials another one from now on; "": nobody. The connection with the one before is closed. */
int dialer_turn(struct dialer *dialer, const char *host, uint16_t port);
void dialer_close(struct dialer *dialer);

/* Options of a link's socket: small buffers, keep-alive, no delay. */
void link_socket(int fd, size_t buffer);
