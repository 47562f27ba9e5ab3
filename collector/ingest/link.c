/*
 * A connection to an agent, dialled or accepted.
 *
 *   CONNECTING -> HELLO (ours is sent, theirs is awaited) -> OPEN -> [GOODBYE] -> CLOSING
 *              -> freed when both handles are closed
 *
 * All links read into one buffer, ingest.raw. Bytes gather in `in`, at most one frame plus the
 * excess of one read. Whole frames are removed from its front. A link without a partial frame holds
 * no memory for one.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "proto/columns.h"
#include "collector/ingest/state.h"
#include "base/ban.h"

#define KEEPALIVE_S	4
#define KEEPALIVE_EACH	2
#define KEEPALIVE_TRIES 3
#define SILENT_MS	12000 /* unacknowledged data may be outstanding this long */

/* ---- closing ---- */

static void link_free(struct link *link)
{
	struct link **at = &link->ingest->links;

	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	link->ingest->link_count--;
	secure_session_free(link->session);
	buf_done(&link->in);
	free(link);
}

static void link_on_closed(uv_handle_t *handle)
{
	struct link *link = handle->data;
	struct ingest *ingest = link->ingest;

	if (!--link->handles)
		link_free(link);
	ingest_released(ingest);
}

static void close_quietly(struct link *link)
{
	bool good = link->state == LINK_OPEN || link->state == LINK_GOODBYE;

	if (link->state == LINK_CLOSING)
		return;
	link->ingest->open_count -= good;
	link->state = LINK_CLOSING;
	if (link->peer)
		peer_link_gone(link->peer, good);
	if (link->peer && link->try_next)
		link->peer->next_try_ms = uv_now(link->ingest->loop);
	link->peer = NULL;
	intake_link_gone(link);
	files_link_gone(link);
	replies_link_gone(link);
	uv_close((uv_handle_t *)&link->tcp, link_on_closed);
	uv_close((uv_handle_t *)&link->timer, link_on_closed);
}

/* Events of strangers are rate-limited. */
static bool worth_telling(struct link *link)
{
	return strangers_tell(&link->ingest->strangers, &link->who.from,
			      uv_now(link->ingest->loop));
}

void link_close(struct link *link, const char *format, ...)
{
	struct ingest_event event = {.kind = INGEST_DISCONNECTED, .address = link->address};
	bool tell = link->state == LINK_OPEN ||
		    (link->state == LINK_HELLO && !link->try_next && worth_telling(link));
	char text[640];
	va_list args;

	if (link->state == LINK_CLOSING)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	event.text = text;
	if (link->state == LINK_HELLO && link->kind != LINK_PLAIN && link->ingest->secure && tell) {
		ingest_warn(link->ingest, "%s %s: %s",
			    link->peer ? "can't use the agent at" : "refused", link->address, text);
		tell = false;
	}
	close_quietly(link);
	if (tell)
		ingest_tell(link->ingest, &event);
}

static void on_goodbye_timeout(uv_timer_t *timer)
{
	close_quietly(timer->data);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
	(void)status;
	close_quietly(request->handle->data);
}

void link_goodbye(struct link *link)
{
	if (link->state != LINK_OPEN) {
		close_quietly(link);
		return;
	}
	link->state = LINK_GOODBYE;
	uv_read_stop((uv_stream_t *)&link->tcp);
	uv_timer_start(&link->timer, on_goodbye_timeout, GOODBYE_MS, 0);
	if (uv_shutdown(&link->shutdown, (uv_stream_t *)&link->tcp, on_shutdown) < 0)
		close_quietly(link);
}

/* ---- messages ---- */

static struct link *other_link(const struct link *link)
{
	for (struct link *l = link->ingest->links; l; l = l->next)
		if (l != link && (l->state == LINK_OPEN || l->state == LINK_GOODBYE) &&
		    !memcmp(l->agent, link->agent, STREAM_ID_SIZE))
			return l;
	return NULL;
}

bool link_by_agent(const struct ingest *ingest, const uint8_t agent[STREAM_ID_SIZE], bool keyed)
{
	for (const struct link *l = ingest->links; l; l = l->next)
		if (l->state == LINK_OPEN && (l->session || !keyed) &&
		    !memcmp(l->agent, agent, STREAM_ID_SIZE))
			return true;
	return false;
}

