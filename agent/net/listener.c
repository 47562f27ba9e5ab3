/* Listens for collectors. See listener.h. */
#include "agent/net/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "proto/discovery_net.h"
#include "base/ban.h"

#define BACKLOG 64 /* a burst of strangers must not make the kernel refuse others at once */

static void peer_name(const struct sockaddr_storage *address, socklen_t length, char *out,
		      size_t size)
{
	char host[INET6_ADDRSTRLEN + 16] = "?", port[8] = "?";

	getnameinfo((const struct sockaddr *)address, length, host, sizeof(host), port,
		    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(out, size, address->ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

/* Returns true if the agent may use all interfaces, or if the connection arrived at an address of
 * the one that it must use. The agent listens on all addresses even then, because the interface's
 * addresses may change. */
static bool is_admitted(const struct listener *l, int fd)
{
	struct sockaddr_storage own = {0};
	socklen_t length = sizeof(own);

	return !l->interface || (getsockname(fd, (struct sockaddr *)&own, &length) == 0 &&
				 discovery_interface_has(l->interface, &own));
}

/* Returns true if the connection must be refused, with the reason. */
static bool is_unwanted(const struct listener *l, int fd, const struct sockaddr_storage *from,
			struct err_text *why)
{
	if (!is_admitted(l, fd))
		return err_set(why, -EPERM, "it did not come to an address of %s", l->interface);
	if (l->only && *l->only->list && !dialer_knows(l->only, from))
		return err_set(why, -EPERM, "--collector names %s, and this agent serves no other",
			       l->only->list);
	return false;
}

static void listener_connection(uv_poll_t *poll, int status, int events)
{
	struct listener *l = poll->data;
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	struct err_text why;
	char peer[80];
	int fd;

	(void)events;
	if (status == 0 && !strangers_admit(&l->pending_peers->strangers, uv_now(l->loop))) {
		l->paused = true;
		uv_poll_stop(&l->poll);
		return;
	}
	fd = status < 0 ? -1
			: accept4(l->fd, (struct sockaddr *)&address, &length,
				  SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	discovery_unmap(&address);
	peer_name(&address, length, peer, sizeof(peer));
	if (is_unwanted(l, fd, &address, &why)) {
		struct stranger_address there = stranger_address((struct sockaddr *)&address);

		if (strangers_tell(&l->pending_peers->strangers, &there, uv_now(l->loop)))
			log_info("turned %s away: %s", peer, why.text);
		close(fd);
		return;
	}
	link_socket(fd, l->socket_buffer);
	pending_peers_accept(l->pending_peers, fd, (const struct sockaddr *)&address, peer);
}

void listener_tick(struct listener *l)
{
	if (!l->paused)
		return;
	l->paused = false;
	uv_poll_start(&l->poll, UV_READABLE, listener_connection);
}

/* Opens a listening socket. The IPv6 address for all addresses also accepts connections by IPv4. */
static int open_address(struct sockaddr_storage at, uint16_t port)
{
	int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1,
	    off = 0, r;

	if (fd < 0)
		return -errno;
	((struct sockaddr_in *)&at)->sin_port = htons(port); /* sin6_port is at the same offset */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (at.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	r = bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, BACKLOG) < 0 ? -errno
											: 0;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

static int open_port(const struct sockaddr_storage *at, uint16_t port)
{
	const struct sockaddr_storage four = {.ss_family = AF_INET}, six = {.ss_family = AF_INET6};
	int fd = open_address(at->ss_family ? *at : six, port);

	/* The host may have no IPv6. */
	return fd < 0 && fd != -EADDRINUSE && !at->ss_family ? open_address(four, port) : fd;
}

static uint16_t port_of(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} bound = {0};
	socklen_t length = sizeof(bound);

	if (getsockname(fd, &bound.any, &length) < 0)
		return 0;
	return ntohs(bound.any.sa_family == AF_INET6 ? bound.six.sin6_port : bound.four.sin_port);
}

int listener_adopt(struct listener *l, uv_loop_t *loop, struct pending_peers *pending_peers,
		   size_t socket_buffer, int fd)
{
	int r;

	*l = (struct listener){.loop = loop,
			       .fd = fd,
			       .port = port_of(fd),
			       .pending_peers = pending_peers,
			       .socket_buffer = socket_buffer};
	l->poll.data = l;
	r = uv_poll_init(loop, &l->poll, fd);
	if (r < 0) {
		close(fd);
		l->fd = -1; /* listener_close must not close a handle that does not exist */
		return r;
	}
	return uv_poll_start(&l->poll, UV_READABLE, listener_connection);
}

int listener_open(struct listener *l, uv_loop_t *loop, struct pending_peers *pending_peers,
		  size_t socket_buffer, const struct sockaddr_storage *at, uint16_t first,
		  uint16_t last, struct err_text *err)
{
	int fd = -EADDRINUSE;

	l->fd = -1;
	for (uint32_t port = first; port <= last && fd == -EADDRINUSE; port++)
		fd = open_port(at, (uint16_t)port);
	if (fd == -EADDRINUSE && first == last)
		return err_set(err, fd, "port %u is in use: give --listen another one", first);
	if (fd == -EADDRINUSE)
		return err_set(err, fd, "all ports from %u to %u are in use", first, last);
	if (fd < 0)
		return err_set(err, fd, "can't listen on port %u: %s", first, strerror(-fd));
	return listener_adopt(l, loop, pending_peers, socket_buffer, fd);
}

void listener_close(struct listener *l)
{
	if (l->fd < 0)
		return;
	uv_close((uv_handle_t *)&l->poll, NULL);
	close(l->fd);
	l->fd = -1;
}
