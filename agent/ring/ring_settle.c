/*
 * Reports the accounts of a ring's slices to the stream: how many events each owner has begun,
 * skipped by sampling and lost, and how long it has waited. When an owner is gone, reports its last
 * account, and frees its slice when the stream has taken that account. See ring_source.h.
 */
#include "agent/ring/ring_source.h"

#include "heapcast.pb-c.h"
#include "base/ban.h"

#define WAITED_LEAST_NS 1000000 /* shorter waits of an owner are not worth a mark */
#define WAITED_TELL_NS	1000000000
#define WAITED_LOOK_NS	100000000 /* between two looks at all lanes */
#define SETTLE_ITEMS	5	  /* most items that settling a lane puts into a run */

struct ring_losses ring_losses_read(const struct ring_losses *shared)
{
	return (struct ring_losses){
		.events = __atomic_load_n(&shared->events, __ATOMIC_RELAXED),
		.allocations = __atomic_load_n(&shared->allocations, __ATOMIC_RELAXED),
		.frees = __atomic_load_n(&shared->frees, __ATOMIC_RELAXED),
		.bytes = __atomic_load_n(&shared->bytes, __ATOMIC_RELAXED),
	};
}

void ring_put_losses(struct run *run, uint32_t lane, struct ring_losses *told,
		     const struct ring_losses *upto, int reason, uint64_t from_ns, uint64_t to_ns)
{
	struct run_losses more = {
		.events = ring_grown(upto->events, told->events),
		.allocations = ring_grown(upto->allocations, told->allocations),
		.frees = ring_grown(upto->frees, told->frees),
		.bytes = ring_grown(upto->bytes, told->bytes),
	};

	if (!more.events)
		return;
	run_put_gap(run, lane, &more, reason, from_ns, to_ns);
	told->events += more.events;
	told->allocations += more.allocations;
	told->frees += more.frees;
	told->bytes += more.bytes;
}

static struct capture_counts ring_settle_grow(struct ring_lane *l, uint64_t events,
					      uint64_t not_sampled)
{
	uint64_t skipped = ring_grown(not_sampled, l->counted_not_sampled);
	struct capture_counts more = {.produced = ring_grown(events, l->counted) + skipped,
				      .not_sampled = skipped};

	l->counted = events;
	l->counted_not_sampled = not_sampled;
	return more;
}

/* Puts a mark for the time that the owner has waited for room, if it is worth one, and at most once
 * a second. */
static void put_waits(struct ring_source *s, struct run *run, uint32_t index, bool last)
{
	struct ring_lane *l = &s->lane[index];
	const struct ring_slice *slice = l->reader.slice;
	uint64_t waited = __atomic_load_n(&slice->waited_ns, __ATOMIC_ACQUIRE);
	uint64_t stamp = __atomic_load_n(&slice->waited_stamp, __ATOMIC_RELAXED);
	uint64_t more = ring_grown(waited, l->waited_ns);

	if (more < WAITED_LEAST_NS ||
	    (!last && s->looked - l->waits_told < clock_ticks(s->clock, WAITED_TELL_NS)))
		return;
	run_put_mark(run, index, HEAPCAST__MARK_KIND__MARK_WAITED, more,
		     ring_stream_ns(s, stamp < s->looked ? stamp : s->looked));
	l->waited_ns = waited;
	l->waits_told = s->looked;
}

/* Puts the marks for the waits of all lanes. */
static void put_all_waits(struct ring_source *s, struct run *run)
{
	if (s->looked - s->waits_looked < clock_ticks(s->clock, WAITED_LOOK_NS))
		return;
	s->waits_looked = s->looked;
	for (uint32_t i = 0; i < s->active_count && run_fits(run, 1); i++)
		put_waits(s, run, s->active[i], false);
}

/* Returns the number of events that were begun and never written. A thread that moves to another
 * slice in the middle of an event writes the event there or nowhere. Which of the two is known only
 * when the thread has ended. */
static uint64_t ring_settle_missing(const struct ring_source *s, const struct run *run,
				    uint32_t index, uint64_t events)
{
	const struct ring_lane *l = &s->lane[index];

	if (l->left)
		return l->damaged ? ring_grown(events, l->read + l->gapped.events) : 0;
	if (!l->first)
		return ring_grown(events, l->read + l->gapped.events);
	return ring_grown(l->first + events, ring_thread_taken(s, run, index));
}

/* Puts two kinds of losses into the run: those after the last RING_LOST, and events that were begun
 * and never published. */
static void ring_settle_put_rest(struct ring_source *s, struct run *run, uint32_t index,
				 uint64_t events)
{
	struct ring_lane *l = &s->lane[index];
	struct ring_losses lost = ring_losses_read(&l->reader.slice->lost), rest;
	uint64_t from_ns = ring_stream_ns(s, l->last_stamp), to_ns = ring_stream_ns(s, s->looked);

	if (l->restart_awaited) {
		ring_lane_put_away(s, run, index, events, l->last_stamp);
		return;
	}
	ring_put_losses(run, index, &l->gapped, &lost, HEAPCAST__REASON__REASON_RING_FULL, from_ns,
			to_ns);
	rest = l->gapped;
	rest.events += ring_settle_missing(s, run, index, events);
	ring_put_losses(run, index, &l->gapped, &rest,
			l->damaged ? HEAPCAST__REASON__REASON_DAMAGED
				   : HEAPCAST__REASON__REASON_WRITER_DIED,
			from_ns, to_ns);
}

