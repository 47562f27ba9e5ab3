/*
 * Streams that are being received: stored, made durable, acknowledged.
 *
 *   frame -> append (loop) -> dirty -> a quarter of the agent's window, or a second, or its end
 *         -> fdatasync (worker) -> Ack
 *
 * A stream has at most one worker at a time; the loop appends meanwhile. An intake outlives its
 * link, because the agent may return on another one. If the disk refuses a frame, nothing more is
 * read from the link until it accepts the frame; the agent keeps its data. If the disk refuses to
 * make data durable, the agent is asked to send it again.
 *
 * Rows are derived from durable frames by separate threads (pool.h), so no acknowledgement waits
 * for that. Deriving holds memory between its runs, at most memory_limit for all streams together.
 * Streams that do not fit are parked after each run, and continue when enough frames have arrived
 * to justify reading their rows again.
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
#define DERIVE_TYPICAL (8u << 20) /* memory that deriving takes, until it is known */
/* bytes of frames that justify reading a parked stream's rows again */
#define DERIVE_LEAST   (512u << 10)
#define DERIVE_LATE_MS 60000 /* rows are derived at the latest after this time */
#define SUM_UP_MS      5000
/* sums may take one part in this many of the time that deriving takes */
#define SUM_UP_SHARE 20

static struct intake *intake_find(const struct ingest *ingest, const uint8_t *id)
{
	const uint64_t *at = map_get(&ingest->intake_of, id_key(ingest, id));

	return at ? (struct intake *)(uintptr_t)*at : NULL;
}

static void intake_tell(struct intake *s, enum ingest_event_kind kind)
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

static struct intake *intake_new(struct ingest *ingest, const Heapcast__StreamState *state)
{
	struct intake *s;
	uint64_t *at;

