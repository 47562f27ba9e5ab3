/* Handles connections whose first request has not arrived yet. See greeting.h. */
#include "collector/http/server/greeting.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ban.h"

#define HEAD_MAX_BYTES 16384 /* the same as in server.c: the library refuses longer heads */
#define GREETINGS_MAX  256
#define GREETINGS_EACH 32 /* for one address */
#define PATIENCE_MS    10000
#define TLS_HANDSHAKE  22 /* type of the first record of TLS */
/* Escaped bytes that never occur in UTF-8. greeting_restore recognizes them. */
#define GREETING_FOR_LF "FF"
#define GREETING_FOR_CR "FE"
#define AGAIN_MS	20 /* minimum time between two looks at a client that sends slowly */

struct greeting {
	struct greetings *all;
	struct greeting *next;
	struct stranger who;
	uv_poll_t poll;
	uv_timer_t timer;
	int fd;
	uint64_t until_ms;
	unsigned open_handles;
};

static bool is_escape(const char *at, size_t left)
{
	return left > 2 && *at == '%' && isxdigit((unsigned char)at[1]) &&
	       isxdigit((unsigned char)at[2]);
}

/* Returns the stand-in for "%0A" ("FF") or "%0D" ("FE"), or NULL if the escape is not an end of
 * line. */
static const char *stand_in(const char *escape)
{
	if (!strncasecmp(escape, "%0A", 3))
		return GREETING_FOR_LF;
	return strncasecmp(escape, "%0D", 3) ? NULL : GREETING_FOR_CR;
}

bool greeting_mend(const char *line, size_t length, struct buf *out)
{
	bool mended = false;

	for (size_t i = 0; i < length; i++) {
		bool escape = is_escape(line + i, length - i);
		const char *other = escape ? stand_in(line + i) : line[i] == '%' ? "25" : NULL;

		buf_byte(out, (uint8_t)line[i]);
		if (!other)
			continue;
		buf_string(out, other);
		mended = true;
		if (escape)
			i += 2;
	}
	return mended;
}

void greeting_restore(char *text)
{
	for (; *text; text++)
		if (*text == '\xff')
			*text = '\n';
		else if (*text == '\xfe')
			*text = '\r';
}

static void handle_closed(uv_handle_t *handle)
{
	struct greeting *g = handle->data;

	if (!--g->open_handles)
		free(g);
}

/* Removes the greeting from the list, and returns its descriptor. */
static int greeting_leave(struct greeting *g)
{
	struct greeting **at = &g->all->list;
	int fd = g->fd;

	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	g->all->count--;
	uv_poll_stop(&g->poll);
	uv_close((uv_handle_t *)&g->poll, handle_closed);
	uv_close((uv_handle_t *)&g->timer, handle_closed);
	return fd;
}

static void greeting_adopt(struct greeting *g, const void *data, size_t length)
{
	const struct stranger_address from = g->who.from;
	struct greetings *all = g->all;

	all->adopt(all->context, greeting_leave(g), &from, data, length);
}

/* Reads the line, which has arrived completely, and hands over the corrected one. */
static void adopt_mended(struct greeting *g, char *line, size_t length, struct buf *mended)
{
	if (buf_error(mended) || recv(g->fd, line, length, 0) != (ssize_t)length) {
		close(greeting_leave(g));
		return;
	}
	greeting_adopt(g, mended->data, mended->length);
}

/* Tells whether the data can be the beginning of a request line, which is the name of a method. The
 * library refuses everything else (TLS, garbage). */
static bool may_begin(const char *head, size_t length)
{
	return !length || (head[0] >= 'A' && head[0] <= 'Z');
}

static bool greeting_is_whole(const char *head, size_t length)
{
	return memmem(head, length, "\n\r\n", 3) || memmem(head, length, "\n\n", 2);
}

/* Tells whether the first TLS record is complete: type, version, length (RFC 8446, 5.1). */
static bool is_whole_record(const char *head, size_t length)
{
	return length >= 5 && length - 5 >= ((size_t)(uint8_t)head[3] << 8 | (uint8_t)head[4]);
}

/* Tells whether more data has to arrive before the connection can be handed over. */
static bool may_go_on(const struct greeting *g, const char *head, size_t length)
{
	if (g->all->tls && head[0] == TLS_HANDSHAKE)
		return !is_whole_record(head, length);
	return may_begin(head, length) && !greeting_is_whole(head, length);
}

/* Answers a client that speaks plain HTTP where TLS is required. Its data is read first. Otherwise
 * the close would be a reset, and the client would lose the answer. */
