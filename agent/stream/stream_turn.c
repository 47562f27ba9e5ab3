/*
 * Runs a turn of the drain thread for one stream: takes runs from the source, closes batches, hands
 * them to the spool, and ends the stream. See stream.h.
 */
#include <assert.h>
#include <errno.h>

#include "agent/stream/stream.h"
#include "agent/core/clock.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define THREAD_NAMES_NS 1000000000
/* batches until the next renewal, if threads hold too much of the stack table */
#define RENEWAL_REST 64
#define STOPPED_NS   1000000000 /* without a heartbeat for so long, programs go on unrecorded */
#define TURN_BATCHES 4		/* in one turn, because other threads need the lock, too */

/* Puts the batch's frame into the spool. Returns 0, or -ENOSPC if the frame must wait in the
 * batch's memory. */
static int stream_turn_put_frame(struct stream *s)
{
	int r;

	if (!s->frame_pending)
		return 0;
	r = spool_put(&s->spool, s->batch.memory, s->frame_pending, &s->delivered);
	if (r == -ENOSPC)
		return r;
	s->frame_pending = 0;
	return 0;
}

/* Begins a new generation of the stack table. Called between two batches, because all nodes that a
 * batch names must be of one generation. */
static void renew_stacks(struct stream *s)
{
	if (s->renewal_rest)
		s->renewal_rest--;
	if (!s->renewal_wanted)
		return;
	s->renewal_wanted = false;
	s->renewal_rest =
		stacks_renew(&s->stacks, s->lane, s->lane_count + 1, &s->saved) ? 1 : RENEWAL_REST;
	stream_table_renewed(s, s->renewal_rest == 1);
	/* Held events, not the threads' stacks, may use the nodes. So try again at once instead of
	 * after RENEWAL_REST batches: while events are held, batches are rare, and all stacks until
	 * then would be cut. */
	if (s->renewal_rest == RENEWAL_REST && (s->cull.held || s->flight.held)) {
		stream_hold_less(s);
		s->renewal_rest = 0;
	}
}

static void seal(struct stream *s)
{
	const struct capture_account account = {.watermark_ns = stream_watermark(s),
						.stacks_cut = s->stacks_cut,
						.allocations = s->delivered.allocations,
						.frees = s->delivered.frees,
						.bytes = s->delivered.bytes,
						.lost = s->lost,
						.image = s->image};

	s->source->ops->seal(s->source, &account);
}

static int close_batch(struct stream *s, bool end)
{
	long length;

	stream_count(s);
	seal(s);
	length = batch_pack(s, s->packer, end);
	s->closed_ns = clock_monotonic_ns();
	s->delivered.time_ns = stream_watermark(s);
	s->watermark_told = s->watermark_ns;
	s->delivered.nodes = stacks_number(&s->stacks, s->stacks.sent);
	renew_stacks(s);
	s->nodes_until = 0;
	assert(length > 0); /* everything is charged before it goes into a batch */
	s->frame_pending = (size_t)length;
	return stream_turn_put_frame(s);
}

/* Returns true if a mark was sent in a batch whose watermark did not exceed the mark's time. A
 * client that waits for everything before the mark needs another batch. */
static bool owes_watermark(const struct stream *s)
{
	return s->order_ns && s->watermark_told / BATCH_TICK_NS * BATCH_TICK_NS <= s->order_ns;
}

static bool has_content(const struct stream *s)
{
	return s->batch.events.count || s->batch.gaps || s->batch.marks || s->threads.news ||
	       s->process_news || s->modules.count != s->modules.sent || s->modules.unloads ||
	       s->figures_count || s->unrecorded_count || s->maps_ready ||
	       sums_due(&s->sums, s->turn_ns) || owes_watermark(s);
}

/* Returns true if the batch can wait, because the flight recorder is armed. A new process is
 * reported at once, and so are maps, because the observer waits for them to be packed. */
static bool is_quiet(const struct stream *s)
{
	return flight_is_quiet(&s->flight) && !s->process_news && !s->maps_ready &&
	       s->modules.count == s->modules.sent;
}

static bool stream_turn_is_due(struct stream *s, uint64_t now)
{
	bool quiet = is_quiet(s);

	if (!has_content(s)) {
		s->batch.opened_ns = 0;
		if (now - s->closed_ns < (quiet ? FLIGHT_CLOSE_NS : STREAM_LEDGER_NS))
			return false;
		stream_count(s);
		return stream_ledger(s).produced != s->ledger_told;
	}
	if (!s->batch.opened_ns)
		s->batch.opened_ns = now;
	return now - s->batch.opened_ns >= (quiet ? FLIGHT_CLOSE_NS : STREAM_CLOSE_NS);
}

static void read_names(struct stream *s, uint64_t now)
{
	char name[16];

	if (now - s->named_ns < THREAD_NAMES_NS)
		return;
	s->named_ns = now;
	threads_each(&s->threads,
		     t) if (t->alive && (t->news || s->threads.news < BATCH_THREADS_MAX) &&
			    target_thread_name(s->target.pid, (pid_t)t->tid, name) == 0)
		threads_name(&s->threads, t, name);
}