/* Puts the last account of a lane whose owner is gone into the run, and the end of its thread. */
static void ring_settle_settle(struct ring_source *s, struct run *run, uint32_t index)
{
	struct ring_lane *l = &s->lane[index];
	const struct ring_slice *slice = l->reader.slice;
	uint64_t events = __atomic_load_n(&slice->events, __ATOMIC_RELAXED);
	uint64_t not_sampled = __atomic_load_n(&slice->not_sampled, __ATOMIC_RELAXED);
	struct capture_counts more;

	ring_settle_put_rest(s, run, index, events);
	more = ring_settle_grow(l, events, not_sampled);
	run_put_counts(run, index, more.produced, more.not_sampled);
	put_waits(s, run, index, true);
	if (!l->left)
		run_put(run, RUN_ENDED, index, ring_stream_ns(s, l->last_stamp));
	l->settled = true;
}

/* Returns true if an earlier slice of the same thread is not settled yet. The agent may not know
 * yet that the thread has left that slice, because it looks at slices one after the other. */
static bool has_other(const struct ring_source *s, uint32_t index)
{
	const struct ring_lane *l = &s->lane[index];

	for (uint32_t i = 0; i < s->active_count; i++) {
		uint32_t other = s->active[i];

		if (other != index && ring_thread(s, other) == ring_thread(s, index) &&
		    (s->lane[other].left || s->lane[other].first < l->first))
			return true;
	}
	return false;
}

/* Writes the thread's account to its other slice, where an agent that takes over the ring finds it.
 * This slice is about to be freed with its part of the account. */
static void ring_settle_hand_over(const struct ring_source *s, uint32_t index)
{
	for (uint32_t i = 0; i < s->active_count; i++)
		if (s->active[i] != index && ring_thread(s, s->active[i]) == ring_thread(s, index))
			ring_account_lane(s, s->active[i]);
}

static bool is_over(const struct ring_source *s, uint32_t index)
{
	const struct ring_lane *l = &s->lane[index];

	return !l->settled && (l->dead || l->left) && !l->has_next &&
	       l->reader.tail == l->reader.head && (l->left || !has_other(s, index));
}

/* Frees the slice of a lane whose last account the stream has taken. */
static void free_lane(struct ring_source *s, struct run *run, uint32_t index)
{
	uint64_t *settled = &s->ring->header->settled; /* only the agent writes it */
	struct ring_lane *l = &s->lane[index];

	if (l->left)
		ring_settle_hand_over(s, index);
	else
		ring_account_end(s, index);
	run_put(run, RUN_LEFT, index, 0);
	__atomic_store_n(settled,
			 __atomic_load_n(settled, __ATOMIC_RELAXED) + l->counted +
				 l->counted_not_sampled,
			 __ATOMIC_RELEASE);
	ring_slice_free(l->reader.slice);
	l->active = false;
}

/* Iterates from the last lane to the first, because the last one replaces a lane that is freed. */
static void free_settled(struct ring_source *s, struct run *run)
{
	for (uint32_t i = s->active_count; i-- > 0 && run_fits(run, 1);) {
		uint32_t index = s->active[i];

		if (!s->lane[index].settled)
			continue;
		free_lane(s, run, index);
		s->active[i] = s->active[--s->active_count];
	}
}

/* A thread's last lane waits for the thread's other lanes (is_over), whose accounts must be taken
 * before. */
bool ring_reap(struct ring_source *s, struct run *run)
{
	put_all_waits(s, run);
	free_settled(s, run);
	for (uint32_t i = 0; i < s->active_count && run_fits(run, SETTLE_ITEMS); i++)
		if (is_over(s, s->active[i]))
			ring_settle_settle(s, run, s->active[i]);
	return run->count;
}

struct capture_counts ring_count_lane(struct capture_source *source, uint32_t lane)
{
	struct ring_source *s = (struct ring_source *)source;
	struct ring_lane *l = &s->lane[lane];
	uint64_t not_sampled;

	if (!l->active)
		return (struct capture_counts){0};
	not_sampled = __atomic_load_n(&l->reader.slice->not_sampled, __ATOMIC_ACQUIRE);
	return ring_settle_grow(l, __atomic_load_n(&l->reader.slice->events, __ATOMIC_ACQUIRE),
				not_sampled);
}

struct capture_totals ring_totals(const struct capture_source *source)
{
	const struct ring_source *s = (const struct ring_source *)source;
	const struct ring_header *h = s->ring->header;

	return (struct capture_totals){
		.samples_refused = __atomic_load_n(&h->samples_refused, __ATOMIC_RELAXED),
		.stacks_unknown = __atomic_load_n(&h->stacks_unknown, __ATOMIC_RELAXED),
		.namespaces = __atomic_load_n(&h->namespaces, __ATOMIC_RELAXED),
		.before = s->before,
		.unready = !s->ready,
	};
}

uint64_t ring_count_untold(const struct capture_source *source)
{
	const struct ring_source *s = (const struct ring_source *)source;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->ring->slice_count; i++) {
		const struct ring_lane *l = &s->lane[i];
		const struct ring_slice *slice = &s->ring->slices[i];

		if (__atomic_load_n(&slice->state, __ATOMIC_ACQUIRE) >= RING_SLICE_OWNED)
			sum += ring_grown(__atomic_load_n(&slice->events, __ATOMIC_RELAXED),
					  l->active ? l->counted : 0);
	}
	return sum;
}
