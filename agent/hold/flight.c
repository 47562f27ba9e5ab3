/* Decides what the flight recorder holds, and when that is sent. See flight.h. */
#include "agent/hold/flight.h"

#include <errno.h>
#include <string.h>

#include "agent/core/run.h"
#include "agent/hold/cull.h"
#include "agent/hold/flight_array.h"
#include "base/ban.h"

/* flight_make_room frees a 32nd of all slots at a time, because moving the records costs as much as
 * taking a few events for each record */
#define PART 32

static int send(struct flight *f, uint32_t i)
{
	struct thread *thread = &f->host.threads->entry[f->record[i].thread];
	const struct event event = flight_event_of(f, i);

	if (f->host.send(f->host.context, thread, &event) < 0)
		return -EAGAIN;
	flight_unhold(f, i);
	return 0;
}

static void trigger(struct flight *f, enum flight_cause cause)
{
	if (f->state == FLIGHT_ARMED && !f->wanted)
		f->wanted = cause;
}

/* Sends an event ahead of the held ones. */
static int send_now(struct flight *f, struct thread *thread, const struct event *e, uint32_t node)
{
	struct event event = *e;

	event.thread = thread->number;
	event.stack = stacks_number(f->host.stacks, node);
	if (f->host.send(f->host.context, thread, &event) < 0)
		return -EAGAIN;
	if (!f->held || event_space(e->kind) != EVENT_SPACE_HEAP || !e->address)
		return 0;
	if (++f->ahead == FLIGHT_AHEAD_MAX)
		trigger(f, FLIGHT_FULL);
	return 0;
}

/* ---- older than the window ---- */

/* The block ended by the death in record `by`, which is now older than the window. Neither is
 * sent. */
static void cull(struct flight *f, uint32_t i, uint32_t by)
{
	const struct flight_record *x = &f->record[i];
	const struct flight_more *more = flight_more_of(f, i);
	struct thread *thread = &f->host.threads->entry[x->thread];
	uint64_t born_ns = flight_time_of(f, i), died_ns = flight_time_of(f, by);

	sums_add(f->host.sums,
		 &(struct sums_block){.thread = thread->number,
				      .node = f->path->node[i],
				      .time_ns = born_ns,
				      .size = x->size,
				      .weight = more ? more->weight : 0,
				      .lived_ns = died_ns > born_ns ? died_ns - born_ns : 0,
				      .freed = event_traits[flight_kind_of(&f->record[by])].class ==
					       EVENT_CLASS_FREE});
	thread->counts.culled++;
	thread->counts_news = true;
	if (died_ns + RUN_TICK_NS > f->whole_ns)
		f->whole_ns = died_ns + RUN_TICK_NS;
	flight_unhold(f, i);
}

/* Finds the live block that dies at this address, by the record `by` at `time_ns`. Returns
 * UINT32_MAX if the block is not held, or if it is doubtful which block dies. */
static uint32_t find_dying(struct flight *f, uint64_t address, uint32_t by, uint64_t time_ns)
{
	uint32_t i = *flight_place_of(f, address);
	struct flight_record *x;

	if (!i)
		return UINT32_MAX;
	x = &f->record[--i];
	if (x->thread == f->record[by].thread)
		return i;
	if (time_ns >= flight_time_of(f, i) &&
	    !(x->doubled && time_ns < flight_time_of(f, i) + CULL_DOUBT_NS))
		return i;
	x->doubled = 0;
	return UINT32_MAX;
}

static int settle_birth(struct flight *f, uint32_t i)
{
	uint32_t there = *flight_place_of(f, flight_address_of(f, i));

	if (there && send(f, there - 1) < 0) /* the end of the older block is unknown */
		return -EAGAIN;
	f->record[i].doubled = there != 0;
	flight_index_put(f, i);
	return 0;
}

static int settle_free(struct flight *f, uint32_t i)
{
	uint32_t block = find_dying(f, flight_address_of(f, i), i, flight_time_of(f, i));
	struct thread *thread = &f->host.threads->entry[f->record[i].thread];

	if (block == UINT32_MAX) {
		f->ahead++;
		return send(f, i);
	}
	cull(f, block, i);
	flight_unhold(f, i);
	sums_add_free(f->host.sums);
	thread->counts.culled++;
	thread->counts_news = true;
	return 0;
}

static int settle_reallocation(struct flight *f, uint32_t i)
{
	struct flight_more *more = flight_more_of(f, i);
	uint64_t call_ns = more ? (uint64_t)more->call_ticks * RUN_TICK_NS : 0,
		 ns = flight_time_of(f, i);
	uint32_t block, there;

	if (!more || !more->old_address)
		return settle_birth(f, i);
	block = find_dying(f, more->old_address, i, ns > call_ns ? ns - call_ns : 0);
	/* The old block was sent, so its reallocation is sent, too, and later the end of the new
	 * block. */
	if (block == UINT32_MAX) {
		there = *flight_place_of(f, flight_address_of(f, i));
		if (there && send(f, there - 1) < 0)
			return -EAGAIN;
		f->ahead++;
		return send(f, i);
	}
	cull(f, block, i);
	more->old_address = 0;
	more->call_ticks = 0;
	if (!more->weight)
		flight_remove_more(f, i);
	return settle_birth(f, i);
}