/* Forgets the modules of the old image, which is drained, and prepares the source for the new
 * image. */
static void begin_image(struct stream *s)
{
	struct target_info target;

	if (!stream_put_mark(s, HEAPCAST__MARK_KIND__MARK_EXEC, s->image + 1, stream_now(s), NULL))
		return; /* the batch is full: try again in the next turn */
	modules_remove_all(&s->modules, stream_now(s));
	stacks_cache_clear(&s->stacks);
	if (target_read(s->target.pid, &target) == 0) {
		s->target = target;
		target_believe(&s->target, &s->said);
	}
	s->image++;
	flight_begin_image(&s->flight);
	s->maps_ready = false;
	s->maps_known = STREAM_MAPS_LOST;
	s->source->ops->begin_image(s->source, s->image, &s->target);
	s->process_news = true;
	s->exec_pending = false;
}

/* Ends the threads that have no slice at the end. Returns false if the batch has no room. */
static bool end_threads(struct stream *s)
{
	bool fits = true;

	threads_each(&s->threads, t) if (fits && t->alive) fits =
		stream_end_thread(s, t, s->end_ns);
	return fits;
}

static enum stream_work stream_turn_finish(struct stream *s)
{
	int r;

	if (!end_threads(s))
		return close_batch(s, false) == -ENOSPC ? STREAM_STALLED : STREAM_MORE;
	if (s->modules.unloads > BATCH_UNLOADS_MAX || !batch_fits_observed(s))
		return close_batch(s, false) == -ENOSPC ? STREAM_STALLED : STREAM_MORE;
	s->watermark_ns = s->end_ns > s->watermark_ns ? s->end_ns : s->watermark_ns;
	r = close_batch(s, true);
	__atomic_store_n(&s->state, STREAM_ENDED, __ATOMIC_RELEASE);
	return r == -ENOSPC ? STREAM_STALLED : STREAM_IDLE;
}

/* Takes runs from the source until it has no more for now. Returns false if the batch must be
 * closed first. */
static bool take_runs(struct stream *s, bool final)
{
	struct run *run = &s->run;

	for (;;) {
		if (!stream_take(s))
			return false;
		if (run->complete)
			return true;
		run->count = run->taken = 0;
		run->more = run->exec = false;
		s->source->ops->fill(s->source, final, run);
	}
}

/* Ends a round of the source, which is completely taken. Returns true if more may be available at
 * once. */
static bool end_round(struct stream *s)
{
	struct run *run = &s->run;

	run->complete = false;
	if (run->until_ns > s->watermark_ns)
		s->watermark_ns = run->until_ns;
	s->exec_pending |= run->exec;
	return run->more;
}

/* Takes what the source has, and sends held events that are due. Returns 0, 1 if more may be
 * available at once, or -EAGAIN if the batch must be closed first. */
static int drain_source(struct stream *s, bool final)
{
	bool urgent = s->cull.flush || flight_urgent(&s->flight), more;
	int r = urgent ? stream_hold_advance(s, false) : 0;

	if (r)
		return r;
	if (!take_runs(s, final))
		return -EAGAIN;
	more = end_round(s);
	return more ? 1 : stream_hold_advance(s, final);
}

enum stream_work stream_drain(struct stream *s)
{
	bool final = s->state == STREAM_ENDING || s->exec_pending;
	uint64_t now = clock_monotonic_ns();
	int r = 1;

	s->source->ops->turn(s->source, s->turn_ns && now - s->turn_ns > STOPPED_NS);
	s->turn_ns = now;
	if (stream_turn_put_frame(s) < 0) {
		stream_grow_if_due(s);
		if (stream_turn_put_frame(s) < 0)
			return STREAM_STALLED;
	}
	if (s->state != STREAM_LIVE && s->state != STREAM_ENDING)
		return STREAM_IDLE;
	for (int batches = 0; batches < TURN_BATCHES; batches++) {
		if (stream_grow_if_due(s)) {
			if (close_batch(s, false) == -ENOSPC)
				return STREAM_STALLED;
			stream_grow_if_due(s);
		}
		r = drain_source(s, final);
		if (r >= 0)
			break;
		if (close_batch(s, false) == -ENOSPC)
			return STREAM_STALLED;
		r = 1;
	}
	if (r > 0)
		return STREAM_MORE;
	if (s->exec_pending) {
		begin_image(s);
		if (s->exec_pending) /* the batch is full */
			return close_batch(s, false) == -ENOSPC ? STREAM_STALLED : STREAM_MORE;
		if (s->state == STREAM_ENDING)
			return STREAM_MORE; /* of the next image */
	}
	if (s->state == STREAM_ENDING)
		return stream_turn_finish(s);
	read_names(s, now);
	if (stream_turn_is_due(s, now) && close_batch(s, false) == -ENOSPC)
		return STREAM_STALLED;
	return STREAM_IDLE;
}
