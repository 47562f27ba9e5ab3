#pragma once
/*
 * Connects agent and collector: the agent listens (and its beacon announces the port), or it dials.
 * Connections first go to the pending ones (pending_peers.h), then to free links. If all links are
 * taken, further connections are closed.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

#include "agent/net/pending_peers.h"
#include "agent/net/link.h"

struct err_text;

struct listener {
	uv_loop_t *loop;
	uv_poll_t poll;
	int fd; /* -1: not listening */
	uint16_t port;
	bool paused; /* too many connections have come in a short time */
	struct pending_peers *pending_peers;
	size_t socket_buffer;
	/* Refuse connections to addresses of other interfaces; set after the listener was opened.
	 * NULL: refuse none. */
	const char *interface;
	/* Refuse connections from other hosts than this dialer's collector, if it has one; set
	 * likewise. */
	const struct dialer *only;
};

/* Listens at this address (family 0: at all IPv6 and IPv4 addresses), on the first free port from
 * `first` to `last`. Returns 0, or a negative errno with the reason. */
int listener_open(struct listener *listener, uv_loop_t *loop, struct pending_peers *pending_peers,
		  size_t socket_buffer, const struct sockaddr_storage *at, uint16_t first,
		  uint16_t last, struct err_text *err);
/* Uses a socket that already listens, and owns it from now on, also if this fails. Returns 0 or a
 * negative errno. */
int listener_adopt(struct listener *listener, uv_loop_t *loop, struct pending_peers *pending_peers,
		   size_t socket_buffer, int fd);
/* Resumes after a pause. */
void listener_tick(struct listener *listener);
void listener_close(struct listener *listener);

#define DIAL_ADDRESSES 8 /* addresses of a name that are tried */

/* Dials one collector again and again until it answers. Dials again when the connection is lost. */
struct dialer {
	uv_loop_t *loop;
	uv_timer_t timer;
	uv_poll_t poll;
	uv_getaddrinfo_t resolve;
	char host[256];
	char port[8];
	int fd;		 /* connecting; -1: not */
	uint32_t waited; /* timer ticks since it started to connect */
	unsigned tries;	 /* number of attempts; selects one of the host's addresses */
	/* The host's addresses, as of the last lookup. */
	struct sockaddr_storage address[DIAL_ADDRESSES];
	unsigned addresses;
	bool resolving;
	bool outdated; /* the host has changed: ignore the result of the running lookup */
	bool open;
	bool said;	   /* it is logged that the collector does not answer */
	struct link *link; /* the link for this connection */
	struct pending_peers *pending_peers;
	size_t socket_buffer;
};

/* Starts the dialer. `host` "": no collector yet. Returns 0 or a negative errno. */
int dialer_open(struct dialer *dialer, uv_loop_t *loop, struct pending_peers *pending_peers,
		struct link *link, size_t socket_buffer, const char *host, uint16_t port);
/* Closes the connection and dials another collector from now on; "": none. Returns 0 or a negative
 * errno. */
int dialer_turn(struct dialer *dialer, const char *host, uint16_t port);
void dialer_close(struct dialer *dialer);

/* Sets the options of a link's socket: small buffers, keep-alive, no delay. */
void link_socket(int fd, size_t buffer);
