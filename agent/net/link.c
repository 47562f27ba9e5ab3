/* Manages a connection with a collector. See link.h. */
#include "agent/net/link.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/core/clock.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"
#include "heapcast.pb-c.h"
#include "proto/discovery.h"
#include "proto/discovery_net.h"
#include "proto/frame.h"
#include "base/ban.h"

#define ORDER_CONTENT_MAX (16u << 10)
#define CONTENT_SIZE_AT	  6	       /* in the header of an LZ4 frame */
#define SEND_TURN	  (256u << 10) /* bytes in one turn: the event loop has other work */

int link_init(struct link *l, struct link_host *host, struct arena *arena, const struct budget *b)
{
	*l = (struct link){.host = host, .fd = -1, .in_size = b->link_in, .out_size = b->link_out};
	l->subscription = arena_take(arena, b->slots * sizeof(*l->subscription));
	l->in = arena_take(arena, l->in_size);
	l->out = arena_take(arena, l->out_size);
	return l->subscription && l->in && l->out ? 0 : -ENOMEM;
}

static void closed(uv_handle_t *handle)
{
	struct link *l = handle->data;

	l->fd = -1;
	l->closing = false;
	orphans_forget(l->host->orphans, link_number(l));
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
	link_io_close(&l->io);
	uv_close((uv_handle_t *)&l->poll, closed);
}

void link_forget(struct link *l, uint32_t slot)
{
	if (l->subscription[slot].sent)
		link_close(l);
	l->subscription[slot] = (struct subscription){0};
}

static void ready(uv_poll_t *poll, int status, int events);

