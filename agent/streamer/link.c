/* A connection with a collector. See link.h. */
#include "agent/streamer/link.h"

#include <errno.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"
#include "heapcast.pb-c.h"
#include "proto/discovery.h"
#include "proto/frame.h"
#include "base/ban.h"

#define ORDER_CONTENT_MAX (16u << 10)
#define CONTENT_SIZE_AT	  6	       /* in an LZ4 frame's header */
#define SEND_TURN	  (256u << 10) /* bytes in one go: the loop has other work */

int link_init(struct link *l, struct link_host *host, struct arena *arena, const struct budget *b)
{
	*l = (struct link){.host = host, .fd = -1, .in_size = b->link_in, .out_size = b->link_out};
	l->in = arena_take(arena, l->in_size);
	l->out = arena_take(arena, l->out_size);
	return l->in && l->out ? 0 : -ENOMEM;
}

static uint32_t number_of(const struct link *l)
{
	return (uint32_t)(l - l->host->links);
}

static void closed(uv_handle_t *handle)
{
	struct link *l = handle->data;

	l->fd = -1;
	l->closing = false;
	orphans_forget(l->host->orphans, number_of(l));
	l->host->closed(l->host->context, l);
}

void link_close(struct link *l)
{
	if (l->fd < 0 || l->closing)
		return;
	l->closing = true;
	if (l->host->files)
		symbol_files_leave(l->host->files, l);
	uv_poll_stop(&l->poll);
	close(l->fd);
	uv_close((uv_handle_t *)&l->poll, closed);
}

void link_forget(struct link *l, uint32_t slot)
{
	if (l->subscription[slot].sent)
		link_close(l);
	l->subscription[slot] = (struct subscription){0};
}

static bool is_recorded(const struct link *l, const uint8_t *id)
{
	for (uint32_t i = 0; i < l->host->streams; i++)
		if (stream_state(l->host->stream[i]) != STREAM_FREE &&
		    !memcmp(l->host->stream[i]->id, id, STREAM_ID_SIZE))
			return true;
	return false;
}

/* Those of streams that do not go on: nothing will be added. */
static void fill_orphans(struct link *l, struct packer *p, Heapcast__Link *m)
{
	const struct orphans *os = l->host->orphans;

	for (uint32_t i = 0; i < os->count; i++) {
		struct orphan *o = &os->orphan[i];
		Heapcast__StreamState *state;

		if (!orphans_is_last(os, i) || is_recorded(l, o->id))
			continue;
		state = m->stream[m->n_stream++] = arena_take(&p->scratch, sizeof(*state));
		heapcast__stream_state__init(state);
		state->stream = (ProtobufCBinaryData){STREAM_ID_SIZE, o->id};
		state->incarnation = o->incarnation;
		state->first = o->first[0];
		state->next = o->next;
		state->ended = true;
		state->executable =
			(ProtobufCBinaryData){strlen(o->executable), (uint8_t *)o->executable};
		state->pid = o->pid;
	}
}

static void fill_states(struct link *l, struct packer *p, Heapcast__Link *m)
{
	Heapcast__StreamState **rows = arena_take(
		&p->scratch, (l->host->streams + l->host->orphans->count) * sizeof(*rows));

	m->stream = rows;
	for (uint32_t i = 0; i < l->host->streams; i++) {
		struct stream *s = l->host->stream[i];
		Heapcast__StreamState *state;

		pthread_mutex_lock(&s->lock);
		if (s->state != STREAM_FREE) {
			state = rows[m->n_stream++] = arena_take(&p->scratch, sizeof(*state));
			heapcast__stream_state__init(state);
			state->stream = (ProtobufCBinaryData){STREAM_ID_SIZE, s->id};
			state->incarnation = s->incarnation;
			state->first = spool_oldest(&s->spool);
			state->next = s->spool.next;
			state->ended = s->state == STREAM_ENDED && !s->frame_pending;
			state->executable = (ProtobufCBinaryData){strlen(s->target.executable),
								  (uint8_t *)s->target.executable};
			state->pid = (uint32_t)s->target.pid;
		}
		pthread_mutex_unlock(&s->lock);
	}
	fill_orphans(l, p, m);
}

