/*
 * Streams that are being received: stored, made durable, acknowledged. (Declared in state.h.)
 *
 *   frame -> append (loop) -> dirty -> a quarter of the agent's window, or a second, or its end
 *         -> fdatasync (worker: intake_work.c) -> Ack
 *
 * An intake outlives its link, because the agent may return on another one. If the disk refuses a
 * frame, nothing more is read from the link until the disk accepts the frame; the agent keeps its
 * data.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "proto/columns.h"
#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "collector/ingest/state.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"
#include "base/ban.h"

#define EXECUTABLE_MAX 256

static struct intake *intake_find(const struct ingest *ingest, const uint8_t *id)
{
	const uint64_t *at = map_get(&ingest->intake_of, id_key(ingest, id));

	return at ? (struct intake *)(uintptr_t)*at : NULL;
}

void intake_tell(struct intake *s, enum ingest_event_kind kind)
{
	ingest_tell(s->ingest, &(struct ingest_event){
				       .kind = kind,
				       .stream = &s->id,
				       .executable = s->executable,
				       .pid = s->pid,
				       .events = s->writer ? stream_writer_events(s->writer) : 0,
				       .bytes = s->writer ? stream_writer_bytes(s->writer) : 0,
				       .complete = s->complete_at_start});
}

static char *executable_text(const Heapcast__StreamState *state)
{
	const ProtobufCBinaryData *text = state->name.len ? &state->name : &state->executable;

	return words_copy(text->data, text->len, EXECUTABLE_MAX);
}

/* ---- start ---- */

/* Counts the streams that need a place. A stream that has ended needs none, though its agent may
 * keep it for another collector. */
static uint32_t being_received(const struct ingest *ingest)
{
	uint32_t count = 0;

	for (const struct intake *s = ingest->intakes; s; s = s->next)
		count += !s->told_ended;
	return count;
}

static struct intake *intake_new(struct ingest *ingest, const Heapcast__StreamState *state)
{
	struct intake *s;
	uint64_t *at;

