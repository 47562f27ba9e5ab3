/*
 * Accounts of a ring's slices: reports to the stream what each owner says that it began, skipped by
 * sampling, lost and waited. When an owner is gone, reports its last account and frees its slice.
 * See ring_source.h.
 */
#include "agent/ring/ring_source.h"

#include "agent/core/threads.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define WAITED_LEAST_NS 1000000 /* shorter waits of an owner are not worth a mark */
#define WAITED_TELL_NS	1000000000

struct ring_losses ring_losses_read(bool swapped, const struct ring_losses *shared)
{
	return (struct ring_losses){
		.events = ring_get64(swapped, &shared->events),
		.allocations = ring_get64(swapped, &shared->allocations),
		.frees = ring_get64(swapped, &shared->frees),
		.bytes = ring_get64(swapped, &shared->bytes),
	};
}

int ring_tell_losses_between(struct stream *stream, struct thread *thread, struct ring_losses *told,
			     const struct ring_losses *upto, int reason, uint64_t from_ns,
			     uint64_t to_ns)
{
	struct capture_losses more = {
		.events = ring_grown(upto->events, told->events),
		.allocations = ring_grown(upto->allocations, told->allocations),
		.frees = ring_grown(upto->frees, told->frees),
		.bytes = ring_grown(upto->bytes, told->bytes),
	};
	int r;

	if (!more.events)
		return 0;
	r = capture_gap(stream, thread, &more, reason, from_ns, to_ns);
	if (r < 0)
		return r;
	told->events += more.events;
	told->allocations += more.allocations;
	told->frees += more.frees;
	told->bytes += more.bytes;
	return 0;
}

int ring_tell_losses(struct ring_source *s, struct stream *stream, struct thread *thread,
		     struct ring_losses *told, const struct ring_losses *upto, int reason,
		     uint64_t from, uint64_t to)
{
	return ring_tell_losses_between(stream, thread, told, upto, reason, ring_stream_ns(s, from),
					ring_stream_ns(s, to));
}

static void count_lane(struct stream *stream, struct ring_lane *l, uint64_t events,
		       uint64_t not_sampled)
{
	uint64_t passed = ring_grown(not_sampled, l->counted_not_sampled);

	capture_thread_counts(stream, l->thread, ring_grown(events, l->counted) + passed, passed);
	l->counted = events;
	l->counted_not_sampled = not_sampled;
}

/* Reports that the owner has waited for room, if the time is worth it, and at most once a
 * second. */
static void tell_waits(struct ring_source *s, struct stream *stream, struct ring_lane *l, bool last)
{
	const struct ring_slice *slice = l->reader.slice;
	uint64_t waited = ring_acquire64(s->ring->swapped, &slice->waited_ns);
	uint64_t stamp = ring_get64(s->ring->swapped, &slice->waited_stamp);
	uint64_t more = ring_grown(waited, l->waited_ns);

	if (more < WAITED_LEAST_NS ||
	    (!last && s->looked - l->waits_told < clock_ticks(s->clock, WAITED_TELL_NS)))
		return;
	if (capture_mark(stream, l->thread, HEAPCAST__MARK_KIND__MARK_WAITED, more,
			 ring_stream_ns(s, stamp < s->looked ? stamp : s->looked), NULL, 0) < 0)
		return;
	l->waited_ns = waited;
	l->waits_told = s->looked;
}

/* Returns the number of events that were begun and never written. A thread that moves to another
 * slice in the middle of an event writes it there or nowhere, which shows only when the thread has
 * ended. */
static uint64_t missing(const struct ring_lane *l, uint64_t events)
{
	if (l->left)
		return l->damaged ? ring_grown(events, l->read + l->gapped.events) : 0;
	if (!l->first)
		return ring_grown(events, l->read + l->gapped.events);
	return ring_grown(l->first + events, thread_taken(l->thread));
}

/* Reports the last account of a slice whose owner is gone: what was lost after the last RING_LOST,
 * and what was begun and never published. */
static int settle(struct ring_source *s, struct stream *stream, struct ring_lane *l)
{
	struct ring_slice *slice = l->reader.slice;
	const bool swapped = s->ring->swapped;
	struct ring_losses lost = ring_losses_read(swapped, &slice->lost), rest;
	uint64_t events = ring_get64(swapped, &slice->events);
	uint64_t not_sampled = ring_get64(swapped, &slice->not_sampled);
	int r = l->cut_awaited ? ring_lane_tell_away(s, stream, l, events, l->last_stamp)
			       : ring_tell_losses(s, stream, l->thread, &l->gapped, &lost,
						  HEAPCAST__REASON__REASON_RING_FULL, l->last_stamp,
						  s->looked);

	if (r < 0)
		return r;
	count_lane(stream, l, events, not_sampled);
	tell_waits(s, stream, l, true);
	if (l->cut_awaited)
		return 0;
	rest = l->gapped;
	rest.events += missing(l, events);
	return ring_tell_losses(s, stream, l->thread, &l->gapped, &rest,
				l->damaged ? HEAPCAST__REASON__REASON_DAMAGED
					   : HEAPCAST__REASON__REASON_WRITER_DIED,
				l->last_stamp, s->looked);
}

