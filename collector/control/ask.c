/* The client side of the control socket. control.h describes it. */
#include "collector/control/control.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/control/place.h"
#include "base/ban.h"

static int ask_reach(const char *folder, struct err_text *err)
{
	struct sockaddr_un address;
	cleanup(cleanup_close) int place = control_place(folder, &address);
	cleanup(cleanup_close) int fd = -1;

	if (place < 0)
		return err_set(err, place,
			       "the data folder %.300s: %s (--data DIR names the one that "
			       "collector gather fills)",
			       folder, strerror(-place));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set(err, -errno, "making a socket: %s", strerror(errno));
	if (!connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return take_fd(fd);
	if (errno == EACCES || errno == EPERM)
		return err_set(err, -EACCES, "the collector of %.300s is another user's", folder);
	return err_set(
		err, -ENOENT,
		"no collector is at work in %.300s: 'collector gather --data %.100s' has the "
		"links to agents",
		folder, folder);
}

static int send_line(int fd, const char *text, struct err_text *err)
{
	char line[CONTROL_LINE];
	int n = snprintf(line, sizeof(line), "%s\n", text);

	if (n < 0 || (size_t)n >= sizeof(line))
		return err_set(err, -EMSGSIZE, "too long a question: %.60s...", text);
	if (send(fd, line, (size_t)n, MSG_NOSIGNAL) != n)
		return err_set(err, -errno, "asking the collector: %s", strerror(errno));
	return 0;
}

static bool is_word(const char *line, const char *word)
{
	size_t length = strlen(word);

	return !strncmp(line, word, length) && (line[length] == ' ' || !line[length]);
}

int control_reach(const char *folder, struct err_text *err)
{
	int fd = ask_reach(folder, err);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

int control_ask_begin(struct control_asking *a, const char *folder, const char *question,
		      struct err_text *err)
{
	int fd = ask_reach(folder, err), r;

	if (fd < 0)
		return fd;
	r = send_line(fd, question, err);
	if (r < 0) {
		close(fd);
		return r;
	}
	*a = (struct control_asking){.fd = fd};
	return 0;
}

/* Moves the first complete line to `line`. Returns false if there is none. */
static bool ask_take_line(struct control_asking *a, char line[CONTROL_LINE])
{
	char *newline = memchr(a->in, '\n', a->length);
	size_t length;

	if (!newline)
		return false;
	length = (size_t)(newline - a->in);
	memcpy(line, a->in, length);
	line[length] = '\0';
	a->length -= length + 1;
	memmove(a->in, newline + 1, a->length);
	return true;
}

int control_ask_line(struct control_asking *a, int wait_ms, char line[CONTROL_LINE],
		     struct err_text *err)
{
	struct pollfd ready = {.fd = a->fd, .events = POLLIN};
	ssize_t n;

	while (!ask_take_line(a, line)) {
		int r = poll(&ready, 1, wait_ms);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r < 0 ? -errno : -EAGAIN;
		n = recv(a->fd, a->in + a->length, sizeof(a->in) - a->length, 0);
		if (n <= 0)
			return err_set(err, -EPROTO, "the collector ended before it had answered");
		a->length += (size_t)n;
	}
	return is_word(line, "ok") ? 1 : is_word(line, "no") ? 2 : 0;
}

void control_ask_end(struct control_asking *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
}

int control_ask(const char *folder, const char *question,
		void (*line)(void *context, const char *line), void *context, struct err_text *err)
{
	struct control_asking a;
	char text[CONTROL_LINE];
	int r = control_ask_begin(&a, folder, question, err);

	if (r < 0)
		return r;
	while ((r = control_ask_line(&a, -1, text, err)) >= 0) {
		line(context, text);
		if (r)
			break;
	}
	control_ask_end(&a);
	return r < 0 ? r : r - 1;
}