/* Handles the record at the cursor, which becomes older than the window. */
static int flight_settle(struct flight *f)
{
	uint32_t i = f->cursor, next = i + flight_length_of(f, i);
	int r = 0;

	if (sums_full(f->host.sums, 1))
		return -EAGAIN;
	switch (event_traits[flight_kind_of(&f->record[i])].class) {
	case EVENT_CLASS_ALLOCATION:
		r = settle_birth(f, i);
		break;
	case EVENT_CLASS_REALLOCATION:
		r = settle_reallocation(f, i);
		break;
	case EVENT_CLASS_FREE:
		r = settle_free(f, i);
		break;
	default:
		break; /* a hole */
	}
	if (!r)
		f->cursor = next;
	return r;
}

static int settle_due(struct flight *f)
{
	int r = 0;

	while (!r && f->cursor < f->head &&
	       flight_time_of(f, f->cursor) + f->window_ns <= f->now_ns)
		r = flight_settle(f);
	if (f->ahead >= FLIGHT_AHEAD_MAX)
		trigger(f, FLIGHT_FULL);
	return r;
}

/* ---- room ---- */

/* Holds less, by about a part of all slots: of the window if it is not empty, otherwise of the live
 * heap. */
static int shrink(struct flight *f)
{
	uint32_t part = f->slots / PART, end;
	int r = 0;

	if (f->cursor < f->head) {
		end = f->head - f->cursor < part ? f->head : f->cursor + part;
		while (!r && f->cursor < end)
			r = flight_settle(f);
		return r;
	}
	while (!r && part-- && f->held) {
		r = sums_full(f->host.sums, 1) ? -EAGAIN : send(f, f->first);
		if (!r)
			sums_add_early(f->host.sums);
	}
	return r;
}

static int flight_make_room(struct flight *f)
{
	int r = 0;

	if (f->head + 2 <= f->slots || !f->held)
		return 0;
	while (!r && f->holes < f->slots / PART && f->held)
		r = shrink(f);
	if (!r && f->held)
		flight_close_holes(f);
	return r;
}

/* ---- triggers ---- */

static const char *const cause_names[] = {
	[FLIGHT_NONE] = "",	  [FLIGHT_SIGNAL] = "signal", [FLIGHT_ORDER] = "order",
	[FLIGHT_RSS] = "rss",	  [FLIGHT_GROWTH] = "growth", [FLIGHT_PRESSURE] = "pressure",
	[FLIGHT_LIMIT] = "limit", [FLIGHT_END] = "end",	      [FLIGHT_EXEC] = "exec",
	[FLIGHT_FULL] = "full",
};

const char *flight_cause_name(enum flight_cause cause)
{
	return cause_names[cause];
}

bool flight_trigger(struct flight *f, enum flight_cause cause, uint64_t now_ns)
{
	bool news = f->window_ns && f->state == FLIGHT_ARMED && !f->wanted;

	if (news)
		f->wanted = cause;
	if (f->state == FLIGHT_STREAMING)
		f->until_ns = now_ns + f->after_ns;
	return news;
}

static int deliver(struct flight *f, uint64_t now_ns)
{
	int r = 0;

	while (!r && f->held)
		r = send(f, f->first);
	if (r < 0)
		return r;
	f->state = FLIGHT_STREAMING;
	f->until_ns = now_ns + (f->wanted == FLIGHT_FULL ? 0 : f->after_ns);
	f->wanted = FLIGHT_NONE;
	return 0;
}

int flight_work(struct flight *f, uint64_t now_ns)
{
	int r = 0;

	if (f->state == FLIGHT_DELIVERING)
		r = deliver(f, now_ns);
	if (!r && f->shrink) {
		r = shrink(f);
		f->shrink = r != 0;
	}
	return r;
}

int flight_event(struct flight *f, struct thread *thread, const struct event *e, uint32_t node)
{
	uint32_t index = (uint32_t)(thread - f->host.threads->entry);
	int r;

	if (f->state == FLIGHT_STREAMING || !flight_fits(e, index))
		return send_now(f, thread, e, node);
	r = settle_due(f);
	if (!r)
		r = flight_make_room(f);
	if (r < 0)
		return r;
	flight_append(f, index, e, node);
	if (e->time_ns > f->now_ns)
		f->now_ns = e->time_ns;
	return 0;
}

int flight_advance(struct flight *f, uint64_t watermark_ns, uint64_t now_ns, bool final)
{
	if (watermark_ns > f->now_ns)
		f->now_ns = watermark_ns;
	if (f->state == FLIGHT_STREAMING && !final && now_ns >= f->until_ns)
		f->state = FLIGHT_ARMED;
	return f->state == FLIGHT_ARMED ? settle_due(f) : 0;
}