void link_pump(struct link *l)
{
	size_t sent = 0;
	ssize_t n;

	if (l->fd < 0 || l->closing)
		return;
	n = link_io_flush(&l->io);
	l->wants_room = n > 0;
	for (n = n < 0 ? n : !n; n > 0 && sent < SEND_TURN;) {
		n = link_send_next(l);
		sent += n > 0 ? (size_t)n : 0;
	}
	if (n < 0) {
		log_info("link to %s: %s", l->peer, strerror((int)-n));
		link_close(l);
		return;
	}
	if (n > 0 || link_io_waits(&l->io))
		l->wants_room = true; /* the turn is over; continue in the next loop iteration */
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

/* Closes the former link of a collector that subscribes on a new one. The collector has given the
 * old link up, though it may still look alive here (after a cable was unplugged, say). Before it
 * subscribes, it may still decide to keep the old link. */
static void close_former(struct link *l)
{
	for (uint32_t i = 0; i < l->host->link_count; i++) {
		struct link *other = &l->host->links[i];

		if (other == l || other->fd < 0 || !other->has_id || other->who != l->who)
			continue;
		log_info("link to %s: the collector has come again, as %s", other->peer, l->peer);
		link_close(other);
	}
}

/* The collector goes on where another one has ended. */
static void take_over(struct subscription *sub, struct stream *s, uint64_t upto)
{
	pthread_mutex_lock(&s->lock);
	sub->next = upto + 1;
	sub->catching = true;
	sub->catch_up = catch_up_behind(&s->spool, upto, sub->fresh);
	s->maps_known = STREAM_MAPS_LOST; /* as in each catch-up: link_send.c */
	pthread_mutex_unlock(&s->lock);
}

static void subscribe(struct link *l, const Heapcast__Subscribe *order)
{
	struct subscription *sub;
	struct stream *s;
	uint64_t upto;
	uint32_t slot;
	bool known, before;

	if (order->stream.len != STREAM_ID_SIZE)
		return;
	if (l->has_id)
		close_former(l);
	before = orphans_subscribe(l->host->orphans, link_number(l), order->stream.data,
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
	pthread_mutex_unlock(&s->lock);
	upto = l->host->subscribed(l->host->context, l, s, sub->next - 1);
	if (upto >= sub->next)
		take_over(sub, s, upto);
	sub->from = sub->next - 1;
	log_info("link to %s: sends stream of pid %d from batch %llu on", l->peer,
		 (int)s->target.pid, (unsigned long long)sub->next);
}

static void acknowledge(struct link *l, const Heapcast__Ack *ack)
{
	struct subscription *sub;
	uint32_t slot;

	if (ack->stream.len == STREAM_ID_SIZE)
		orphans_acknowledged(l->host->orphans, link_number(l), ack->stream.data,
				     ack->incarnation, ack->number);
	if (find_slot(l, &ack->stream, &slot) < 0 ||
	    ack->incarnation != l->host->stream[slot]->incarnation) {
		l->acks++; /* of what an earlier agent has left */
		return;
	}
	sub = &l->subscription[slot];
	if (!sub->active || ack->number >= sub->next || ack->number <= sub->acked)
		return; /* it was never sent to this collector, or is not new */
	sub->acked = ack->number;
	l->acks += ack->number > sub->from;
	l->host->acknowledged(l->host->context, l, l->host->stream[slot], ack->number);
}

bool link_owes(const struct link *l)
{
	for (uint32_t i = 0; i < l->host->streams; i++) {
		const struct subscription *sub = &l->subscription[i];
		struct stream *s = l->host->stream[i];
		bool owes;

		if (!sub->active)
			continue;
		pthread_mutex_lock(&s->lock);
		owes = s->state != STREAM_FREE &&
		       (sub->acked > sub->from ? sub->acked : sub->from) + 1 < s->spool.next;
		pthread_mutex_unlock(&s->lock);
		if (owes)
			return true;
	}
	return orphans_owed(l->host->orphans, link_number(l));
}

static int link_greet(struct link *l, const Heapcast__Hello *hello)
{
	struct collector_greeting greeting = {
		.id = hello->id.len == STREAM_ID_SIZE ? hello->id.data : NULL,
		.host = hello->host,
		.address = l->address,
		.proved = l->io.session,
	};

	if (hello->protocol != PROTOCOL_VERSION) {
		log_warn("link to %s: it speaks protocol %u, this agent speaks %u: update the "
			 "older one",
			 l->peer, hello->protocol, PROTOCOL_VERSION);
		return -EPROTO;
	}
	if (l->greeted)
		return -EPROTO; /* only one hello is allowed */
	l->greeted = true;
	l->has_id = greeting.id;
	l->who = l->host->welcomed(l->host->context, l, &greeting);
	replies_name(&l->replies, hello->host, l->peer);
	return 0;
}

/* Allocates the memory of unpacked orders in the main loop's scratch memory, which is emptied
 * before each order. */
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
	if (order->hello && link_greet(l, order->hello) < 0)
		return -EPROTO;
	if (order->subscribe)
		subscribe(l, order->subscribe);
	if (order->ack)
		acknowledge(l, order->ack);
	if (order->control &&
	    replies_order(&l->replies, l->host->stream, l->host->streams, l->host->orders,
			  order->control) &&
	    l->host->ordered)
		l->host->ordered(l->host->context);
	if (order->refusal && l->host->refused)
		l->host->refused(l->host->context, l, (int)order->refusal);
	if (order->file && l->host->files)
		symbol_files_ask(l->host->files, l, order->file);
	return 0;
}

/* Logs why the data is invalid. A collector that requires TLS sends a refusal, which gets its own
 * text. */
static void tell_nonsense(struct link *l, const struct err_text *err, int r)
{
	if (l->greeted || l->io.session ||
	    secure_first(l->in, l->in_length) != SECURE_FIRST_REFUSAL)
		log_warn("link to %s: %s", l->peer, err_get(err, r));
	else if (!l->host->told_of_tls)
		log_warn("link to %s: it speaks TLS only: 'collector pair' there and 'agent pair "
			 "CODE' here make a key, or give --key (or --cert), as there",
			 l->peer);
	l->host->told_of_tls |= !l->greeted;
}

/* Decodes complete frames. Only small ones are accepted, because orders are small. */
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
		tell_nonsense(l, &err, r);
	if (r == 0 && length > l->in_size)
		return -EMSGSIZE;
	memmove(l->in, l->in + used, l->in_length - used);
	l->in_length -= used;
	return r;
}