/* Hello (the first time) and the list of streams. */
static int make_list(struct link *l, bool hello)
{
	struct packer *p = l->host->packer;
	Heapcast__Batch batch = HEAPCAST__BATCH__INIT;
	Heapcast__Link m = HEAPCAST__LINK__INIT;
	Heapcast__Hello h = HEAPCAST__HELLO__INIT;
	struct utsname host;
	long length;

	arena_clear(&p->scratch);
	uname(&host);
	h.protocol = PROTOCOL_VERSION;
	h.id = (ProtobufCBinaryData){STREAM_ID_SIZE, (uint8_t *)(uintptr_t)l->host->agent_id};
	h.host = host.nodename;
	h.version = (char *)(uintptr_t)HEAPCAST_VERSION;
	h.architecture = host.machine;
	h.window_bytes = l->host->window_bytes;
	m.hello = hello ? &h : NULL;
	fill_states(l, p, &m);
	batch.link = &m;
	if (heapcast__batch__get_packed_size(&batch) > p->message_size)
		return -EMSGSIZE;
	length = frame_encode(p->encoder, p->message, heapcast__batch__pack(&batch, p->message),
			      l->out, l->out_size);
	if (length < 0)
		return (int)length;
	l->out_length = (size_t)length;
	l->out_sent = 0;
	l->told = l->host->generation;
	return 0;
}

/* Bytes sent; 0: no room now; negative: the connection is gone. */
static ssize_t sent(struct link *l, ssize_t n)
{
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
		l->wants_room = true;
		return 0;
	}
	return n < 0 ? -errno : n;
}

static ssize_t send_some(struct link *l, const uint8_t *data, size_t length)
{
	return sent(l, send(l->fd, data, length, MSG_NOSIGNAL | MSG_DONTWAIT));
}

/* A frame that lies on the disk, from its byte `from` on. */
static ssize_t send_file(struct link *l, const struct spool_place *place, size_t from)
{
	off_t offset = place->offset + (off_t)from;
	ssize_t n = sendfile(l->fd, place->fd, &offset, place->length - from);

	return n ? sent(l, n) : -EIO; /* somebody has cut the file */
}

/* The next bytes of a subscribed stream. > 0: something was sent or made; 0: nothing to send, or no room; < 0: gone. */
static ssize_t send_frame(struct link *l, struct stream *s, struct subscription *sub)
{
	struct spool_place place;
	ssize_t n;

	if (sub->next < spool_oldest(&s->spool)) {
		if (sub->sent)
			return -EPIPE;
		sub->catching = true;
		sub->catch_up = catch_up_begin(&s->spool, sub->fresh);
		sub->next = spool_oldest(&s->spool);
		s->maps_known = STREAM_MAPS_LOST; /* they begin anew, for all */
	}
	if (sub->catching) {
		long made = batch_pack_catch_up(s, l->host->packer, &sub->catch_up, l->out,
						l->out_size);

		sub->catching = made > 0;
		l->out_length = made > 0 ? (size_t)made : 0;
		l->out_sent = 0;
		return made < 0 ? made : 1;
	}
	n = spool_find(&s->spool, sub->next, &place);
	if (n < 0)
		return n == -ENOENT ? 0 : n;
	n = place.data ? send_some(l, place.data + sub->sent, place.length - sub->sent)
		       : send_file(l, &place, sub->sent);
	if (n <= 0)
		return n;
	sub->sent += (size_t)n;
	if (sub->sent == place.length) {
		sub->next++;
		sub->fresh = false;
		sub->sent = 0;
	}
	return n;
}

