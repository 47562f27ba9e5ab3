/* Serves programs that ask for rings. See handshake.h. */
#include "agent/net/handshake.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/core/clock.h"
#include "base/ban.h"

/* Connections not yet accepted: a program that finds the queue full continues unrecorded. */
#define QUEUE 4096
/* libheapcast.so asks as soon as it is connected, and waits for one second. */
#define SILENT_NS 2000000000

int handshake_address(const char *path, struct sockaddr_un *ret, unsigned *ret_length)
{
	size_t length = strlen(path);

	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (!length || length >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	memcpy(ret->sun_path, path, length);
	if (path[0] == '@')
		ret->sun_path[0] = '\0';
	*ret_length =
		(unsigned)(offsetof(struct sockaddr_un, sun_path) + length + (path[0] != '@'));
	return 0;
}

/* Takes over a path that a dead agent has left. A path on which a process listens is in use, even
 * if its queue is full. */
static int handshake_take_over(const char *path, const struct sockaddr_un *address, unsigned length,
			       int fd)
{
	int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = connect(probe, (const struct sockaddr *)address, length);
	int error = errno;
	struct stat status;

	close(probe);
	if (r == 0 || error != ECONNREFUSED || path[0] == '@')
		return -EADDRINUSE;
	if (lstat(path, &status) == 0 && !S_ISSOCK(status.st_mode))
		return -EEXIST; /* connecting to any other file is refused, too */
	unlink(path);
	return bind(fd, (const struct sockaddr *)address, length) < 0 ? -errno : 0;
}

int handshake_socket(const char *path)
{
	struct sockaddr_un address;
	unsigned length;
	int fd, r = handshake_address(path, &address, &length);

	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, length) < 0)
		r = errno == EADDRINUSE ? handshake_take_over(path, &address, length, fd) : -errno;
	if (!r && listen(fd, QUEUE) < 0)
		r = -errno;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

static void handshake_connection(uv_poll_t *poll, int status, int events);

/* Accepts connections again. */
static void reopen(struct handshake *h)
{
	if (!h->full || h->fd < 0)
		return;
	h->full = false;
	uv_poll_start(&h->poll, UV_READABLE, handshake_connection);
}

static void handshake_client_closed(uv_handle_t *handle)
{
	struct handshake_client *c = handle->data;

	free(c->settings);
	c->settings = NULL;
	c->settings_length = 0;
	c->fd = -1;
	c->closing = false;
	reopen(c->handshake);
}

static void client_close(struct handshake_client *c)
{
	if (c->fd < 0 || c->closing)
		return;
	c->closing = true;
	uv_close((uv_handle_t *)&c->poll, handshake_client_closed);
	close(c->fd);
}

/* Returns true if the sender of the message is the process that connected. Otherwise a program that
 * may be recorded could ask on behalf of one that may not. */
static bool same_process(const struct handshake_client *c, pid_t pid)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid == pid;
}

/* Allocates only the size needed: buffers for the longest text would take much of a small agent's
 * memory. */
static int keep_settings(struct handshake_client *c, const char *text, size_t length)
{
	if (!length || text[length - 1])
		return 0; /* empty, or not from libheapcast.so */
	c->settings = malloc(length);
	if (!c->settings)
		return -ENOMEM;
	memcpy(c->settings, text, length);
	c->settings_length = length;
	return 0;
}