static void link_lose(struct link *l, ssize_t error, const struct err_text *err)
{
	log_info("link to %s: %s", l->peer,
		 error == -ENODATA ? "closed by the collector" : err_get(err, (int)error));
	link_close(l);
}

static int socket_error(const struct link *l)
{
	int error = 0;
	socklen_t length = sizeof(error);

	return getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 ? errno : error;
}

/* Receives everything that has arrived. Closes the link if the connection is lost. */
static void link_receive(struct link *l, bool fresh)
{
	struct err_text err = {{0}};
	ssize_t n;

	do {
		n = link_io_receive(&l->io, l->in + l->in_length, l->in_size - l->in_length, fresh,
				    &err);
		fresh = false;
		if (n < 0) {
			link_lose(l, n, &err);
			return;
		}
		l->in_length += (size_t)n;
		if (take_orders(l) < 0) {
			link_close(l);
			return;
		}
	} while (n > 0 && l->io.session && !l->closing);
}

static void ready(uv_poll_t *poll, int status, int events)
{
	struct link *l = poll->data;

	if (status < 0) {
		link_lose(l, -socket_error(l), NULL);
		return;
	}
	if (events & UV_READABLE)
		link_receive(l, true);
	link_pump(l);
}

/* Gets the address of one end of the connection; "" if it has none. */
static void link_address_of(int fd, int (*get)(int, struct sockaddr *, socklen_t *),
			    bool *ret_loopback, char ret[COLLECTOR_ADDRESS])
{
	struct sockaddr_storage at = {0};
	socklen_t length = sizeof(at);

	*ret = '\0';
	*ret_loopback = false;
	if (get(fd, (struct sockaddr *)&at, &length) < 0)
		return;
	discovery_unmap(&at);
	*ret_loopback = discovery_is_loopback(&at);
	if (getnameinfo((struct sockaddr *)&at, length, ret, COLLECTOR_ADDRESS, NULL, 0,
			NI_NUMERICHOST))
		*ret = '\0';
}

/* Finds the other side's address, and whether it is on this host. A connection within this host has
 * the same address at both ends, or both ends are in 127.0.0.0/8. The kernel accepts neither from
 * other hosts. */
static void find_address(struct link *l)
{
	char own[COLLECTOR_ADDRESS];
	bool loopback, other_loopback;

	link_address_of(l->fd, getsockname, &loopback, own);
	link_address_of(l->fd, getpeername, &other_loopback, l->address);
	l->replies.local = other_loopback || (*own && !strcmp(own, l->address));
}

int link_take(struct link *l, struct link_io *io, const char *peer)
{
	struct link empty = {.host = l->host,
			     .subscription = l->subscription,
			     .in = l->in,
			     .in_size = l->in_size,
			     .out = l->out,
			     .out_size = l->out_size};
	int r;

	*l = empty;
	memset(l->subscription, 0, l->host->streams * sizeof(*l->subscription));
	link_io_move(&l->io, io);
	l->fd = l->io.fd;
	find_address(l);
	memcpy(l->peer, peer, strnlen(peer, sizeof(l->peer) - 1));
	l->poll.data = l;
	r = uv_poll_init(l->host->loop, &l->poll, l->fd);
	if (r < 0) {
		link_io_close(&l->io);
		l->fd = -1;
		return r;
	}
	r = link_list(l, true);
	if (r < 0) {
		link_close(l);
		return r;
	}
	link_receive(l, false);
	link_pump(l);
	return 0;
}

int link_open(struct link *l, int fd, const char *peer)
{
	struct link_io io = {.fd = fd};

	return link_take(l, &io, peer);
}