static ssize_t send_stream(struct link *l, uint32_t slot)
{
	struct subscription *sub = &l->subscription[slot];
	struct stream *s = l->host->stream[slot];
	ssize_t n = 0;

	if (!sub->active ||
	    (!sub->sent && orphans_pending(l->host->orphans, number_of(l), s->id, UINT32_MAX)))
		return 0;
	pthread_mutex_lock(&s->lock);
	if (s->state != STREAM_FREE)
		n = send_frame(l, s, sub);
	pthread_mutex_unlock(&s->lock);
	return n;
}

/* The next bytes of what an agent before us has left. As send_frame. */
static ssize_t send_orphan(struct link *l, uint32_t index)
{
	struct orphan_reader *r = orphans_reader(l->host->orphans, number_of(l), index);
	struct spool_place place;
	ssize_t n = orphans_find(l->host->orphans, number_of(l), index, &place);

	if (n < 0)
		return n != -ENOENT ? n : r->sent ? -EPIPE : 0;
	n = send_file(l, &place, r->sent);
	close(place.fd);
	if (n <= 0)
		return n;
	r->sent += (size_t)n;
	if (r->sent == place.length) {
		r->at++;
		r->sent = 0;
	}
	return n;
}

/* One of them has more of what it was sending. */
static bool in_the_midst(const struct link *l, uint32_t i)
{
	if (i >= l->host->streams)
		return orphans_reader(l->host->orphans, number_of(l), i - l->host->streams)->sent;
	return l->subscription[i].sent;
}

/* A stream with something to send; one whose frame is half sent goes first. */
static ssize_t send_streams(struct link *l)
{
	uint32_t streams = l->host->streams, all = streams + l->host->orphans->count;
	ssize_t n = 0;

	for (uint32_t i = 0; !n && !l->wants_room && i < all; i++) {
		uint32_t at = (l->turn + i) % all;

		n = at < streams ? send_stream(l, at) : send_orphan(l, at - streams);
		if (n > 0)
			l->turn = in_the_midst(l, at) ||
						  (at < streams && l->subscription[at].catching)
					  ? at
					  : at + 1;
		else if (in_the_midst(l, at))
			break;
	}
	return n;
}

static bool half_sent(const struct link *l)
{
	for (uint32_t i = 0; i < l->host->streams; i++)
		if (l->subscription[i].sent)
			return true;
	return orphans_half_sent(l->host->orphans, number_of(l));
}

/* A piece of a symbol file, for which there is time when there is nothing else. */
static ssize_t send_piece(struct link *l)
{
	long n = l->host->files ? symbol_files_next(l->host->files, l, l->fd, l->host->packer,
						    l->out, l->out_size)
				: 0;

	if (n <= 0)
		return n;
	l->out_length = (size_t)n;
	l->out_sent = 0;
	return 1;
}

static ssize_t send_next(struct link *l)
{
	ssize_t n;

	if (l->out_sent < l->out_length) {
		n = send_some(l, l->out + l->out_sent, l->out_length - l->out_sent);
		l->out_sent += n > 0 ? (size_t)n : 0;
		return n;
	}
	if (l->told != l->host->generation && !half_sent(l))
		return make_list(l, false) < 0 ? -EMSGSIZE : 1;
	n = l->greeted ? send_streams(l) : 0;
	return n || l->wants_room || !l->greeted || half_sent(l) ? n : send_piece(l);
}

static void ready(uv_poll_t *poll, int status, int events);

void link_pump(struct link *l)
{
	size_t sent = 0;
	ssize_t n = 1;

	if (l->fd < 0 || l->closing)
		return;
	l->wants_room = false;
	while (n > 0 && sent < SEND_TURN) {
		n = send_next(l);
		sent += n > 0 ? (size_t)n : 0;
	}
	if (n < 0) {
		log_info("link to %s: %s", l->peer, strerror((int)-n));
		link_close(l);
		return;
	}
	if (n > 0)
		l->wants_room = true; /* the turn is over; go on when the loop comes round */
	uv_poll_start(&l->poll, UV_READABLE | (l->wants_room ? UV_WRITABLE : 0), ready);
}