/* Receives the message and its sender's credentials. Returns 0 or a negative errno. */
static int handshake_receive(struct handshake_client *c, struct ring_hello *ret)
{
	char settings[RING_SETTINGS_MAX];
	struct iovec data[2] = {{.iov_base = ret, .iov_len = sizeof(*ret)},
				{.iov_base = settings, .iov_len = sizeof(settings)}};
	union {
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control;
	struct msghdr message = {.msg_iov = data,
				 .msg_iovlen = 2,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	ssize_t n = recvmsg(c->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	struct ucred who;

	if (n < 0)
		return -errno;
	if (n < (ssize_t)sizeof(*ret) || !head || head->cmsg_level != SOL_SOCKET ||
	    head->cmsg_type != SCM_CREDENTIALS)
		return -EBADMSG;
	memcpy(&who, CMSG_DATA(head), sizeof(who));
	if (c->accepted && !same_process(c, who.pid))
		return -EPERM;
	c->pid = who.pid;
	c->uid = who.uid;
	if (message.msg_flags & MSG_TRUNC || c->settings)
		return 0;
	return keep_settings(c, settings, (size_t)n - sizeof(*ret));
}

static void client_readable(uv_poll_t *poll, int status, int events)
{
	struct handshake_client *c = poll->data;
	struct ring_hello hello = {0};
	int r = status < 0 ? status : handshake_receive(c, &hello);

	(void)events;
	if (r == -EAGAIN)
		return;
	if (r < 0 || c->asked) {
		client_close(c);
		return;
	}
	c->asked = true;
	c->flags = hello.flags;
	uv_poll_stop(poll); /* the connection ends with the answer */
	c->handshake->asked(c->handshake->context, c, &hello);
}

static struct handshake_client *handshake_free_place(struct handshake *h)
{
	for (unsigned i = 0; i < HANDSHAKE_CLIENTS; i++)
		if (h->client[i].fd < 0)
			return &h->client[i];
	return NULL;
}

static int add(struct handshake *h, int fd, bool accepted)
{
	struct handshake_client *c = handshake_free_place(h);
	int on = 1;

	if (!c || setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0) {
		close(fd);
		return c ? -errno : -EMFILE;
	}
	*c = (struct handshake_client){
		.handshake = h, .fd = fd, .accepted = accepted, .since_ns = clock_monotonic_ns()};
	c->poll.data = c;
	uv_poll_init(h->loop, &c->poll, fd);
	return uv_poll_start(&c->poll, UV_READABLE, client_readable);
}

/* Sends the wait message at once: the program has not sent anything yet, so this is the first
 * message that it receives. */
int handshake_add(struct handshake *h, int fd)
{
	struct handshake_client *c = handshake_free_place(h);
	int r = add(h, fd, false);

	if (!r)
		handshake_wait(c);
	return r;
}

/* Accepts a connection. If no place or descriptor is free, further connections wait until one is
 * free, or until the next tick. */
static void handshake_connection(uv_poll_t *poll, int status, int events)
{
	struct handshake *h = poll->data;
	int fd = -1;

	(void)events;
	if (status < 0)
		return;
	h->full = !handshake_free_place(h);
	if (!h->full) {
		fd = accept4(h->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		h->full = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
				     errno == ENOMEM);
	}
	if (h->full)
		uv_poll_stop(poll);
	if (fd >= 0)
		add(h, fd, true);
}

void handshake_tick(struct handshake *h, uint64_t now_ns)
{
	for (unsigned i = 0; i < HANDSHAKE_CLIENTS; i++) {
		struct handshake_client *c = &h->client[i];

		if (c->fd >= 0 && c->accepted && !c->asked && now_ns > c->since_ns + SILENT_NS)
			client_close(c);
	}
	reopen(h);
}

bool handshake_pending(const struct handshake *h)
{
	struct pollfd queue = {.fd = h->fd, .events = POLLIN};

	for (unsigned i = 0; i < HANDSHAKE_CLIENTS; i++)
		if (h->client[i].fd >= 0 && h->client[i].accepted && !h->client[i].closing)
			return true;
	return h->fd >= 0 && poll(&queue, 1, 0) > 0;
}

int handshake_open(struct handshake *h, uv_loop_t *loop, int listen_fd,
		   void (*asked)(void *context, struct handshake_client *client,
				 const struct ring_hello *hello),
		   void *context)
{
	int on = 1;

	*h = (struct handshake){.loop = loop, .fd = listen_fd, .asked = asked, .context = context};
	for (unsigned i = 0; i < HANDSHAKE_CLIENTS; i++)
		h->client[i].fd = -1;
	if (listen_fd < 0)
		return 0;
	if (setsockopt(listen_fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return -errno;
	h->poll.data = h;
	uv_poll_init(loop, &h->poll, listen_fd);
	return uv_poll_start(&h->poll, UV_READABLE, handshake_connection);
}

static struct ring_answer answer_of(enum ring_answer_kind kind, uint32_t flags, uint64_t size)
{
	return (struct ring_answer){.magic = RING_MAGIC,
				    .version = RING_VERSION,
				    .kind = kind,
				    .flags = flags,
				    .size = size};
}

void handshake_answer(struct handshake_client *c, enum ring_answer_kind kind)
{
	handshake_answer_with(c, kind, -1, 0, NULL, 0);
}

int handshake_answer_with(struct handshake_client *c, enum ring_answer_kind kind, int ring_fd,
			  uint64_t size, const struct ring_entry *entry, uint32_t count)
{
	struct ring_answer answer = answer_of(kind, c->follow ? RING_ANSWER_FOLLOW : 0, size);
	struct iovec data[2] = {
		{.iov_base = &answer, .iov_len = sizeof(answer)},
		{.iov_base = (void *)(uintptr_t)entry, .iov_len = count * sizeof(*entry)}};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct msghdr message = {.msg_iov = data, .msg_iovlen = 2};
	struct cmsghdr *head;
	int r;

	if (ring_fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(head), &ring_fd, sizeof(int));
	}
	r = sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
	client_close(c);
	return r;
}

void handshake_wait(struct handshake_client *c)
{
	const struct ring_answer answer = answer_of(RING_WAIT, 0, 0);

	if (c->waits)
		return;
	c->waits = true;
	send(c->fd, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void handshake_say(struct handshake_client *c, const char *text)
{
	struct ring_answer answer = answer_of(RING_SAY, 0, 0);
	size_t length = strlen(text);
	struct iovec data[2] = {{.iov_base = &answer, .iov_len = sizeof(answer)},
				{.iov_base = (void *)(uintptr_t)text,
				 .iov_len = length < RING_SAY_MAX ? length : RING_SAY_MAX}};
	struct msghdr message = {.msg_iov = data, .msg_iovlen = 2};

	sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void handshake_close(struct handshake *h)
{
	for (unsigned i = 0; i < HANDSHAKE_CLIENTS; i++)
		client_close(&h->client[i]);
	if (h->fd < 0)
		return;
	uv_close((uv_handle_t *)&h->poll, NULL);
	close(h->fd);
	h->fd = -1;
}
