/*
 * Takes a batch: turns it into definitions and rows. A batch is taken as a whole or not at all: its
 * events are decoded before anything of it is taken.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "proto/columns.h"
#include "collector/derive/recording_parts.h"
#include "collector/derive/thinned.h"
#include "collector/recording/info.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"
#include "base/ban.h"

int batch_wanted(const struct stream_position *p, const struct stream_id *id,
		 const Heapcast__Batch *batch, struct err_text *err)
{
	if (batch->stream.len != STREAM_ID_SIZE)
		return err_set(err, -EBADMSG, "a batch of no stream");
	if (id && memcmp(id->bytes, batch->stream.data, STREAM_ID_SIZE))
		return err_set(err, -EBADMSG, "a batch of another stream");
	if (!batch->incarnation || (!batch->number && !batch->catch_up) ||
	    batch->number == UINT64_MAX)
		return err_set(err, -EBADMSG, "a batch without a number");
	if (batch->catch_up && batch->incarnation >= p->incarnation)
		return 1;
	return batch->incarnation > p->incarnation ||
	       (batch->incarnation == p->incarnation && batch->number >= p->next);
}

static int check_position(struct recording *r, const Heapcast__Batch *batch, struct err_text *err)
{
	int wanted = batch_wanted(&r->position, r->has_id ? &r->id : NULL, batch, err);

	r->ledger.duplicate_batches += !wanted;
	return wanted;
}

static void take_position(struct recording *r, const Heapcast__Batch *batch)
{
	uint64_t expected = batch->incarnation == r->position.incarnation ? r->position.next : 1;

	if (!r->has_id) {
		memcpy(r->id.bytes, batch->stream.data, STREAM_ID_SIZE);
		r->has_id = true;
	}
	if (batch->catch_up)
		return;
	/* The agent's account covers the batches before we joined, those that we were too slow for,
	 * and those of an earlier agent, up to the batch that a catch-up has announced. Only other
	 * holes count as missing batches. */
	if (r->announced > expected && batch->number >= r->announced)
		expected = r->announced;
	else if (!r->position.incarnation && r->definitions.ledger.before_join)
		expected = batch->number;
	r->ledger.missing_batches += batch->number - expected;
	r->announced = 0;
	r->position = (struct stream_position){batch->incarnation, batch->number + 1};
}

/* Returns the most frees that the lost events may contain: events of unknown kind may all have been
 * frees. */
static uint64_t lost_frees(uint64_t events, uint64_t allocations, uint64_t frees)
{
	uint64_t counted;

	if (!__builtin_add_overflow(allocations, frees, &counted) && events > counted)
		frees += events - counted;
	return frees;
}

static void count_event(struct recording *r, const struct event *e)
{
	struct ledger_info *l = &r->ledger;

	l->stored++;
	if (event_space(e->kind) != EVENT_SPACE_HEAP) {
		l->stored_apart++;
		return;
	}
	if (e->class == EVENT_CLASS_FREE)
		l->stored_frees++;
	else if (e->class == EVENT_CLASS_REALLOCATION)
		l->stored_reallocations++;
	else
		l->stored_allocations++;
	if (e->class != EVENT_CLASS_FREE && !e->address)
		r->pairing.info.failed++;
}

/* Maps the numbers that an event refers to; its stack becomes a node. Undefined numbers become 0
 * and are counted. Returns 0 or -ENOMEM. */
static int check_references(struct recording *r, struct event *e, struct thread_info **thread)
{
	uint32_t stack;

	if (!*thread || (*thread)->number != e->thread) {
		*thread = NULL;
		if (definitions_thread(&r->definitions, e->thread, thread) == -ENOMEM)
			return -ENOMEM;
	}
	if (*thread)
		(*thread)->stored++;
	else
		e->thread = 0;
	stack = nodes_of_wire(&r->definitions.nodes, e->stack);
	if (!*thread || (e->stack && !stack))
		r->pairing.info.bad_references++;
	e->stack = stack;
	return 0;
}

