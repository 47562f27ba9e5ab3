/* Listens and dials. See listener.h. */
#include "agent/net/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "proto/discovery_net.h"
#include "base/ban.h"

#define RETRY_MS 1000
#define BACKLOG	 64 /* a burst of strangers must not make the kernel refuse others at once */
/* An attempt lasts so many times RETRY_MS. A new attempt is as good as a SYN that the kernel
 * retransmits, and comes sooner. */
#define DIAL_TRIES   3
#define KEEP_IDLE_S  4
#define KEEP_EVERY_S 2
#define KEEP_COUNT   3

void link_socket(int fd, size_t buffer)
{
	int size = (int)buffer, small = (int)buffer / 2, on = 1, idle = KEEP_IDLE_S,
	    every = KEEP_EVERY_S, count = KEEP_COUNT, silent = LINK_SILENT_MS;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent, sizeof(silent));
}

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

/* Returns true if the connection comes from the collector's host. */
static bool is_at(const struct dialer *d, const struct sockaddr_storage *from)
{
	char host[NI_MAXHOST], own[NI_MAXHOST];

	if (getnameinfo((const struct sockaddr *)from, sizeof(*from), host, sizeof(host), NULL, 0,
			NI_NUMERICHOST))
		return false;
	for (unsigned i = 0; i < d->addresses; i++)
		if (!getnameinfo((const struct sockaddr *)&d->address[i], sizeof(d->address[i]),
				 own, sizeof(own), NULL, 0, NI_NUMERICHOST) &&
		    !strcmp(own, host))
			return true;
	return false;
}

/* Returns true if the connection must be refused, with the reason. */
static bool is_unwanted(const struct listener *l, int fd, const struct sockaddr_storage *from,
			struct err_text *why)
{
	if (!is_admitted(l, fd))
		return err_set(why, -EPERM, "it did not come to an address of %s", l->interface);
	if (l->only && *l->only->host && !is_at(l->only, from))
		return err_set(why, -EPERM, "--collector names %s, and this agent serves no other",
			       l->only->host);
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

static void poll_closed(uv_handle_t *handle)
{
	(void)handle;
}

/* Logs a failed attempt, once. */
static void attempt_failed(struct dialer *d, int error)
{
	if (!d->said)
		log_warn(strchr(d->host, ':')
				 ? "no collector at [%s]:%s (%s); trying again every second"
				 : "no collector at %s:%s (%s); trying again every second",
			 d->host, d->port, uv_strerror(error));
	d->said = true;
}

static void connected(uv_poll_t *poll, int status, int events)
{
	struct dialer *d = poll->data;
	int error = 0, fd = d->fd;
	socklen_t length = sizeof(error);
	char peer[300];

	(void)events;
	uv_close((uv_handle_t *)poll, poll_closed);
	d->fd = -1;
	/* libuv reports every failure as EBADF */
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
	if (status < 0 && !error)
		error = -status;
	if (error) {
		close(fd);
		attempt_failed(d, -error);
		return;
	}
	d->said = false;
	snprintf(peer, sizeof(peer), strchr(d->host, ':') ? "[%s]:%s" : "%s:%s", d->host, d->port);
	pending_peers_dialled(d->pending_peers, fd, peer, d->link);
}

static int begin_connect(struct dialer *d, const struct addrinfo *to)
{
	int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	link_socket(fd, d->socket_buffer);
	if (connect(fd, to->ai_addr, to->ai_addrlen) < 0 && errno != EINPROGRESS) {
		int r = -errno;

		close(fd);
		return r;
	}
	d->fd = fd;
	d->waited = 0;
	d->poll.data = d;
	uv_poll_init(d->loop, &d->poll, fd);
	return uv_poll_start(&d->poll, UV_WRITABLE, connected);
}

static void keep_addresses(struct dialer *d, const struct addrinfo *list)
{
	d->addresses = 0;
	for (; list && d->addresses < DIAL_ADDRESSES; list = list->ai_next)
		memcpy(&d->address[d->addresses++], list->ai_addr, list->ai_addrlen);
}

static void resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
	struct dialer *d = request->data;
	/* A name can have several addresses: each attempt uses another one. */
	const struct addrinfo *to = list;
	int r = status;

	d->resolving = false;
	for (unsigned i = d->tries++ % DIAL_ADDRESSES; to && i; i--)
		to = to->ai_next ? to->ai_next : list;
	if (d->open && !d->outdated && !r && to) {
		keep_addresses(d, list);
		r = begin_connect(d, to);
	}
	if (d->open && !d->outdated && r < 0)
		attempt_failed(d, r);
	d->outdated = false;
	uv_freeaddrinfo(list);
}

static void stop_connecting(struct dialer *d)
{
	if (d->fd < 0)
		return;
	uv_close((uv_handle_t *)&d->poll, poll_closed);
	close(d->fd);
	d->fd = -1;
}

/* Gives up an attempt that got no answer; the next timer tick starts another one. */
static void abandon(struct dialer *d)
{
	stop_connecting(d);
	attempt_failed(d, UV_ETIMEDOUT);
}

static void dial(uv_timer_t *timer)
{
	struct dialer *d = timer->data;
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_UNSPEC};

	if (d->fd >= 0 && ++d->waited >= DIAL_TRIES) {
		abandon(d);
		return;
	}
	if (d->resolving || d->fd >= 0 || !link_free(d->link) ||
	    pending_peers_dialling(d->pending_peers))
		return;
	d->resolve.data = d;
	d->resolving =
		uv_getaddrinfo(d->loop, &d->resolve, resolved, d->host, d->port, &hints) == 0;
}

int dialer_open(struct dialer *d, uv_loop_t *loop, struct pending_peers *pending_peers,
		struct link *link, size_t socket_buffer, const char *host, uint16_t port)
{
	*d = (struct dialer){.loop = loop,
			     .fd = -1,
			     .link = link,
			     .pending_peers = pending_peers,
			     .socket_buffer = socket_buffer,
			     .open = true};
	d->timer.data = d;
	uv_timer_init(loop, &d->timer);
	return dialer_turn(d, host, port);
}

int dialer_turn(struct dialer *d, const char *host, uint16_t port)
{
	stop_connecting(d);
	pending_peers_hang_up(d->pending_peers);
	if (*d->host)
		link_close(d->link);
	d->outdated = d->resolving;
	d->said = false;
	d->addresses = 0;
	snprintf(d->host, sizeof(d->host), "%s", host);
	snprintf(d->port, sizeof(d->port), "%u", port);
	return *host ? uv_timer_start(&d->timer, dial, 0, RETRY_MS) : uv_timer_stop(&d->timer);
}

void dialer_close(struct dialer *d)
{
	if (!d->open)
		return;
	d->open = false;
	uv_close((uv_handle_t *)&d->timer, NULL);
	if (d->resolving)
		uv_cancel((uv_req_t *)&d->resolve);
	stop_connecting(d);
}