	if (ingest->intake_count >= ingest->streams_max) {
		if (!ingest->told_streams_max)
			ingest_warn(ingest,
				    "streams are turned away: %u are being received, and there is "
				    "room for no more (--agents-max)",
				    ingest->intake_count);
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

static bool is_finishing(const struct intake *s)
{
	return s->finish_due || (s->finishing && s->working);
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

void intake_state(struct link *link, const Heapcast__StreamState *state)
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
		return;
	if (is_finishing(s)) {
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

/* ---- the disk ---- */

static bool disk_refuses(int r)
{
	return r == -ENOSPC || r == -EDQUOT || r == -EIO || r == -EROFS || r == -EFBIG;
}

static void intake_refused(struct ingest *ingest, unsigned what, const char *why)
{
	if (!ingest->refused)
		ingest_warn(ingest,
			    "%s; nothing more is acknowledged, agents keep what they have; trying "
			    "again every second",
			    why);
	ingest->refused |= what;
}

static void accepted(struct ingest *ingest, unsigned what)
{
	if (ingest->refused == what)
		ingest_warn(ingest, "there is room in %s again: going on",
			    store_path(ingest->store));
	ingest->refused &= ~what;
}

static void sync_if_due(struct intake *s);

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
	if (is_finishing(s))
		return err_set(err, -EPROTO, "a batch behind the end of its stream");
	r = stream_writer_append(s->writer, frame, length, batch, err);
	if (disk_refuses(r)) {
		intake_refused(link->ingest, REFUSED_APPEND, err_get(err, r));
		return 1;
	}
	if (r < 0)
		return r;
	accepted(link->ingest, REFUSED_APPEND);
	if (r == 0) {
		link->ingest->events += batch->events ? batch->events->count : 0;
		mark_dirty(s, length);
	}
	if (batch->end)
		s->ended = true;
	sync_if_due(s);
	return 0;
}

/* ---- syncing and deriving ---- */

static void do_work(struct pool_work *work)
{
	struct intake *s = work->data;

	if (s->finishing)
		stream_writer_finish(s->writer, NULL);
	else
		s->work_error = stream_writer_sync(s->writer, &s->durable, &s->work_text);
}

static void intake_hold(struct intake *s, uint64_t bytes);

static void abandon(struct intake *s)
{
	s->abandoned = s->deriving;
	if (s->deriving)
		return;
	stream_writer_abandon(s->writer);
	s->writer = NULL;
	intake_hold(s, 0);
}

/*
 * The stream's files were removed. The stream starts over with what its agent still has; the ledger
 * shows that the beginning is missing.
 */
static void lost(struct intake *s)
{
	char id[STREAM_ID_TEXT];

	ingest_warn(s->ingest, "stream %s of %s: %s; it begins anew with what its agent still has",
		    stream_id_format(id, &s->id), s->executable, s->work_text.text);
	s->dirty = s->ended = false;
	abandon(s);
	if (s->link)
		link_close(s->link, "what it had sent was removed here");
}

static void synced(struct intake *s)
{
	if (s->work_error == -ESTALE) {
		lost(s);
		return;
	}
	if (s->work_error < 0) {
		intake_refused(s->ingest, REFUSED_SYNC, err_get(&s->work_text, s->work_error));
		s->dirty = s->ended = false;
		abandon(s);
		if (s->link)
			link_close(s->link, "the disk refused what it sent");
		return;
	}
	accepted(s->ingest, REFUSED_SYNC);
	s->underived = true;
	s->ack_due = s->ended && files_modules_deciding(s->ingest);
	if (s->link && s->durable.next > 1 && !s->ack_due)
		order_ack(s->link, &s->id, s->durable);
}

void intake_acknowledge_ends(struct ingest *ingest)
{
	for (struct intake *s = ingest->intakes; s; s = s->next) {
		if (s->ack_due && s->link && s->durable.next > 1)
			order_ack(s->link, &s->id, s->durable);
		s->ack_due = false;
	}
}

static void start_work(struct intake *s, bool finishing);
static void start_derive(struct intake *s);

static void intake_finish(struct intake *s)
{
	if (!s->finish_due || s->deriving || s->working)
		return;
	s->finish_due = false;
	start_work(s, true);
}

/* Reports rows that were cut off or have to be derived anew. */
static void tell_news(struct intake *s)
{
	char id[STREAM_ID_TEXT];
	struct err_text news;

	if (s->writer && stream_writer_take_news(s->writer, &news))
		ingest_warn(s->ingest, "stream %s of %s: %s", stream_id_format(id, &s->id),
			    s->executable, news.text);
}

static uint64_t intake_now_ms(void)
{
	return uv_hrtime() / 1000000;
}

/* Sums up the live heap for lists, rarely enough to cost little. */
static void intake_sum_up(struct intake *s, bool last)
{
	uint64_t begun = intake_now_ms(), took;

	if (!last && begun < s->summed_ms)
		return;
	stream_writer_sum_up(s->writer, NULL);
	took = intake_now_ms() - begun;
	s->summed_ms = begun + (took * SUM_UP_SHARE > SUM_UP_MS ? took * SUM_UP_SHARE : SUM_UP_MS);
}

static void do_derive(struct pool_work *work)
{
	struct intake *s = work->data;

	do
		s->derive_result = stream_writer_derive(s->writer, NULL);
	while (s->parks && s->derive_result == 1);
	if (!s->derive_result)
		intake_sum_up(s, s->parks);
	if (s->parks)
		stream_writer_park(s->writer, NULL);
}

static void intake_hold(struct intake *s, uint64_t bytes)
{
	s->ingest->held_bytes += bytes - s->held_bytes;
	s->held_bytes = bytes;
}

static void on_derive_done(struct pool_work *work)
{
	struct intake *s = work->data;
	struct ingest *ingest = s->ingest;

	s->deriving = false;
	s->derived_ms = uv_now(ingest->loop);
	s->underived |= s->derive_result == 1;
	intake_hold(s, stream_writer_memory(s->writer));
	tell_news(s);
	if (s->abandoned)
		abandon(s);
	intake_finish(s);
	start_derive(s);
	ingest_released(ingest);
}

/* Tells whether there are frames to derive, or memory to release of a stream without an agent. */
static bool wants_deriving(const struct intake *s)
{
	return s->writer && (s->underived || (s->held_bytes && !s->link && !s->ended));
}

/*
 * Tells whether the stream must release its memory, because it has no agent or the limit is
 * exceeded.
 */
static bool must_park(const struct intake *s)
{
	uint64_t others = s->ingest->held_bytes - s->held_bytes;

	return !s->link ||
	       others + (s->held_bytes ? s->held_bytes : DERIVE_TYPICAL) > s->ingest->memory_limit;
}

static bool worth_deriving(const struct intake *s)
{
	return s->held_bytes || !must_park(s) || stream_writer_behind(s->writer) >= DERIVE_LEAST ||
	       uv_now(s->ingest->loop) - s->derived_ms >= DERIVE_LATE_MS;
}

static void start_derive(struct intake *s)
{
	struct ingest *ingest = s->ingest;

	if (!wants_deriving(s) || s->deriving || s->finishing || s->finish_due || s->abandoned ||
	    ingest->stopping || !worth_deriving(s))
		return;
	s->parks = must_park(s);
	if (!s->parks && !s->held_bytes)
		intake_hold(s, DERIVE_TYPICAL); /* an estimate until the run is done */
	s->underived = false;
	s->deriving = true;
	ingest->pending++;
	pool_queue(ingest->derivation, &s->derive_work, do_derive, on_derive_done);
}

static void on_work_done(struct pool_work *work)
{
	struct intake *s = work->data;
	struct ingest *ingest = s->ingest;

	s->working = false;
	if (s->finishing) {
		tell_news(s);
		intake_tell(s, INGEST_STREAM_ENDED);
		stream_writer_close(s->writer);
		s->writer = NULL;
		intake_hold(s, 0);
	} else {
		synced(s);
		if (s->ended && !s->dirty && !s->told_ended)
			s->told_ended = s->finish_due = true;
		intake_finish(s);
		sync_if_due(s);
		start_derive(s);
	}
	ingest_released(ingest);
}

static void start_work(struct intake *s, bool finishing)
{
	s->finishing = finishing;
	s->work_error = 0;
	s->work_text.text[0] = 0;
	if (!finishing) {
		s->dirty = false;
		s->unsynced_bytes = 0;
	}
	s->working = true;
	s->ingest->pending++;
	pool_queue(finishing ? s->ingest->derivation : s->ingest->durability, &s->work, do_work,
		   on_work_done);
}

static bool due(const struct intake *s, uint64_t now_ms)
{
	uint64_t window = s->link ? s->link->window_bytes : DEFAULT_WINDOW;

	if (!s->dirty || s->working || !s->writer || s->abandoned)
		return false;
	return s->ended || s->ingest->stopping || s->unsynced_bytes >= window / 4 ||
	       now_ms - s->dirty_since_ms >= ACK_MS;
}

static void sync_if_due(struct intake *s)
{
	if (due(s, uv_now(s->ingest->loop)))
		start_work(s, false);
}

static void intake_free(struct intake *s)
{
	intake_hold(s, 0);
	map_remove(&s->ingest->intake_of, id_key(s->ingest, s->id.bytes), NULL);
	stream_writer_close(s->writer);
	free(s->executable);
	free(s);
}

/*
 * The stream has no agent, and everything is durable and derived. The store has its state if it
 * returns.
 */
static bool forgettable(const struct intake *s, uint64_t now_ms)
{
	return !s->link && !s->working && !s->deriving && !s->finish_due && !s->dirty &&
	       !wants_deriving(s) && (s->told_ended || now_ms - s->left_ms > FORGET_MS);
}

void intake_tick(struct ingest *ingest, uint64_t now_ms)
{
	struct intake **at = &ingest->intakes;

	while (*at) {
		struct intake *s = *at;

		if (forgettable(s, now_ms)) {
			*at = s->next;
			ingest->intake_count--;
			intake_free(s);
			continue;
		}
		sync_if_due(s);
		start_derive(s);
		at = &s->next;
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
