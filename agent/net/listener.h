#pragma once
/*
 * Listens for collectors; the beacon announces the port. (dialer.h has the other direction.)
 * Connections first go to the pending ones (pending_peers.h), then to free links. If all links are
 * taken, further connections are closed.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

#include "agent/net/dialer.h"
#include "agent/net/pending_peers.h"

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
	/* Refuse connections from other hosts than this dialer's collectors, if it has any; set
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
