/* Speaks the protocols of systemd. See service.h. */
#include "agent/cli/service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/parse.h"
#include "agent/net/handshake.h"
#include "base/ban.h"

#define FIRST_FD   3 /* SD_LISTEN_FDS_START */
#define FDS_MAX	   16
#define TELL_MAX   512
#define NANOSECOND 1000 /* nanoseconds in a microsecond */

static bool service_number_of(const char *variable, uint64_t *ret)
{
	const char *text = getenv(variable);

	return text && parse_u64(text, ret) == 0;
}

/* Returns true if the variable names our pid. Otherwise it is meant for another process of the
 * service. */
static bool service_is_own(const char *variable)
{
	uint64_t pid;

	return service_number_of(variable, &pid) && pid == (uint64_t)getpid();
}

void service_open(struct service *ret)
{
	const char *name = getenv("NOTIFY_SOCKET");
	uint64_t watchdog_us;

	*ret = (struct service){0};
	if (!name || (*name != '/' && *name != '@') ||
	    handshake_address(name, &ret->address, &ret->length) < 0)
		ret->length = 0;
	if (service_number_of("WATCHDOG_USEC", &watchdog_us) &&
	    watchdog_us < UINT64_MAX / NANOSECOND &&
	    (!getenv("WATCHDOG_PID") || service_is_own("WATCHDOG_PID")))
		ret->watchdog_ns = watchdog_us * NANOSECOND;
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void service_tell(const struct service *s, const char *format, ...)
{
	char text[TELL_MAX];
	va_list args;
	int fd, length;

	if (!s->length)
		return;
	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (length > 0)
		sendto(fd, text, length < TELL_MAX ? (size_t)length : TELL_MAX - 1,
		       MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&s->address,
		       s->length);
	close(fd);
}

static int socket_option(int fd, int option)
{
	int value = -1;
	socklen_t length = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &length) < 0 ? -1 : value;
}

/* Returns the member for this kind of socket; NULL if the kind is unknown. */
static int *service_place_of(struct service_sockets *s, int fd)
{
	int domain = socket_option(fd, SO_DOMAIN), type = socket_option(fd, SO_TYPE);

	if (socket_option(fd, SO_ACCEPTCONN) != 1)
		return NULL;
	if (domain == AF_UNIX && type == SOCK_SEQPACKET)
		return &s->programs;
	return (domain == AF_INET || domain == AF_INET6) && type == SOCK_STREAM ? &s->collectors
										: NULL;
}

static int service_take(struct service_sockets *s, int fd, struct err_text *err)
{
	int *place = service_place_of(s, fd);

	if (!place)
		return err_set(err, -EINVAL,
			       "the service manager passed descriptor %d, which is neither "
			       "ListenSequentialPacket=PATH (where programs ask) nor "
			       "ListenStream=PORT (for collectors)",
			       fd);
	if (*place >= 0)
		return err_set(err, -EINVAL,
			       "the service manager passed two sockets for %s, descriptors %d and "
			       "%d: there can be one",
			       place == &s->programs ? "programs" : "collectors", *place, fd);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		return err_set(err, -errno, "can't use descriptor %d: %s", fd, strerror(errno));
	*place = fd;
	return 0;
}

int service_sockets(struct service_sockets *ret, struct err_text *err)
{
	uint64_t count = 0;
	bool own = service_is_own("LISTEN_PID") && service_number_of("LISTEN_FDS", &count);
	int r = 0;

	*ret = (struct service_sockets){-1, -1};
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (!own)
		return 0;
	if (count > FDS_MAX)
		return err_set(err, -EINVAL,
			       "LISTEN_FDS is %llu: these are more sockets than the agent uses",
			       (unsigned long long)count);
	for (int fd = FIRST_FD; !r && fd < FIRST_FD + (int)count; fd++)
		r = service_take(ret, fd, err);
	return r;
}
