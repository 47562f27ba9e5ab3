/* Connections whose first request has not come yet. See greeting.h. */
#include "collector/http/greeting.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ban.h"

#define LINE_MAX_BYTES 16384
#define GREETINGS_MAX  256
#define AGAIN_MS       20
#define PATIENCE_MS    20000

struct greeting {
	struct greetings *all;
	struct greeting *next;
	uv_poll_t poll;
	uv_timer_t timer;
	int fd;
	uint64_t until_ms;
	unsigned open_handles;
};

bool greeting_mend(const char *line, size_t length, struct buf *out)
{
	bool mended = false;

	for (size_t i = 0; i < length; i++) {
		buf_byte(out, (uint8_t)line[i]);
		if (line[i] != '%' || (i + 2 < length && isxdigit((unsigned char)line[i + 1]) &&
				       isxdigit((unsigned char)line[i + 2])))
			continue;
		buf_string(out, "25");
		mended = true;
	}
	return mended;
}

static void handle_closed(uv_handle_t *handle)
{
	struct greeting *g = handle->data;

	if (!--g->open_handles)
		free(g);
}

/* Leaves the list, gives the descriptor away. */
static int leave(struct greeting *g)
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

static void adopt(struct greeting *g, const void *data, size_t length)
{
	struct greetings *all = g->all;

	all->adopt(all->context, leave(g), data, length);
}

/* Reads the line, which is there as a whole, and hands it over put right. */
static void adopt_mended(struct greeting *g, char *line, size_t length, struct buf *mended)
{
	if (buf_error(mended) || recv(g->fd, line, length, 0) != (ssize_t)length) {
		close(leave(g));
		return;
	}
	adopt(g, mended->data, mended->length);
}

/* A request line begins with the name of a method. What else comes (TLS, garbage) is the library's to refuse. */
static bool may_begin(const char *line, ssize_t length)
{
	return length <= 0 || (line[0] >= 'A' && line[0] <= 'Z');
}

static void on_readable(uv_poll_t *poll, int status, int events);

static void on_timer(uv_timer_t *timer)
{
	struct greeting *g = timer->data;

	if (uv_now(g->all->loop) >= g->until_ms)
		close(leave(g));
	else
		uv_poll_start(&g->poll, UV_READABLE | UV_DISCONNECT, on_readable);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct greeting *g = poll->data;
	char line[LINE_MAX_BYTES];
	ssize_t n = recv(g->fd, line, sizeof(line), MSG_PEEK);
	struct buf mended = {0};
	const char *end;

	if (status < 0 || !n || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		close(leave(g));
		return;
	}
	end = n > 0 ? memchr(line, '\n', (size_t)n) : NULL;
	if (!end && n < (ssize_t)sizeof(line) && !(events & UV_DISCONNECT) && may_begin(line, n)) {
		/* The rest may come slowly: what is there would wake us at once. */
		uv_poll_stop(poll);
		uv_timer_start(&g->timer, on_timer, AGAIN_MS, 0);
		return;
	}
	if (end && greeting_mend(line, (size_t)(end + 1 - line), &mended))
		adopt_mended(g, line, (size_t)(end + 1 - line), &mended);
	else
		adopt(g, NULL, 0);
	buf_done(&mended);
}

void greetings_init(struct greetings *greetings, uv_loop_t *loop,
		    void (*adopt_one)(void *context, int fd, const void *data, size_t length),
		    void *context)
{
	*greetings = (struct greetings){.loop = loop, .adopt = adopt_one, .context = context};
}

void greetings_add(struct greetings *greetings, int fd)
{
	struct greeting *g = greetings->count < GREETINGS_MAX ? calloc(1, sizeof(*g)) : NULL;

	if (!g || uv_poll_init(greetings->loop, &g->poll, fd) < 0) {
		free(g);
		close(fd);
		return;
	}
	uv_timer_init(greetings->loop, &g->timer);
	g->poll.data = g->timer.data = g;
	g->open_handles = 2;
	g->all = greetings;
	g->fd = fd;
	g->until_ms = uv_now(greetings->loop) + PATIENCE_MS;
	g->next = greetings->list;
	greetings->list = g;
	greetings->count++;
	/* Who says nothing at all is let go, too. */
	uv_timer_start(&g->timer, on_timer, PATIENCE_MS, 0);
	uv_poll_start(&g->poll, UV_READABLE | UV_DISCONNECT, on_readable);
}

void greetings_close(struct greetings *greetings)
{
	while (greetings->list)
		close(leave(greetings->list));
}