struct link *link_by_address(const struct ingest *ingest, const char *address)
{
	for (struct link *l = ingest->links; l; l = l->next)
		if (l->state != LINK_CLOSING && !strcmp(l->address, address))
			return l;
	return NULL;
}

/*
 * An agent that is found twice (by several beacons, or because both sides dial) keeps the link that
 * works.
 */
static bool is_second(struct link *link)
{
	struct link *other = other_link(link);

	if (!other)
		return false;
	if (!link->session != !other->session) { /* the authenticated link is trusted */
		if (link->session)
			link_close(other, "its agent came again, with its key");
		return !link->session;
	}
	if (uv_now(link->ingest->loop) - other->heard_ms < IDLE_MS)
		return true;
	link_close(other, "the agent came again");
	return false;
}

/* Tells whether a stream of the list continues, or has batches that are not stored. */
static bool brings_any(const struct link *link, const Heapcast__Link *list)
{
	for (size_t i = 0; i < list->n_stream; i++)
		if (!intake_is_here(link->ingest, list->stream[i]))
			return true;
	return false;
}

static void take_hello(struct link *link, const Heapcast__Hello *hello, bool brings)
{
	char version[64];

	if (link->state != LINK_HELLO)
		return;
	if (hello->protocol != PROTOCOL_VERSION) {
		link_close(link, "it speaks version %u of the protocol, we speak %d",
			   hello->protocol, PROTOCOL_VERSION);
		return;
	}
	if (hello->id.len != STREAM_ID_SIZE) {
		link_close(link, "its greeting makes no sense");
		return;
	}
	memcpy(link->agent, hello->id.data, STREAM_ID_SIZE);
	if (link->peer) {
		peer_set_agent(link->peer, link->agent);
		link->peer->warned = false;
	}
	if (is_second(link)) {
		close_quietly(link);
		return;
	}
	words_clean(link->host, sizeof(link->host), hello->host, strlen(hello->host));
	if (!room_for_link(link, brings)) {
		close_quietly(link);
		return;
	}
	words_clean(version, sizeof(version), hello->version, strlen(hello->version));
	link->window_bytes = hello->window_bytes ? hello->window_bytes : DEFAULT_WINDOW;
	link->state = LINK_OPEN;
	link->ingest->open_count++;
	uv_timer_stop(&link->timer);
	ingest_tell(
		link->ingest,
		&(struct ingest_event){.kind = INGEST_CONNECTED,
				       .address = link->address,
				       .key = link->session ? secure_identity(link->session) : "",
				       .host = link->host,
				       .version = version});
}

static int take_frame(struct link *link, const uint8_t *frame, size_t length, struct err_text *err)
{
	const Heapcast__Batch *batch;
	ProtobufCMessage *message;
	int r = message_reader_open(link->ingest->messages, &heapcast__batch__descriptor, frame,
				    length, &message, err);

	if (r < 0)
		return r;
	batch = (const Heapcast__Batch *)message;
	if (batch->link && batch->link->hello)
		take_hello(link, batch->link->hello, brings_any(link, batch->link));
	if (link->state == LINK_HELLO)
		return err_set(err, -EPROTO, "it did not greet");
	if (batch->link && link->state == LINK_OPEN)
		intake_states(link, batch->link);
	for (size_t i = 0; batch->link && link->state == LINK_OPEN && i < batch->link->n_reply; i++)
		replies_take(link, batch->link->reply[i]);
	if (link->state == LINK_OPEN && batch->link && batch->link->file) {
		r = files_piece(link, batch->link->file, err);
		if (r < 0)
			return r;
	}
	if (link->state != LINK_OPEN || !batch->stream.len)
		return 0;
	r = intake_frame(link, frame, length, batch, err);
	if (r == 0)
		files_modules(link->ingest, batch);
	return r;
}

/* The frame at the front waits for room on the disk. The agent waits, because nothing is read. */
static void link_hold(struct link *link)
{
	link->held = true;
	link->retry_ms = uv_now(link->ingest->loop) + RETRY_APPEND_MS;
	uv_read_stop((uv_stream_t *)&link->tcp);
}

