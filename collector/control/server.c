/* Serves DIR/control.sock. control.h describes the protocol. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/control/control.h"
#include "collector/control/place.h"
#include "base/ban.h"

#define CLIENTS_MAX 64
#define BACKLOG	    8
/* What a client has not read yet, at most: replies of 4,096 streams come at once. */
#define UNREAD_MAX (2u << 20)
/* timeout for the whole question, and later for the client to read on, and to hang up */
#define QUESTION_MS 5000

struct control_client {
	struct control_client *next;
	struct control *control;
	uv_pipe_t pipe;
	uv_timer_t timer;
	unsigned handles; /* number of open libuv handles (pipe, timer) */
	bool asked, ended, late, closing;
	size_t length;
	char line[CONTROL_LINE];
	_Alignas(16) char note[CONTROL_NOTE];
};

struct control {
	uv_pipe_t listener;
	bool closing, listener_closed;
	unsigned patience_ms;
	char *folder;
	control_question question;
	void *context;
	struct control_client *clients;
	unsigned count;
};

struct saying {
	uv_write_t request;
	char text[];
};

/* ---- closing ---- */

static void server_release(struct control *c)
{
	if (!c->listener_closed || c->clients)
		return;
	free(c->folder);
	free(c);
}

static void server_client_closed(uv_handle_t *handle)
{
	struct control_client *client = handle->data, **at;
	struct control *c = client->control;

	if (--client->handles)
		return;
	for (at = &c->clients; *at != client; at = &(*at)->next)
		;
	*at = client->next;
	c->count--;
	free(client);
	if (c->closing)
		server_release(c);
}

static void server_let_go(struct control_client *client)
{
	if (client->closing)
		return;
	client->closing = true;
	uv_close((uv_handle_t *)&client->pipe, server_client_closed);
	uv_close((uv_handle_t *)&client->timer, server_client_closed);
}

static void listener_closed(uv_handle_t *handle)
{
	struct control *c = handle->data;

	c->listener_closed = true;
	server_release(c);
}

void control_close(struct control *c)
{
	struct sockaddr_un address;
	cleanup(cleanup_close) int place = -1;

	if (!c || c->closing)
		return;
	c->closing = true;
	place = control_place(c->folder, &address);
	if (place >= 0)
		unlink(address.sun_path);
	for (struct control_client *client = c->clients; client; client = client->next)
		server_let_go(client);
	uv_close((uv_handle_t *)&c->listener, listener_closed);
}

/* ---- answers ---- */

/* Timers come before sockets in a turn of the loop. If the turn before took long, the client may
 * have done its part meanwhile: it has one more turn. */
static void server_ended(uv_timer_t *timer)
{
	struct control_client *client = timer->data;

	if (client->late) {
		server_let_go(client);
		return;
	}
	client->late = true;
	uv_timer_start(timer, server_ended, 1, 0);
}

static void server_be_patient(struct control_client *client)
{
	client->late = false;
	uv_timer_start(&client->timer, server_ended, client->control->patience_ms, 0);
}

/* Whoever reads on gets the whole answer, however slowly. A snapshot of 2,000 agents reads some
 * replies between two steps of its work. */
static void said(uv_write_t *request, int status)
{
	struct control_client *client = request->handle->data;

	if (!status && client->ended && !client->closing)
		server_be_patient(client);
	free(request);
}

void control_say(struct control_client *client, const char *format, ...)
{
	struct saying *s;
	va_list args;
	uv_buf_t buf;
	int n;

	if (client->closing)
		return;
	if (uv_stream_get_write_queue_size((uv_stream_t *)&client->pipe) > UNREAD_MAX) {
		server_let_go(client);
		return;
	}
	s = malloc(sizeof(*s) + CONTROL_LINE);
	if (!s)
		return;
	va_start(args, format);
	n = vsnprintf(s->text, CONTROL_LINE - 1, format, args);
	va_end(args);
	n = n < 0 ? 0 : n < CONTROL_LINE - 1 ? n : CONTROL_LINE - 2;
	for (int i = 0; i < n; i++)
		s->text[i] = s->text[i] == '\n' ? ' ' : s->text[i];
	s->text[n] = '\n';
	buf = uv_buf_init(s->text, (unsigned)n + 1);
	if (uv_write(&s->request, (uv_stream_t *)&client->pipe, &buf, 1, said) < 0)
		free(s);
}

void control_end(struct control_client *client)
{
	/* The client reads the pending output and hangs up, or the timer closes the connection. */
	client->asked = false;
	client->ended = true;
	if (!client->closing)
		server_be_patient(client);
}