/* Returns true if an earlier slice of the same thread is not settled yet. The agent may not know
 * yet that the thread has left that slice, because it looks at slices one after the other. */
static bool has_other(const struct ring_source *s, const struct ring_lane *l)
{
	for (uint32_t i = 0; i < s->active_count; i++) {
		const struct ring_lane *other = &s->lane[s->active[i]];

		if (other != l && other->active && other->thread == l->thread &&
		    (other->left || other->first < l->first))
			return true;
	}
	return false;
}

/* The slice is about to be freed with its part of the account. Writes the thread's account to its
 * other slice, where an agent that takes over the ring finds it. */
static void hand_over(const struct ring_source *s, const struct ring_lane *l)
{
	for (uint32_t i = 0; i < s->active_count; i++) {
		const struct ring_lane *other = &s->lane[s->active[i]];

		if (other != l && other->active && other->thread == l->thread)
			ring_account_lane(s, s->active[i]);
	}
}

static int reap_lane(struct ring_source *s, struct stream *stream, struct ring_lane *l)
{
	uint64_t *settled = &s->ring->header->settled; /* only the agent writes it */
	int r;

	if (!(l->dead || l->left) || l->has_next || l->reader.tail != l->reader.head)
		return 0;
	if (!l->left && has_other(s, l))
		return 0;
	r = settle(s, stream, l);
	if (!r && !l->left)
		r = capture_thread_end(stream, l->thread, ring_stream_ns(s, l->last_stamp));
	if (r < 0)
		return r;
	if (l->left)
		hand_over(s, l);
	else
		ring_account_end(s, (uint32_t)(l - s->lane));
	capture_thread_leave(stream, l->thread);
	ring_release64(s->ring->swapped, settled,
		       ring_get64(s->ring->swapped, settled) + l->counted + l->counted_not_sampled);
	ring_slice_free(l->reader.slice);
	l->active = false;
	return 0;
}

/* Iterates from the last lane to the first, because the last one replaces a lane that is freed. */
static int reap_those(struct ring_source *s, struct stream *stream, bool left)
{
	int r = 0;

	for (uint32_t i = s->active_count; !r && i-- > 0;) {
		struct ring_lane *l = &s->lane[s->active[i]];

		if (l->left != left)
			continue;
		r = reap_lane(s, stream, l);
		if (!l->active)
			s->active[i] = s->active[--s->active_count];
	}
	return r;
}

/* Left slices come first: a thread's count must be complete when its last slice is freed. */
int ring_reap(struct ring_source *s, struct stream *stream)
{
	int r = reap_those(s, stream, true);

	return r ? r : reap_those(s, stream, false);
}

void ring_count_lanes(struct capture_source *source, struct stream *stream)
{
	struct ring_source *s = (struct ring_source *)source;

	for (uint32_t i = 0; i < s->active_count; i++) {
		struct ring_lane *l = &s->lane[s->active[i]];
		uint64_t not_sampled, events;

		not_sampled = ring_acquire64(s->ring->swapped, &l->reader.slice->not_sampled);
		events = ring_acquire64(s->ring->swapped, &l->reader.slice->events);
		count_lane(stream, l, events, not_sampled);
		tell_waits(s, stream, l, false);
	}
	capture_samples_refused(stream,
				ring_get64(s->ring->swapped, &s->ring->header->samples_refused));
	capture_loader_counts(stream,
			      ring_get32(s->ring->swapped, &s->ring->header->stacks_unknown),
			      ring_get32(s->ring->swapped, &s->ring->header->namespaces));
}

uint64_t ring_count_untold(const struct capture_source *source)
{
	const struct ring_source *s = (const struct ring_source *)source;
	const bool swapped = s->ring->swapped;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->ring->slice_count; i++) {
		const struct ring_lane *l = &s->lane[i];
		const struct ring_slice *slice = &s->ring->slices[i];

		if (ring_acquire32(swapped, &slice->state) >= RING_SLICE_OWNED)
			sum += ring_grown(ring_get64(swapped, &slice->events),
					  l->active ? l->counted : 0);
	}
	return sum;
}