/* Takes all whole frames from the input, until the disk refuses one. */
static int take_frames(struct link *link, struct err_text *err)
{
	size_t at = 0, length;
	int r = 0;

	link->held = false;
	while (at < link->in.length && link->state != LINK_CLOSING && !link->held) {
		r = frame_length(link->in.data + at, link->in.length - at, &length, err);
		if (r != 1)
			break;
		r = take_frame(link, link->in.data + at, length, err);
		if (r < 0)
			break;
		if (r == 1)
			link_hold(link);
		else
			at += length;
	}
	buf_consume(&link->in, at);
	if (!link->in.length)
		buf_done(&link->in);
	return r < 0 ? r : 0;
}

/* ---- reading ---- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
	struct link *link = handle->data;
	struct ingest *ingest = link->ingest;

	/*
	 * libuv reads up to 32 times from a link before it serves the next one. An empty buffer
	 * ends the link's turn.
	 */
	(void)suggested;
	*ret_buf = uv_buf_init((char *)ingest->raw, link->turn == ingest->turn ? 0 : RAW_SIZE);
	link->turn = ingest->turn;
}

/* The agent speaks TLS, but we have no key or do not use it. */
static int check_kind(struct link *link, struct err_text *err)
{
	enum secure_first first = secure_first(link->in.data, link->in.length);

	if (first != SECURE_FIRST_HANDSHAKE && first != SECURE_FIRST_REFUSAL)
		return 0;
	link->try_next = link_turn_kind(link, false);
	return err_set(err, -EPROTO,
		       "it speaks TLS only: 'collector pair' and 'agent pair CODE' make a key, or "
		       "give --key (or --cert), as there");
}

/* Limits the bytes that an agent may send before its Hello. */
static int check_stranger(struct link *link, struct err_text *err)
{
	if (link->in.length >= HALF_OPEN_BYTES)
		return err_set(err, -EMSGSIZE, "it says too much before its greeting");
	return 0;
}

/*
 * The first bytes of an accepted connection show how the agent speaks. We have sent nothing so far.
 */
static void decide_kind(struct link *link, const char *data, size_t length)
{
	bool tls = secure_first(data, length) == SECURE_FIRST_HANDSHAKE ||
		   secure_first(data, length) == SECURE_FIRST_UNKNOWN;

	link->kind = tls ? LINK_TLS : LINK_PLAIN;
	if (!tls)
		order_hello(link);
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf)
{
	struct link *link = stream->data;
	struct err_text err = {0};
	int r = 0;

	if (length == UV_ENOBUFS) /* the link's turn is over */
		return;
	if (length < 0) {
		link_close(link, "%s",
			   length == UV_EOF ? "it closed the connection"
					    : uv_strerror((int)length));
		return;
	}
	if (!length || link->state == LINK_CLOSING)
		return;
	link->heard_ms = uv_now(link->ingest->loop);
	link->ingest->bytes += (uint64_t)length;
	if (link->kind == LINK_UNDECIDED && length)
		decide_kind(link, buf->base, (size_t)length);
	if (link->kind == LINK_TLS)
		r = link_secure_input(link, buf->base, (size_t)length, &err);
	else
		buf_append(&link->in, buf->base, (size_t)length);
	if (!r)
		r = buf_error(&link->in);
	if (!r && link->kind == LINK_PLAIN && link->state == LINK_HELLO)
		r = check_kind(link, &err);
	if (!r && link->in.length && link->state != LINK_CLOSING)
		r = take_frames(link, &err);
	if (!r && link->state == LINK_HELLO)
		r = check_stranger(link, &err);
	if (r < 0)
		link_close(link, "%s", err_get(&err, r));
}

static void retry(struct link *link)
{
	struct err_text err = {0};
	int r = take_frames(link, &err);

	if (r == 0 && !link->held && link->state == LINK_OPEN)
		r = uv_read_start((uv_stream_t *)&link->tcp, on_alloc, on_read);
	if (r < 0)
		link_close(link, "%s", err_get(&err, r));
}

void links_tick(struct ingest *ingest, uint64_t now_ms)
{
	for (struct link *l = ingest->links, *next; l; l = next) {
		next = l->next;
		if (l->held && l->state == LINK_OPEN && now_ms >= l->retry_ms)
			retry(l);
	}
}

static void on_hello_timeout(uv_timer_t *timer)
{
	struct link *link = timer->data;

	link_close(link, link->state == LINK_CONNECTING ? "no answer in time"
							: "it did not greet in time");
}