static int find_slot(const struct link *l, const ProtobufCBinaryData *id, uint32_t *ret_slot)
{
	if (id->len != STREAM_ID_SIZE)
		return -ENOENT;
	for (uint32_t i = 0; i < l->host->streams; i++) {
		const struct stream *s = l->host->stream[i];

		if (stream_state(s) == STREAM_FREE || memcmp(s->id, id->data, STREAM_ID_SIZE))
			continue;
		*ret_slot = i;
		return 0;
	}
	return -ENOENT;
}

/* A collector that asks again has given its old connection up, though that may look alive here: a cable was cut. Before it asks
 * it may yet choose to keep the old one. */
static void close_former(struct link *l)
{
	for (uint32_t i = 0; i < l->host->link_count; i++) {
		struct link *other = &l->host->links[i];

		if (other == l || other->fd < 0 || !other->has_collector ||
		    memcmp(other->collector, l->collector, STREAM_ID_SIZE))
			continue;
		log_info("link to %s: the collector has come again, as %s", other->peer, l->peer);
		link_close(other);
	}
}

static void subscribe(struct link *l, const Heapcast__Subscribe *order)
{
	struct subscription *sub;
	struct stream *s;
	uint32_t slot;
	bool known, before;

	if (order->stream.len != STREAM_ID_SIZE)
		return;
	if (l->has_collector)
		close_former(l);
	before = orphans_subscribe(l->host->orphans, number_of(l), order->stream.data,
				   order->incarnation, order->next);
	if (before)
		log_info("link to %s: sends what an earlier agent has left of stream "
			 "%02x%02x%02x%02x",
			 l->peer, order->stream.data[0], order->stream.data[1],
			 order->stream.data[2], order->stream.data[3]);
	if (find_slot(l, &order->stream, &slot) < 0 || l->subscription[slot].sent)
		return;
	sub = &l->subscription[slot];
	s = l->host->stream[slot];
	pthread_mutex_lock(&s->lock);
	known = order->incarnation == s->incarnation && order->next >= 1 &&
		order->next <= s->spool.next;
	*sub = (struct subscription){.active = true,
				     .next = known ? order->next : 1,
				     .since_ns = clock_monotonic_ns(),
				     .fresh = known ? order->next == 1
						    : !order->incarnation && !before};
	if (!known && spool_oldest(&s->spool) > 1)
		sub->next = 0; /* send_frame sees that it is behind, and begins with a catch-up */
	pthread_mutex_unlock(&s->lock);
	log_info("link to %s: sends stream of pid %d from batch %llu on", l->peer,
		 (int)s->target.pid, (unsigned long long)sub->next);
}

static void acknowledge(struct link *l, const Heapcast__Ack *ack)
{
	struct subscription *sub;
	uint32_t slot;

	if (ack->stream.len == STREAM_ID_SIZE)
		orphans_acknowledged(l->host->orphans, number_of(l), ack->stream.data,
				     ack->incarnation, ack->number);
	if (find_slot(l, &ack->stream, &slot) < 0 ||
	    ack->incarnation != l->host->stream[slot]->incarnation)
		return;
	sub = &l->subscription[slot];
	if (!sub->active || ack->number >= sub->next || ack->number <= sub->acked)
		return; /* of what was never sent to this collector, or nothing new */
	sub->acked = ack->number;
	l->host->acknowledged(l->host->context, l->host->stream[slot], ack->number);
}