	if (ingest->intake_count >= ingest->streams_max &&
	    being_received(ingest) >= ingest->streams_max) {
		if (!ingest->told_streams_max)
			ingest_warn(ingest,
				    "streams are turned away: %u are being received, and there is "
				    "room for no more (--agents-max)",
				    being_received(ingest));
		ingest->told_streams_max = true;
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	at = s ? map_put(&ingest->intake_of, id_key(ingest, state->stream.data), NULL) : NULL;
	if (!at) {
		free(s);
		return NULL;
	}
	*at = (uintptr_t)s;
	s->ingest = ingest;
	memcpy(s->id.bytes, state->stream.data, STREAM_ID_SIZE);
	s->pid = state->pid;
	s->executable = executable_text(state);
	s->work.data = s->derive_work.data = s;
	if (!s->executable) {
		map_remove(&ingest->intake_of, id_key(ingest, s->id.bytes), NULL);
		free(s);
		return NULL;
	}
	s->next = ingest->intakes;
	ingest->intakes = s;
	ingest->intake_count++;
	return s;
}

static int open_writer(struct intake *s)
{
	struct err_text err = {0};
	char id[STREAM_ID_TEXT];
	uint64_t cut = 0;
	int r;

	if (s->writer)
		return 0;
	r = stream_writer_open(s->ingest->store, &s->id, &s->writer, &cut, &err);
	if (r < 0) {
		ingest_warn(s->ingest, "a stream of %s can't be stored: %s", s->executable,
			    err_get(&err, r));
		return r;
	}
	if (cut)
		ingest_warn(s->ingest,
			    "cut %llu bytes of a half-written frame off a recording of %s (stream "
			    "%s), which has %llu events",
			    (unsigned long long)cut, s->executable, stream_id_format(id, &s->id),
			    (unsigned long long)stream_writer_events(s->writer));
	return 0;
}

static bool is_all(struct stream_position p, const Heapcast__StreamState *state)
{
	return state->ended && (p.incarnation > state->incarnation ||
				(p.incarnation == state->incarnation && p.next >= state->next));
}

/* Tells whether everything that the agent has of an ended stream is stored. */
static bool has_all(const struct intake *s, const Heapcast__StreamState *state)
{
	return is_all(stream_writer_position(s->writer), state);
}

bool intake_is_here(const struct ingest *ingest, const Heapcast__StreamState *state)
{
	struct stream_id id;

	if (state->stream.len != STREAM_ID_SIZE || !state->ended)
		return false;
	memcpy(id.bytes, state->stream.data, STREAM_ID_SIZE);
	return is_all(store_position(ingest->store, &id), state);
}

static void mark_dirty(struct intake *s, uint64_t bytes)
{
	if (!s->dirty)
		s->dirty_since_ms = uv_now(s->ingest->loop);
	s->dirty = true;
	s->unsynced_bytes += bytes;
}

static void attach(struct intake *s, struct link *link, uint32_t incarnation)
{
	if (s->link == link)
		return;
	if (s->link)
		s->link->streams--;
	s->link = link;
	s->incarnation = incarnation;
	s->keyed |= link->session != NULL;
	link->streams++;
}

/*
 * The agent returns while its stream is being finished, so nothing can be appended. Everything
 * durable is all of the stream.
 */
static void greet_finishing(struct intake *s, struct link *link, const Heapcast__StreamState *state)
{
	if (!is_all(s->durable, state)) {
		link_close(link, "its stream is being finished"); /* the agent will reconnect */
		return;
	}
	attach(s, link, state->incarnation);
	order_subscribe(link, &s->id, s->durable);
	order_ack(link, &s->id, s->durable);
}

/* ---- what agents list ---- */

static void intake_free(struct intake *s)
{
	intake_hold(s, 0);
	map_remove(&s->ingest->intake_of, id_key(s->ingest, s->id.bytes), NULL);
	stream_writer_close(s->writer);
	free(s->executable);
	free(s);
}

/*
 * Returns true if the stream has no agent, and everything is durable and derived. If the stream
 * returns, the store has its state.
 */
static bool forgettable(const struct intake *s, uint64_t now_ms)
{
	return !s->link && !s->working && !s->deriving && !s->finish_due && !s->dirty &&
	       !intake_wants_deriving(s) && (s->told_ended || now_ms - s->left_ms > FORGET_MS);
}

static void forget_some(struct ingest *ingest, uint64_t now_ms)
{
	struct intake **at = &ingest->intakes;

	while (*at) {
		struct intake *s = *at;

		if (!forgettable(s, now_ms)) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		ingest->intake_count--;
		intake_free(s);
	}
}

/*
 * Forgets streams that have ended and are not in the agent's list. An agent lists all streams that
 * it has, so such a stream is over, and the link is free for another one.
 */
static void forget_unlisted(struct link *link, const Heapcast__Link *list)
{
	struct ingest *ingest = link->ingest;

	link->lists++;
	for (size_t i = 0; i < list->n_stream; i++) {
		const ProtobufCBinaryData *id = &list->stream[i]->stream;
		struct intake *s = id->len == STREAM_ID_SIZE ? intake_find(ingest, id->data) : NULL;

		if (s && s->link == link)
			s->listed = link->lists;
	}
	for (struct intake *s = ingest->intakes; s; s = s->next) {
		if (s->link != link || !s->told_ended || s->listed == link->lists)
			continue;
		s->link = NULL;
		s->left_ms = uv_now(ingest->loop);
		link->streams--;
	}
	forget_some(ingest, uv_now(ingest->loop));
}

static void take_state(struct link *link, const Heapcast__StreamState *state)
{
	struct ingest *ingest = link->ingest;
	struct stream_position position;
	struct intake *s;
	bool new;

	if (ingest->stopping)
		return;
	if (state->stream.len != STREAM_ID_SIZE || link->streams >= STREAMS_A_LINK) {
		link_close(link, "it names streams that make no sense, or too many");
		return;
	}
	s = intake_find(ingest, state->stream.data);
	if (s && s->abandoned) {
		link_close(link, "the disk refused what it sent");
		return;
	}
	if (s && s->link == link) {
		/* For a running stream, only its end matters, if all of it is stored. */
		if (s->writer && has_all(s, state) && !s->ended) {
			s->ended = true;
			mark_dirty(s, 0);
		}
		return;
	}
	if (s && claim_has_other_key(s, link)) {
		/* The agent will reconnect, until the other link is gone. */
		link_close(link, "its stream has a link with another key");
		return;
	}
	new = !s;
	if (!s)
		s = intake_new(ingest, state);
	if (!s || claim_is_void(s, link, state->incarnation))
		return; /* the link stays open, and is not asked for this stream */
	if (intake_is_finishing(s)) {
		greet_finishing(s, link, state);
		return;
	}
	if (open_writer(s) < 0) {
		link_close(link, "its stream can't be stored"); /* the agent will reconnect */
		return;
	}
	attach(s, link, state->incarnation);
	position = stream_writer_position(s->writer);
	order_subscribe(link, &s->id, position);
	if (new)
		s->complete_at_start = has_all(s, state);
	s->ended = has_all(s, state);
	intake_tell(s, INGEST_STREAM_BEGAN);
	/*
	 * The stored batches are acknowledged after a sync, because an earlier collector may have
	 * been killed before its own.
	 */
	if (position.next > 1)
		mark_dirty(s, 0);
}

void intake_states(struct link *link, const Heapcast__Link *list)
{
	if (list->n_stream)
		forget_unlisted(link, list);
	for (size_t i = 0; i < list->n_stream && link->state == LINK_OPEN; i++)
		take_state(link, list->stream[i]);
}

/* ---- the disk ---- */

static bool disk_refuses(int r)
{
	return disk_has_no_room(r) || r == -EIO || r == -EROFS;
}

int intake_frame(struct link *link, const uint8_t *frame, size_t length,
		 const Heapcast__Batch *batch, struct err_text *err)
{
	struct intake *s;
	int r;

	if (batch->stream.len != STREAM_ID_SIZE)
		return err_set(err, -EPROTO, "a batch with a stream id of %zu bytes",
			       batch->stream.len);
	s = intake_find(link->ingest, batch->stream.data);
	if (!s || s->link != link || !s->writer)
		return err_set(err, -EPROTO, "a batch of a stream that was not asked for");
	if (intake_is_finishing(s))
		return err_set(err, -EPROTO, "a batch behind the end of its stream");
	r = stream_writer_append(s->writer, frame, length, batch, err);
	if (disk_refuses(r)) {
		disk_refused(link->ingest, REFUSED_APPEND, err_get(err, r));
		order_refusal(link, r);
		return 1;
	}
	if (r < 0)
		return r;
	link->told_refusal = false;
	disk_accepted(link->ingest, REFUSED_APPEND);
	if (r == 0) {
		link->ingest->events += batch->events ? batch->events->count : 0;
		mark_dirty(s, length);
	}
	if (batch->end)
		s->ended = true;
	intake_sync_if_due(s);
	return 0;
}

/* ---- as time goes on ---- */

void intake_tick(struct ingest *ingest, uint64_t now_ms)
{
	forget_some(ingest, now_ms);
	for (struct intake *s = ingest->intakes; s; s = s->next) {
		intake_sync_if_due(s);
		intake_derive_if_due(s);
	}
}

bool intake_busy(const struct ingest *ingest)
{
	for (const struct intake *s = ingest->intakes; s; s = s->next)
		if (s->working || s->finish_due || (s->dirty && s->writer && !s->abandoned))
			return true;
	return false;
}

int intake_link(const struct ingest *ingest, const struct stream_id *id, struct link **ret_link)
{
	const struct intake *s = intake_find(ingest, id->bytes);

	if (!s)
		return -ENOENT;
	if (s->ended)
		return -ESRCH;
	if (!s->link || s->link->state != LINK_OPEN)
		return -ENOTCONN;
	*ret_link = s->link;
	return 0;
}

void ingest_live(const struct ingest *ingest,
		 void (*each)(void *context, const struct stream_id *stream, const char *host),
		 void *context)
{
	for (const struct intake *s = ingest->intakes, *next; s; s = next) {
		next = s->next;
		if (s->link && !s->ended)
			each(context, &s->id, s->link->host);
	}
}

/* ---- loss of a link ---- */

void intake_link_gone(struct link *link)
{
	for (struct intake *s = link->ingest->intakes; s; s = s->next) {
		if (s->link != link)
			continue;
		s->link = NULL;
		s->left_ms = uv_now(link->ingest->loop);
		if (!s->told_ended && !link->ingest->stopping)
			intake_tell(s, INGEST_STREAM_LEFT);
	}
	link->streams = 0;
}

void intakes_free(struct ingest *ingest)
{
	while (ingest->intakes) {
		struct intake *s = ingest->intakes;

		ingest->intakes = s->next;
		intake_free(s);
	}
	map_done(&ingest->intake_of);
}