static void say_tls(struct greeting *g, char *head, size_t length)
{
	static const char answer[] =
		"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
		"This is served by TLS: ask for https://\n";
	ssize_t n = recv(g->fd, head, length, 0);

	if (n > 0 && may_begin(head, (size_t)n))
		n = send(g->fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	shutdown(g->fd, SHUT_WR);
	close(greeting_leave(g));
}

/* Has the kernel wake the loop only when more than `bytes` bytes have arrived, or the connection
 * ends. */
static void wake_beyond(const struct greeting *g, int bytes)
{
	const int least = bytes + 1;

	setsockopt(g->fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least));
}

static void on_readable(uv_poll_t *poll, int status, int events);

static void listen_on(struct greeting *g);

static void on_timer(uv_timer_t *timer)
{
	struct greeting *g = timer->data;

	if (uv_now(g->all->loop) >= g->until_ms)
		close(greeting_leave(g));
	else
		listen_on(g);
}

static void listen_on(struct greeting *g)
{
	uv_timer_start(&g->timer, on_timer, g->until_ms - uv_now(g->all->loop), 0);
	uv_poll_start(&g->poll, UV_READABLE | UV_DISCONNECT, on_readable);
}

/* Waits until more than `bytes` bytes have arrived, and at least for a short time. */
static void wait_for_more(struct greeting *g, int bytes)
{
	wake_beyond(g, bytes);
	uv_poll_stop(&g->poll);
	uv_timer_start(&g->timer, on_timer, AGAIN_MS, 0);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct greeting *g = poll->data;
	char head[HEAD_MAX_BYTES];
	ssize_t n = recv(g->fd, head, sizeof(head), MSG_PEEK);
	struct buf mended = {0};
	const char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR) && !(events & UV_DISCONNECT))
		return;
	if (status < 0 || n <= 0) {
		close(greeting_leave(g));
		return;
	}
	if (n < (ssize_t)sizeof(head) && may_go_on(g, head, (size_t)n)) {
		if (events & UV_DISCONNECT)
			close(greeting_leave(
				g)); /* the client has closed: nothing more will arrive */
		else
			wait_for_more(g, (int)n);
		return;
	}
	wake_beyond(g, 0);
	if (g->all->tls) {
		if (head[0] == TLS_HANDSHAKE)
			greeting_adopt(g, NULL, 0);
		else
			say_tls(g, head, (size_t)n);
		return;
	}
	end = memchr(head, '\n', (size_t)n);
	if (end && greeting_mend(head, (size_t)(end + 1 - head), &mended))
		adopt_mended(g, head, (size_t)(end + 1 - head), &mended);
	else
		greeting_adopt(g, NULL, 0);
	buf_done(&mended);
}

void greetings_init(struct greetings *greetings, uv_loop_t *loop, bool tls,
		    void (*adopt_one)(void *context, int fd, const struct stranger_address *from,
				      const void *data, size_t length),
		    void *context)
{
	*greetings = (struct greetings){
		.loop = loop, .tls = tls, .adopt = adopt_one, .context = context};
}

static void greeting_make_room(struct greetings *greetings, const struct stranger_address *from)
{
	struct stranger who[GREETINGS_MAX];
	struct greeting *one[GREETINGS_MAX];
	size_t count = 0;
	int leaver;

	for (struct greeting *g = greetings->list; g; g = g->next) {
		who[count] = g->who;
		one[count++] = g;
	}
	leaver = strangers_gives_way(who, count, GREETINGS_MAX, GREETINGS_EACH, from);
	if (leaver >= 0)
		close(greeting_leave(one[leaver]));
}

void greetings_add(struct greetings *greetings, int fd, const struct sockaddr *from)
{
	struct greeting *g = calloc(1, sizeof(*g));

	if (!g || uv_poll_init(greetings->loop, &g->poll, fd) < 0) {
		free(g);
		close(fd);
		return;
	}
	g->who = (struct stranger){stranger_address(from), uv_now(greetings->loop)};
	greeting_make_room(greetings, &g->who.from);
	uv_timer_init(greetings->loop, &g->timer);
	g->poll.data = g->timer.data = g;
	g->open_handles = 2;
	g->all = greetings;
	g->fd = fd;
	g->next = greetings->list;
	greetings->list = g;
	greetings->count++;
	g->until_ms = g->who.since_ms + PATIENCE_MS;
	listen_on(g);
}

void greetings_close(struct greetings *greetings)
{
	while (greetings->list)
		close(greeting_leave(greetings->list));
}