static uint64_t difference(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Handles a catch-up for a collector that was there before: the batches in between never arrived.
 * They held as many events as the agent's account has grown by since the last batch. Events that an
 * earlier agent took with it are no longer part of this growth (definitions.c). The counts by kind
 * include them, so these are compared only within one incarnation. `delivered` and `before` are the
 * account as of the last batch. If the batches are at another collector, the gap says so. */
static int take_missed(struct recording *r, const Heapcast__Batch *batch, uint64_t delivered,
		       const struct delivered_counts *before)
{
	const Heapcast__Ledger *l = batch->ledger;
	bool same = batch->incarnation == r->position.incarnation;
	uint64_t now = r->definitions.ledger.delivered, expected = same ? r->position.next : 1;
	struct gap_info gap = {.reason = HEAPCAST__REASON__REASON_SPOOL_FULL,
			       .from_ns = r->watermark_ns};
	uint64_t elsewhere;
	int e = definitions_add_parts(&r->definitions, batch, expected, &elsewhere);

	if (e < 0)
		return e;
	if (elsewhere)
		gap.reason = HEAPCAST__REASON__REASON_ELSEWHERE;
	if (batch->next > expected)
		r->announced = batch->next;
	if (!l || !r->position.incarnation || batch->next <= expected || now <= delivered)
		return 0;
	gap.events = now - delivered;
	if (same) {
		gap.allocations = difference(l->delivered_allocations, before->allocations);
		gap.frees = difference(l->delivered_frees, before->frees);
		gap.bytes = difference(l->delivered_bytes, before->bytes);
	}
	gap.to_ns = batch->watermark_ns > gap.from_ns ? batch->watermark_ns : gap.from_ns;
	r->ledger.missed += gap.events;
	pairing_lost(&r->pairing, lost_frees(gap.events, gap.allocations, gap.frees), gap.from_ns,
		     gap.to_ns);
	return definitions_add_gap(&r->definitions, &gap);
}

/* Passes the marks before event `index`. `*next` is the position in the batch's marks, which are in
 * order. Returns 0 or -ENOMEM. */
static int pass_marks(struct recording *r, const Heapcast__Batch *batch, size_t *next,
		      uint32_t index)
{
	for (; *next < batch->n_mark && batch->mark[*next]->place <= index + 1; ++*next) {
		const Heapcast__Mark *m = batch->mark[*next];
		struct thread_info *t = NULL;

		/* Marks of other kinds may report an earlier time. */
		if (m->place && (m->kind == HEAPCAST__MARK_KIND__MARK_NUMBER ||
				 m->kind == HEAPCAST__MARK_KIND__MARK_LABEL))
			if (definitions_thread(&r->definitions, m->thread, &t) == -ENOMEM)
				return -ENOMEM;
		if (t)
			t->marked_ns = m->time_ns;
	}
	return 0;
}

/* Moves an event behind the thread's mark that precedes it, if the times contradict the thread's
 * order within the window. An event's time is rounded down to a tick and a mark's is not, and both
 * have the clock's error. */
static void put_behind_mark(struct event *e, const struct thread_info *thread, uint64_t window_ns)
{
	if (thread && e->time_ns < thread->marked_ns && thread->marked_ns - e->time_ns <= window_ns)
		e->time_ns = thread->marked_ns;
}

/* Events are prefetched this many ahead, because another processor has usually decoded them. */
#define EVENTS_AHEAD 32

static int take_events(struct recording *r, struct decoded *d)
{
	const Heapcast__Batch *batch = d->item.batch;
	uint32_t tick_ns = batch->events ? batch->events->tick_ns : 1;
	struct thread_info *thread = NULL;
	size_t mark = 0;
	int e = 0;

	if (tick_ns + (uint64_t)REPAIR_NS > r->pairing.window_ns)
		r->pairing.window_ns = tick_ns + (uint64_t)REPAIR_NS;
	for (uint32_t i = 0; !e && i < d->event_count; i++) {
		struct event *event = &d->events[i];

		__builtin_prefetch(event + EVENTS_AHEAD);

		count_event(r, event);
		e = check_references(r, event, &thread);
		if (!e && mark < batch->n_mark)
			e = pass_marks(r, batch, &mark, i);
		if (e < 0)
			return e;
		put_behind_mark(event, thread, r->pairing.window_ns);
		e = event_space(event->kind) == EVENT_SPACE_HEAP
			    ? pairing_add(&r->pairing, event)
			    : other_events_add(&r->other_events, event);
	}
	return e ? e : pass_marks(r, batch, &mark, UINT32_MAX - 1);
}

/* Records the lost frees of a gap. A gap before we joined is ignored: it concerns blocks that we
 * never saw. */
static void take_gap(struct recording *r, const Heapcast__Gap *g, uint64_t now_ns)
{
	uint64_t from = g->from_ns ? g->from_ns : now_ns, to = g->to_ns ? g->to_ns : now_ns;

	if (g->reason == HEAPCAST__REASON__REASON_JOINED_LATE)
		return;
	pairing_lost(&r->pairing, lost_frees(g->events, g->allocations, g->frees), from,
		     to < from ? from : to);
}

/* Takes a mark that says that its thread is sampled for lack of room. */
static int take_sampled(struct recording *r, const Heapcast__Mark *mark)
{
	struct thread_info *t = NULL;

	thinned_begin(&r->pairing, mark->time_ns);
	if (definitions_thread(&r->definitions, mark->thread, &t) == -ENOMEM)
		return -ENOMEM;
	if (t && t->thinned_interval < mark->value)
		t->thinned_interval = mark->value;
	return 0;
}

/* Takes the marks that are steps of pairing. An exec's time is rounded down to a tick of the
 * events, so that the new image's events in the same tick come after it. */
static int take_marks(struct recording *r, const Heapcast__Batch *batch, bool *ret_any)
{
	uint64_t tick = batch->events ? batch->events->tick_ns : 1;
	int e = 0;

	*ret_any = false;
	for (size_t i = 0; !e && i < batch->n_mark; i++) {
		const Heapcast__Mark *mark = batch->mark[i];
		struct thinning law;

		if (mark->kind == HEAPCAST__MARK_KIND__MARK_THINNED &&
		    thinning_get(&law, mark->text.data, mark->text.len))
			e = pairing_add_thinned(&r->pairing, mark->time_ns, &law);
		if (mark->kind == HEAPCAST__MARK_KIND__MARK_POLICY && mark->value)
			e = take_sampled(r, mark);
		if (mark->kind != HEAPCAST__MARK_KIND__MARK_EXEC)
			continue;
		*ret_any = true;
		e = pairing_add_exec(&r->pairing, mark->time_ns / tick * tick);
	}
	return e;
}

/* Takes the steps of a batch: its marks, an exec without a mark, and its events. `images` is the
 * number of images that was known before the batch. */
static int take_steps(struct recording *r, struct decoded *d, uint32_t images)
{
	const Heapcast__Batch *batch = d->item.batch;
	bool marked;
	int e = take_marks(r, batch, &marked);

	if (!e && images && r->definitions.process.images > images && !marked) {
		e = pairing_flush(&r->pairing);
		if (!e)
			e = pairing_exec(&r->pairing,
					 batch->events ? batch->events->base_ns : batch->time_ns);
	}
	if (!e)
		e = take_events(r, d);
	return e;
}

/* Returns true if the recording begins in a fork child, before its first exec. */
static bool begins_forked(const struct process_info *process, const Heapcast__Batch *batch)
{
	uint32_t execs = 0;

	for (size_t i = 0; i < batch->n_mark; i++)
		execs += batch->mark[i]->kind == HEAPCAST__MARK_KIND__MARK_EXEC;
	return process->forked && process->images == execs + 1;
}

/* Takes culled sums. Sums that were sent before a catch-up never arrive; their events are the
 * excess of the agent's account over ours. */
static int take_culled(struct recording *r, const Heapcast__Batch *batch)
{
	const struct culled_totals *t = &r->culled.totals;
	int e = batch->culled ? culled_take(&r->culled, batch->culled, &r->definitions) : 0;

	if (__builtin_add_overflow(t->blocks, t->frees, &r->ledger.culled_stored))
		r->ledger.culled_stored = UINT64_MAX;
	if (batch->catch_up && batch->ledger)
		r->ledger.culled_missed =
			difference(r->definitions.ledger.culled, r->ledger.culled_stored);
	return e;
}

int recording_take(struct recording *r, struct decoded *d, struct err_text *err)
{
	const Heapcast__Batch *batch = d->item.batch;
	const struct delivered_counts counts = r->definitions.delivered;
	uint64_t delivered = r->definitions.ledger.delivered;
	uint32_t images = r->definitions.process.images;
	uint64_t unarrived = r->definitions.unarrived;
	int e = check_position(r, batch, err);

	if (e <= 0)
		return e;
	if (batch->catch_up && (batch->events || batch->culled))
		return err_set(err, -EBADMSG, "a catch-up with events");
	e = decoded_events(d, err);
	if (!e && batch->culled)
		e = culled_check(batch->culled, err);
	if (!e)
		e = definitions_add(&r->definitions, batch, err);
	if (!e && batch->catch_up)
		e = take_missed(r, batch, delivered, &counts);
	if (e < 0)
		return e;
	take_position(r, batch);
	pairing_lost(&r->pairing, r->definitions.unarrived - unarrived, r->end_ns, r->end_ns);
	if (!images)
		r->pairing.forked = begins_forked(&r->definitions.process, batch);
	e = take_steps(r, d, images);
	if (!e)
		e = take_culled(r, batch);
	for (size_t i = 0; i < batch->n_gap; i++)
		take_gap(r, batch->gap[i], batch->time_ns);
	if (batch->watermark_ns > r->watermark_ns)
		r->watermark_ns = batch->watermark_ns;
	if (batch->time_ns > r->end_ns)
		r->end_ns = batch->time_ns;
	return e ? e : pairing_advance(&r->pairing, r->watermark_ns);
}
