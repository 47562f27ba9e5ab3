/*
 * Decides what a link sends next: the list of streams if it has changed; replies to orders;
 * batches, first of a stream whose frame is partly sent, then of the others in turn; and pieces of
 * symbol files when nothing else waits. See link.h.
 */
#include "agent/net/link.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "heapcast.pb-c.h"
#include "proto/discovery.h"
#include "proto/frame.h"
#include "base/ban.h"

static bool is_recorded(const struct link *l, const uint8_t *id)
{
	for (uint32_t i = 0; i < l->host->streams; i++)
		if (stream_state(l->host->stream[i]) != STREAM_FREE &&
		    !memcmp(l->host->stream[i]->id, id, STREAM_ID_SIZE))
			return true;
	return false;
}

/* Adds streams of earlier agents that no agent continues; they are complete. */
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

		if (stream_state(s) == STREAM_FREE)
			continue;
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
			state->name = (ProtobufCBinaryData){strlen(s->target.name),
							    (uint8_t *)s->target.name};
			state->pid = (uint32_t)s->target.pid;
		}
		pthread_mutex_unlock(&s->lock);
	}
	fill_orphans(l, p, m);
}

int link_list(struct link *l, bool hello)
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

/* Notes the result `n` of a send and returns it: bytes sent, 0 if the socket is full, or a negative
 * errno if the connection is lost. */
static ssize_t sent(struct link *l, ssize_t n)
{
	l->wants_room |= n == 0;
	return n;
}

static ssize_t send_some(struct link *l, const uint8_t *data, size_t length)
{
	return sent(l, link_io_send(&l->io, data, length));
}

/* Sends a frame that is on the disk, starting at its byte `from`. */
static ssize_t send_file(struct link *l, const struct spool_place *place, size_t from)
{
	return sent(l, link_io_send_file(&l->io, place->fd, place->offset + (off_t)from,
					 place->length - from));
}

/* Sends the next bytes of a subscribed stream. Returns a positive number if something was sent or
 * made, 0 if nothing waits to be sent or the socket is full, or a negative errno if the connection
 * is lost. */
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
		/* Regions and names are reported again, to all collectors. */
		s->maps_known = STREAM_MAPS_LOST;
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
	    (!sub->sent && orphans_pending(l->host->orphans, link_number(l), s->id, UINT32_MAX)))
		return 0;
	pthread_mutex_lock(&s->lock);
	if (s->state != STREAM_FREE)
		n = send_frame(l, s, sub);
	pthread_mutex_unlock(&s->lock);
	return n;
}

/* Sends the next bytes of a stream that an earlier agent has left. Returns like send_frame. */
static ssize_t send_orphan(struct link *l, uint32_t index)
{
	struct orphan_reader *r = orphans_reader(l->host->orphans, link_number(l), index);
	struct spool_place place;
	ssize_t n = orphans_find(l->host->orphans, link_number(l), index, &place);

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

/* Returns true if a frame of this stream is partly sent. */
static bool in_the_midst(const struct link *l, uint32_t i)
{
	if (i >= l->host->streams)
		return orphans_reader(l->host->orphans, link_number(l), i - l->host->streams)->sent;
	return l->subscription[i].sent;
}

/* Sends from a stream that has something to send. A stream whose frame is partly sent goes
 * first. */
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
	return orphans_half_sent(l->host->orphans, link_number(l));
}

/* Sends a piece of a symbol file. Called when nothing else waits to be sent. */
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

/* Sends replies to orders: between two frames, and before batches. */
static ssize_t send_replies(struct link *l)
{
	long n = half_sent(l) ? 0 : replies_pack(&l->replies, l->host->packer, l->out, l->out_size);

	l->out_length = n > 0 ? (size_t)n : 0;
	l->out_sent = 0;
	return n > 0 ? 1 : n;
}

ssize_t link_send_next(struct link *l)
{
	ssize_t n;

	if (l->out_sent < l->out_length) {
		n = send_some(l, l->out + l->out_sent, l->out_length - l->out_sent);
		l->out_sent += n > 0 ? (size_t)n : 0;
		return n;
	}
	if (l->told != l->host->generation && !half_sent(l))
		return link_list(l, false) < 0 ? -EMSGSIZE : 1;
	n = send_replies(l);
	if (n)
		return n;
	n = l->greeted ? send_streams(l) : 0;
	return n || l->wants_room || !l->greeted || half_sent(l) ? n : send_piece(l);
}
