/*
 * What worker threads do for a stream: they sync it, derive its rows and finish it.
 *
 * A stream has at most one worker at a time; the loop appends meanwhile. If the disk refuses to
 * make data durable, the agent is asked to send it again.
 *
 * Rows are derived from durable frames by separate threads (pool.h), so no acknowledgement waits
 * for that. Deriving holds memory between its runs, at most memory_limit for all streams together.
 * Streams that do not fit are parked after each run, and continue when enough frames have arrived
 * to justify reading their rows again.
 */
#include <errno.h>

#include "collector/catalogue/store.h"
#include "collector/catalogue/writer.h"
#include "collector/ingest/state.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"
#include "base/ban.h"

#define DERIVE_TYPICAL (8u << 20) /* memory that deriving takes, until it is known */
/* bytes of frames that justify reading a parked stream's rows again */
#define DERIVE_LEAST   (512u << 10)
#define DERIVE_LATE_MS 60000 /* rows are derived at the latest after this time */
#define SUM_UP_MS      5000
/* sums may take one part in this many of the time that deriving takes */
#define SUM_UP_SHARE 20

bool disk_has_no_room(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -EFBIG;
}

void disk_refused(struct ingest *ingest, unsigned what, const char *why)
{
	if (!ingest->refused)
		ingest_warn(ingest,
			    "%s; nothing more is acknowledged, agents keep what they have; trying "
			    "again every second",
			    why);
	ingest->refused |= what;
}

void disk_accepted(struct ingest *ingest, unsigned what)
{
	if (ingest->refused == what)
		ingest_warn(ingest, "there is room in %s again: going on",
			    store_path(ingest->store));
	ingest->refused &= ~what;
}

bool intake_is_finishing(const struct intake *s)
{
	return s->finish_due || (s->finishing && s->working);
}

static void do_work(struct pool_work *work)
{
	struct intake *s = work->data;

	if (s->finishing)
		stream_writer_finish(s->writer, NULL);
	else
		s->work_error = stream_writer_sync(s->writer, &s->durable, &s->work_text);
}

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
static void files_removed(struct intake *s)
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
		files_removed(s);
		return;
	}
	if (s->work_error < 0) {
		disk_refused(s->ingest, REFUSED_SYNC, err_get(&s->work_text, s->work_error));
		s->dirty = s->ended = false;
		abandon(s);
		if (s->link) {
			order_refusal(s->link, s->work_error);
			link_close(s->link, "the disk refused what it sent");
		}
		return;
	}
	disk_accepted(s->ingest, REFUSED_SYNC);
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

void intake_hold(struct intake *s, uint64_t bytes)
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
	intake_derive_if_due(s);
	ingest_released(ingest);
}

bool intake_wants_deriving(const struct intake *s)
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

void intake_derive_if_due(struct intake *s)
{
	struct ingest *ingest = s->ingest;

	if (!intake_wants_deriving(s) || s->deriving || s->finishing || s->finish_due ||
	    s->abandoned || ingest->stopping || !worth_deriving(s))
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
		intake_sync_if_due(s);
		intake_derive_if_due(s);
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

void intake_sync_if_due(struct intake *s)
{
	if (due(s, uv_now(s->ingest->loop)))
		start_work(s, false);
}