/* A board that lost power sends nothing; keepalive probes detect that. */
static void watch_silence(struct link *link)
{
	const int each = KEEPALIVE_EACH, tries = KEEPALIVE_TRIES, silent = SILENT_MS;
	uv_os_fd_t fd;

	uv_tcp_nodelay(&link->tcp, 1);
	uv_tcp_keepalive(&link->tcp, 1, KEEPALIVE_S);
	if (uv_fileno((const uv_handle_t *)&link->tcp, &fd) < 0)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &each, sizeof(each));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent, sizeof(silent));
}

static enum link_kind kind_of(const struct link *link)
{
	const struct ingest *ingest = link->ingest;

	if (link->peer)
		return peer_kind(link->peer);
	return !ingest->secure ? LINK_PLAIN : ingest->strict ? LINK_TLS : LINK_UNDECIDED;
}

static void greet(struct link *link)
{
	struct err_text err = {0};
	int r;

	link->state = LINK_HELLO;
	link->heard_ms = uv_now(link->ingest->loop);
	watch_silence(link);
	r = uv_read_start((uv_stream_t *)&link->tcp, on_alloc, on_read);
	link->kind = kind_of(link);
	if (!r && link->kind == LINK_TLS && link->peer)
		r = link_secure_start(link, &err);
	if (r < 0)
		link_close(link, "%s", err_get(&err, r));
	else if (link->kind == LINK_PLAIN)
		order_hello(link);
}

/* ---- creation ---- */

static struct link *link_new(struct ingest *ingest, struct peer *peer)
{
	struct link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->ingest = ingest;
	link->peer = peer;
	link->in.limit = FRAME_MAX + RAW_SIZE + 4096;
	uv_tcp_init(ingest->loop, &link->tcp);
	uv_timer_init(ingest->loop, &link->timer);
	link->tcp.data = link->timer.data = link;
	link->handles = 2;
	ingest->pending += 2;
	link->next = ingest->links;
	ingest->links = link;
	ingest->link_count++;
	uv_timer_start(&link->timer, on_hello_timeout, HELLO_TIMEOUT_MS, 0);
	return link;
}

static void on_connected(uv_connect_t *request, int status)
{
	struct link *link = request->handle->data;

	if (link->state != LINK_CONNECTING)
		return;
	if (status < 0) {
		if (link->peer && link->peer->fixed && !link->peer->warned) {
			link->peer->warned = true;
			ingest_warn(link->ingest, "cannot reach %s: %s; trying again",
				    link->address, uv_strerror(status));
		}
		close_quietly(link);
		return;
	}
	greet(link);
}

int link_connect(struct ingest *ingest, struct peer *peer, const struct sockaddr *address)
{
	const struct stranger_address to = stranger_address(address);
	struct link *link;
	int r;

	if (!peer->fixed && !links_make_room_to_dial(ingest, peer, &to))
		return -EMFILE;
	if (!room_to_dial(ingest, peer))
		return -EMFILE;
	link = link_new(ingest, peer);
	if (!link)
		return -ENOMEM;
	address_format(link->address, address);
	link->who = (struct stranger){to, uv_now(ingest->loop)};
	peer->link = link;
	r = uv_tcp_connect(&link->connect, &link->tcp, address, on_connected);
	if (r < 0) {
		link->peer = NULL;
		peer->link = NULL;
		close_quietly(link);
	}
	return r;
}

void link_accept(struct ingest *ingest)
{
	struct sockaddr_storage address;
	int length = sizeof(address);
	struct link *link = link_new(ingest, NULL);

	if (!link) { /* libuv keeps the connection, and tells of no other until it is accepted */
		ingest->accept_waits = true;
		return;
	}
	if (uv_accept((uv_stream_t *)&ingest->listener, (uv_stream_t *)&link->tcp) < 0 ||
	    uv_tcp_getpeername(&link->tcp, (struct sockaddr *)&address, &length) < 0) {
		close_quietly(link);
		return;
	}
	address_format(link->address, (const struct sockaddr *)&address);
	link->who = (struct stranger){stranger_address((const struct sockaddr *)&address),
				      uv_now(ingest->loop)};
	if (ingest->stopping) {
		close_quietly(link);
		return;
	}
	links_make_room(ingest, &link->who.from);
	uv_timer_start(&link->timer, on_hello_timeout, STRANGERS_SHAKE_MS, 0);
	greet(link);
}
