/* Opens the listening socket, and says what to do if that fails. See listener.h. */
#include "collector/http/server/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/error.h"

#include "base/ban.h"

#define BACKLOG 1024 /* large, so that a flood of strangers does not fill it */

static int listener_lookup(const char *address, uint16_t port, struct sockaddr_storage *ret_where,
			   socklen_t *ret_length, struct err_text *err)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				 .ai_socktype = SOCK_STREAM},
			*found = NULL;
	char service[8];

	if (!strcmp(address, "localhost"))
		address = "127.0.0.1";
	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(address, service, &hints, &found) != 0 || !found)
		return err_set(err, -EINVAL,
			       "\"%.80s\" is not an address to listen on: 127.0.0.1 is this "
			       "machine only, 0.0.0.0 everybody",
			       address);
	memcpy(ret_where, found->ai_addr, found->ai_addrlen);
	*ret_length = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

static bool is_loopback(const struct sockaddr_storage *where)
{
	if (where->ss_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)where)->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)where)->sin6_addr);
}

static uint16_t port_of(const struct sockaddr_storage *where)
{
	return ntohs(where->ss_family == AF_INET ? ((const struct sockaddr_in *)where)->sin_port
						 : ((const struct sockaddr_in6 *)where)->sin6_port);
}

static int explain(int error, const char *address, uint16_t port, struct err_text *err)
{
	switch (error) {
	case EADDRINUSE:
		return err_set(err, -error,
			       "port %u of %s is in use by another program: choose another with "
			       "--http %s:%u",
			       port, address, address, port == 65535 ? 8081 : port + 1);
	case EACCES:
		return err_set(
			err, -error,
			"port %u needs privileges: choose one above 1023 with --http %s:8080", port,
			address);
	case EADDRNOTAVAIL:
		return err_set(err, -error, "%s is not an address of this machine", address);
	default:
		return err_set(err, -error, "listening on %s port %u: %s", address, port,
			       strerror(error));
	}
}

int listener_open(const char *address, uint16_t port, int *ret_fd, uint16_t *ret_port,
		  bool *ret_loopback, struct err_text *err)
{
	struct sockaddr_storage where;
	socklen_t length;
	cleanup(cleanup_close) int fd = -1;
	int r = listener_lookup(address, port, &where, &length, err), yes = 1;

	if (r < 0)
		return r;
	fd = socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return explain(errno, address, port, err);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, (struct sockaddr *)&where, length) < 0 || listen(fd, BACKLOG) < 0)
		return explain(errno, address, port, err);
	if (getsockname(fd, (struct sockaddr *)&where, &length) < 0)
		return explain(errno, address, port, err);
	*ret_port = port_of(&where);
	*ret_loopback = is_loopback(&where);
	*ret_fd = take_fd(fd);
	return 0;
}
