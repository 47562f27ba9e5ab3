/* Serves questions and orders of people on this host. See control_socket.h. */
#include "agent/serve/control_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/core/clock.h"
#include "agent/net/handshake.h"
#include "base/ban.h"

#define QUEUE	  8
#define SILENT_NS 2000000000ull

static void control_socket_connection(uv_poll_t *poll, int status, int events);

static void control_socket_client_closed(uv_handle_t *handle)
{
	struct control_client *c = handle->data;
	struct control_socket *d = c->control_socket;

	c->fd = -1;
	c->closing = false;
	if (d->full && d->fd >= 0)
		uv_poll_start(&d->poll, UV_READABLE, control_socket_connection);
	d->full = false;
}

static void client_close(struct control_client *c)
{
	if (c->fd < 0 || c->closing)
		return;
	c->closing = true;
	uv_close((uv_handle_t *)&c->poll, control_socket_client_closed);
	close(c->fd);
}

static size_t control_socket_refuse(char *out, const char *why)
{
	return (size_t)snprintf(out, CONTROL_ANSWER_MAX, "no %s\n", why);
}

/* Answers the complete line, and closes the connection. */
static void control_socket_answer(struct control_client *c)
{
	struct control_socket *d = c->control_socket;
	struct order_question question;
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t length = sizeof(peer);
	const char *why;
	size_t n;

	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
		n = control_socket_refuse(d->out, "the kernel does not say who you are");
	else if (order_question_parse(c->line, &question, &why) < 0)
		n = control_socket_refuse(d->out, why);
	else if (!question.status && !order_limit_take(&d->limit, clock_monotonic_ns()))
		n = control_socket_refuse(d->out, "too many orders at a time: try again");
	else
		n = d->answer(d->context, peer.uid, peer.uid == geteuid() || !peer.uid, &question,
			      d->out);
	send(c->fd, d->out, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	client_close(c);
}

static void client_readable(uv_poll_t *poll, int status, int events)
{
	struct control_client *c = poll->data;
	ssize_t n = status < 0 ? 0
			       : recv(c->fd, c->line + c->length, sizeof(c->line) - c->length,
				      MSG_DONTWAIT);
	char *newline;

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->length += n > 0 ? (size_t)n : 0;
	newline = memchr(c->line, '\n', c->length);
	/* Accept exactly one line, with no NUL in it and nothing after it. */
	if (newline == c->line + c->length - 1 && !memchr(c->line, 0, c->length)) {
		*newline = '\0';
		control_socket_answer(c);
	} else if (n <= 0 || newline || c->length == sizeof(c->line)) {
		client_close(c);
	}
}

static struct control_client *control_socket_free_place(struct control_socket *d)
{
	for (unsigned i = 0; i < CONTROL_CLIENTS; i++)
		if (d->client[i].fd < 0)
			return &d->client[i];
	return NULL;
}

/* When all places are taken, further connections wait in the socket's backlog. */
static void control_socket_connection(uv_poll_t *poll, int status, int events)
{
	struct control_socket *d = poll->data;
	struct control_client *c = control_socket_free_place(d);
	int fd;

	(void)events;
	if (status < 0)
		return;
	d->full = !c;
	if (!c) {
		uv_poll_stop(poll);
		return;
	}
	fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	*c = (struct control_client){
		.control_socket = d, .fd = fd, .since_ns = clock_monotonic_ns()};
	c->poll.data = c;
	if (uv_poll_init(d->loop, &c->poll, fd) < 0) {
		close(fd);
		c->fd = -1;
		return;
	}
	uv_poll_start(&c->poll, UV_READABLE, client_readable);
}

void control_socket_tick(struct control_socket *d, uint64_t now_ns)
{
	for (unsigned i = 0; i < CONTROL_CLIENTS; i++)
		if (d->client[i].fd >= 0 && now_ns - d->client[i].since_ns > SILENT_NS)
			client_close(&d->client[i]);
}

void control_socket_init(struct control_socket *d)
{
	*d = (struct control_socket){.fd = -1};
	for (unsigned i = 0; i < CONTROL_CLIENTS; i++)
		d->client[i].fd = -1;
}

/* Returns true if a process serves at this address. */
static bool answers(const struct sockaddr_un *address, unsigned length)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool refused =
		connect(fd, (const struct sockaddr *)address, length) < 0 && errno == ECONNREFUSED;

	close(fd);
	return !refused;
}

/* Sets the mode before the name exists, so that no forbidden user can connect in between. */
static int bind_there(struct control_socket *d, const char *name, bool others)
{
	struct sockaddr_un address;
	struct stat status;
	unsigned length;
	int r = handshake_address(name, &address, &length);

	if (r < 0)
		return r;
	if (name[0] != '@' && lstat(name, &status) == 0 && S_ISSOCK(status.st_mode)) {
		if (answers(&address, length))
			return -EADDRINUSE;
		unlink(name);
	}
	if (fchmod(d->fd, others ? 0666 : 0600) < 0 ||
	    bind(d->fd, (const struct sockaddr *)&address, length) < 0 || listen(d->fd, QUEUE) < 0)
		return -errno;
	snprintf(d->name, sizeof(d->name), "%s", name);
	if (name[0] != '@' && lstat(name, &status) == 0)
		d->inode = status.st_ino;
	control_socket_admit(d, others); /* bind applies the umask to the mode */
	return 0;
}

int control_socket_open(struct control_socket *d, uv_loop_t *loop, const char *name, bool others,
			size_t (*answer_question)(void *context, uid_t uid, bool all,
						  const struct order_question *question, char *out),
			void *context, char *out)
{
	int r;

	control_socket_init(d);
	d->loop = loop;
	d->answer = answer_question;
	d->context = context;
	d->out = out;
	d->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->fd < 0)
		return -errno;
	r = bind_there(d, name, others);
	d->poll.data = d;
	if (!r)
		r = uv_poll_init(loop, &d->poll, d->fd);
	if (r < 0) {
		close(d->fd);
		d->fd = -1;
		return r;
	}
	return uv_poll_start(&d->poll, UV_READABLE, control_socket_connection);
}

void control_socket_admit(const struct control_socket *d, bool others)
{
	if (d->fd >= 0 && d->inode)
		chmod(d->name, others ? 0666 : 0600);
}

void control_socket_close(struct control_socket *d)
{
	struct stat status;

	if (d->fd < 0)
		return;
	for (unsigned i = 0; i < CONTROL_CLIENTS; i++)
		client_close(&d->client[i]);
	if (d->inode && lstat(d->name, &status) == 0 && status.st_ino == d->inode)
		unlink(d->name);
	uv_close((uv_handle_t *)&d->poll, NULL);
	close(d->fd);
	d->fd = -1;
}