void control_set_patience(struct control *c, unsigned ms)
{
	c->patience_ms = ms;
}

void *control_note(struct control_client *client)
{
	return client->note;
}

void control_each(struct control *c, void (*each)(void *context, struct control_client *client),
		  void *context)
{
	for (struct control_client *client = c ? c->clients : NULL; client; client = client->next)
		if (client->asked && !client->closing)
			each(context, client);
}

/* ---- questions ---- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
	struct control_client *client = handle->data;

	(void)suggested;
	*ret_buf = uv_buf_init(client->line + client->length,
			       (unsigned)(sizeof(client->line) - client->length));
}

static bool is_text(const char *line)
{
	for (; *line; line++)
		if ((unsigned char)*line < ' ' || *line == 0x7f)
			return false;
	return true;
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf)
{
	struct control_client *client = stream->data;
	char *newline;

	(void)buf;
	if (length < 0) {
		server_let_go(client);
		return;
	}
	client->length += (size_t)length;
	newline = memchr(client->line, '\n', client->length);
	/* A connection carries one line and nothing behind it. */
	if (client->asked || (newline && newline + 1 != client->line + client->length) ||
	    (!newline && client->length == sizeof(client->line))) {
		server_let_go(client);
		return;
	}
	if (!newline)
		return;
	*newline = '\0';
	client->length = 0;
	client->asked = true;
	uv_timer_stop(&client->timer);
	if (memchr(client->line, 0, (size_t)(newline - client->line)) || !is_text(client->line))
		server_let_go(client);
	else
		client->control->question(client->control->context, client, client->line);
}

static bool may_ask(struct control_client *client)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);
	uv_os_fd_t fd;

	return uv_fileno((uv_handle_t *)&client->pipe, &fd) == 0 &&
	       getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

static void server_on_connection(uv_stream_t *listener, int status)
{
	struct control *c = listener->data;
	struct control_client *client;

	if (status < 0 || c->closing)
		return;
	client = calloc(1, sizeof(*client));
	if (!client)
		return;
	client->control = c;
	client->next = c->clients;
	client->handles = 2;
	c->clients = client;
	c->count++;
	uv_pipe_init(listener->loop, &client->pipe, 0);
	uv_timer_init(listener->loop, &client->timer);
	client->pipe.data = client->timer.data = client;
	if (uv_accept(listener, (uv_stream_t *)&client->pipe) < 0 || c->count > CLIENTS_MAX ||
	    !may_ask(client) || uv_read_start((uv_stream_t *)&client->pipe, on_alloc, on_read) < 0)
		server_let_go(client);
	else
		server_be_patient(client);
}

/* ---- creation ---- */

/*
 * Makes a socket for this user only, before any client can connect. An existing socket belongs to a
 * dead collector, because the caller holds the folder's lock.
 */
static int make_socket(const char *folder, struct err_text *err)
{
	struct sockaddr_un address;
	cleanup(cleanup_close) int place = control_place(folder, &address);
	cleanup(cleanup_close) int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (place < 0 || fd < 0)
		return err_set(err, -errno, "making a socket in %.300s: %s", folder,
			       strerror(errno));
	unlink(address.sun_path);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) ||
	    chmod(address.sun_path, 0600))
		return err_set(err, -errno, "making %.300s/" CONTROL_SOCKET ": %s", folder,
			       strerror(errno));
	return take_fd(fd);
}

int control_open(uv_loop_t *loop, const char *folder, control_question question, void *context,
		 struct control **ret_control, struct err_text *err)
{
	struct control *c = calloc(1, sizeof(*c));
	int fd, r;

	if (!c || !(c->folder = strdup(folder))) {
		free(c);
		return err_set(err, -ENOMEM, "out of memory");
	}
	fd = make_socket(folder, err);
	if (fd < 0) {
		free(c->folder);
		free(c);
		return fd;
	}
	c->question = question;
	c->context = context;
	c->patience_ms = QUESTION_MS;
	c->listener.data = c;
	uv_pipe_init(loop, &c->listener, 0);
	r = uv_pipe_open(&c->listener, fd);
	if (r < 0)
		close(fd);
	if (!r)
		r = uv_listen((uv_stream_t *)&c->listener, BACKLOG, server_on_connection);
	if (r < 0) {
		control_close(c);
		return err_set(err, r, "listening at %.300s/" CONTROL_SOCKET ": %s", folder,
			       uv_strerror(r));
	}
	*ret_control = c;
	return 0;
}