static int greet(struct link *l, const Heapcast__Hello *hello)
{
	if (hello->protocol != PROTOCOL_VERSION) {
		log_warn("link to %s: it speaks protocol %u, this agent speaks %u: update the "
			 "older one",
			 l->peer, hello->protocol, PROTOCOL_VERSION);
		return -EPROTO;
	}
	l->greeted = true;
	if (hello->id.len != STREAM_ID_SIZE)
		return 0;
	memcpy(l->collector, hello->id.data, STREAM_ID_SIZE);
	l->has_collector = true;
	return 0;
}

/* Memory of unpacked orders: in the main loop's scratch, emptied for each. */
static void *scratch_take(void *context, size_t size)
{
	return arena_take(context, size);
}

static void scratch_drop(void *context, void *memory)
{
	(void)context;
	(void)memory;
}

static int obey(struct link *l, const uint8_t *message, size_t length)
{
	struct packer *p = l->host->packer;
	ProtobufCAllocator allocator = {scratch_take, scratch_drop, &p->scratch};
	Heapcast__Order *order;

	arena_clear(&p->scratch);
	order = heapcast__order__unpack(&allocator, length, message);
	if (!order || (!order->hello && !l->greeted))
		return -EBADMSG;
	if (order->hello && greet(l, order->hello) < 0)
		return -EPROTO;
	if (order->subscribe)
		subscribe(l, order->subscribe);
	if (order->ack)
		acknowledge(l, order->ack);
	if (order->file && l->host->files)
		symbol_files_ask(l->host->files, l, order->file);
	return 0;
}

/* Opens frames as they become whole. Small ones only: orders are. */
static int take_orders(struct link *l)
{
	struct err_text err = {{0}};
	const uint8_t *message;
	size_t used = 0, length, size;
	int r = 0;

	while ((r = frame_length(l->in + used, l->in_length - used, &length, &err)) == 1) {
		struct reader content = reader_of(l->in + used + CONTENT_SIZE_AT, 8);

		if (reader_u64le(&content) > ORDER_CONTENT_MAX)
			return -EMSGSIZE;
		r = frame_decode(l->host->decoder, l->in + used, length, &message, &size, &err);
		if (!r)
			r = obey(l, message, size);
		if (r < 0)
			break;
		used += length;
	}
	if (r < 0)
		log_warn("link to %s: %s", l->peer, err_get(&err, r));
	if (r == 0 && length > l->in_size)
		return -EMSGSIZE;
	memmove(l->in, l->in + used, l->in_length - used);
	l->in_length -= used;
	return r;
}

static void lose(struct link *l, int error)
{
	log_info("link to %s: %s", l->peer, error ? strerror(error) : "closed by the collector");
	link_close(l);
}

static int socket_error(const struct link *l)
{
	int error = 0;
	socklen_t length = sizeof(error);

	return getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 ? errno : error;
}

static void ready(uv_poll_t *poll, int status, int events)
{
	struct link *l = poll->data;
	ssize_t n;

	if (status < 0) {
		lose(l, socket_error(l));
		return;
	}
	if (events & UV_READABLE) {
		n = recv(l->fd, l->in + l->in_length, l->in_size - l->in_length, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
			lose(l, n ? errno : 0);
			return;
		}
		l->in_length += n > 0 ? (size_t)n : 0;
		if (take_orders(l) < 0) {
			link_close(l);
			return;
		}
	}
	link_pump(l);
}

int link_open(struct link *l, int fd, const char *peer)
{
	struct link empty = {.host = l->host,
			     .in = l->in,
			     .in_size = l->in_size,
			     .out = l->out,
			     .out_size = l->out_size};
	int r;

	*l = empty;
	l->fd = fd;
	memcpy(l->peer, peer, strnlen(peer, sizeof(l->peer) - 1));
	l->poll.data = l;
	r = uv_poll_init(l->host->loop, &l->poll, fd);
	if (r < 0) {
		close(fd);
		l->fd = -1;
		return r;
	}
	r = make_list(l, true);
	if (r < 0) {
		link_close(l);
		return r;
	}
	link_pump(l);
	return 0;
}
