/*
 * Takes over a ring from another agent. An agent keeps its account in the ring, so that when it is
 * killed, another agent can continue the stream with the same threads and numbers. Between the two
 * is a gap, whose size is known exactly (struct ring_account, proto/ring.h).
 *
 *    the previous agent         no agent              this agent
 *    read, sent | read, not sent | written by the thread | RING_RESTART | whole stacks and modules
 *               `- thread_delivered + thread_lost        `- events
 *
 * The gap lies between the two marks. RING_RESTART says how many events the thread had begun, and
 * the account says how many of them went into batches. Records before it can't be decoded any more:
 * their stacks are differences to stacks that are lost. But they show which kinds of events were
 * lost. A thread that writes no RING_RESTART, because it is dead or blocked, is settled at its end.
 *
 * Events that were culled or held back when a batch was closed count as delivered here: they have
 * left the ring, and the collector finds out which of them arrived (proto/README.md, "Another
 * agent").
 *
 * All of this is untrusted, like the rest of the ring. Invalid data ends the attempt, or makes the
 * account wrong for this program only.
 */
#include <errno.h>
#include <string.h>

#include "agent/ring/ring_source.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define COUNT_MAX   ((uint64_t)1 << 56) /* no program begins so many events */
#define THREADS_MAX (1u << 20)		/* largest thread number that a collector accepts */

/* ---- keeping the account ---- */

static void ring_takeup_store(uint64_t *to, uint64_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELAXED);
}

/* A number that was given out is never given out again, though its thread may be over before the
 * next batch leaves. */
static void account_number(struct ring_account *a, uint32_t number)
{
	if (a->threads < number)
		a->threads = number;
}

/* Tells whether a thread claimed the lane after this slice of its own. While it is sampled, it may
 * have recorded nothing between the two. */
static bool lane_is_later(const struct ring_lane *lane, uint64_t first, uint64_t claimed)
{
	return lane->first != first ? lane->first > first : lane->claimed > claimed;
}

/* Returns how many events of the lane's thread were skipped in slices before this one, as far as
 * the thread's counts know. They have what was skipped in later slices, too. */
static uint64_t skipped_earlier(const struct ring_source *s, uint32_t index,
				const struct thread *thread)
{
	const struct ring_lane *l = &s->lane[index];
	uint64_t since = l->counted_not_sampled;

	for (uint32_t i = 0; thread->lanes > 1 && i < s->active_count; i++)
		if (ring_thread(s, s->active[i]) == thread &&
		    lane_is_later(&s->lane[s->active[i]], l->first, l->claimed))
			since += s->lane[s->active[i]].counted_not_sampled;
	return ring_grown(thread->counts.not_sampled, since);
}

void ring_account_lane(const struct ring_source *s, uint32_t index)
{
	struct ring_slice *slice = &s->ring->slices[index];
	const struct thread *thread = ring_thread(s, index);
	struct ring_account *a = &s->ring->header->account;

	if (!thread) /* the stream has taken nothing of this lane yet */
		return;
	account_number(a, thread->number);
	ring_takeup_store(&slice->thread_delivered,
			  thread->counts.delivered + thread->counts.culled + thread->held);
	ring_takeup_store(&slice->thread_lost, thread->counts.lost);
	ring_takeup_store(&slice->thread_not_sampled, skipped_earlier(s, index, thread));
	__atomic_store_n(&slice->thread, thread->number, __ATOMIC_RELEASE);
}

void ring_account_write(struct capture_source *source, const struct capture_account *account)
{
	const struct ring_source *s = (struct ring_source *)source;
	struct ring_account *a = &s->ring->header->account;

	for (uint32_t i = 0; i < s->active_count; i++)
		ring_account_lane(s, s->active[i]);
	ring_takeup_store(&a->watermark_ns, account->watermark_ns);
	ring_takeup_store(&a->stacks_cut, account->stacks_cut);
	ring_takeup_store(&a->delivered[0], account->allocations);
	ring_takeup_store(&a->delivered[1], account->frees);
	ring_takeup_store(&a->delivered[2], account->bytes);
	a->lost = (struct ring_losses){account->lost.events, account->lost.allocations,
				       account->lost.frees, account->lost.bytes};
	a->no_slice = s->no_slice;
	a->image = account->image;
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

void ring_account_end(struct ring_source *s, uint32_t index)
{
	struct ring_account *a = &s->ring->header->account;
	const struct thread *thread = ring_thread(s, index);
	const struct thread_counts *c = &thread->counts;
	uint32_t turn = __atomic_load_n(&a->turn, __ATOMIC_RELAXED);
	struct ring_gone next = a->gone[turn & 1];

	account_number(a, thread->number);
	next.produced += c->produced;
	next.delivered += c->delivered + c->culled + thread->held;
	next.lost += c->lost;
	next.not_sampled += c->not_sampled;
	next.slice = index + 1;
	next.generation = __atomic_load_n(&s->ring->slices[index].generation, __ATOMIC_RELAXED);
	a->gone[(turn + 1) & 1] = next;
	__atomic_store_n(&a->turn, turn + 1, __ATOMIC_RELEASE);
}

/* ---- taking over ---- */

/* The thread's part of a slice, read once. */
struct part {
	uint32_t thread;
	uint32_t tid;
	uint64_t delivered, lost, not_sampled, first, claimed;
};

static bool ring_takeup_is_taken(const struct ring_slice *slice)
{
	uint32_t state = __atomic_load_n(&slice->state, __ATOMIC_ACQUIRE);

	return state == RING_SLICE_OWNED || state == RING_SLICE_LEFT;
}

static struct part ring_takeup_part_of(const struct ring_slice *slice)
{
	return (struct part){
		.thread = __atomic_load_n(&slice->thread, __ATOMIC_ACQUIRE),
		.tid = __atomic_load_n(&slice->owner_tid, __ATOMIC_RELAXED),
		.delivered = __atomic_load_n(&slice->thread_delivered, __ATOMIC_RELAXED),
		.lost = __atomic_load_n(&slice->thread_lost, __ATOMIC_RELAXED),
		.not_sampled = __atomic_load_n(&slice->thread_not_sampled, __ATOMIC_RELAXED),
		.first = __atomic_load_n(&slice->thread_first, __ATOMIC_RELAXED),
		.claimed = __atomic_load_n(&slice->claim_stamp, __ATOMIC_RELAXED),
	};
}

/* Returns true if no more events were delivered than the thread has begun. A left slice is exempt:
 * the thread has continued elsewhere. */
static bool part_sound(const struct part *p, const struct ring_slice *slice, uint32_t threads)
{
	uint64_t events = __atomic_load_n(&slice->events, __ATOMIC_RELAXED);
	bool left = __atomic_load_n(&slice->state, __ATOMIC_RELAXED) == RING_SLICE_LEFT;

	return p->thread <= threads && p->delivered < COUNT_MAX && p->lost < COUNT_MAX &&
	       p->not_sampled < COUNT_MAX && p->first < COUNT_MAX && events < COUNT_MAX &&
	       (left || p->delivered + p->lost <= p->first + events);
}

/* A thread that moves has two slices for a moment. Returns true if another slice of the thread has
 * larger counts, which then are used. */
static bool counted_elsewhere(const struct ring_source *s, uint32_t index, const struct part *p)
{
	for (uint32_t i = 0; i < s->ring->slice_count; i++) {
		const struct ring_slice *slice = &s->ring->slices[i];
		uint64_t sum;

		if (i == index || !ring_takeup_is_taken(slice) || slice->thread != p->thread)
			continue;
		sum = slice->thread_delivered + slice->thread_lost;
		if (sum > p->delivered + p->lost || (sum == p->delivered + p->lost && i < index))
			return true;
	}
	return false;
}

static bool gone_sound(const struct ring_gone *g)
{
	return g->produced < COUNT_MAX && g->delivered < COUNT_MAX && g->lost < COUNT_MAX &&
	       g->not_sampled < COUNT_MAX;
}

static bool losses_sound(const struct ring_losses *l)
{
	return l->events < COUNT_MAX && l->allocations < COUNT_MAX && l->frees < COUNT_MAX &&
	       l->bytes < COUNT_MAX;
}

static int sum_slices(struct ring_source *s, struct ring_inheritance *in)
{

	for (uint32_t i = 0; i < s->ring->slice_count; i++) {
		struct ring_slice *slice = &s->ring->slices[i];
		struct part p = ring_takeup_part_of(slice);

		if (!ring_takeup_is_taken(slice) || !p.thread)
			continue;
		if (in->gone.slice == i + 1 &&
		    in->gone.generation == __atomic_load_n(&slice->generation, __ATOMIC_RELAXED)) {
			ring_slice_free(slice);
			continue;
		}
		if (!part_sound(&p, slice, in->account.threads))
			return -EBADMSG;
		if (counted_elsewhere(s, i, &p))
			continue;
		in->delivered += p.delivered;
		in->lost += p.lost;
	}
	return 0;
}

static int inherit(struct ring_source *s, struct ring_inheritance *in)
{
	struct ring_account *a = &in->account;

	*in = (struct ring_inheritance){.account = s->ring->header->account};
	in->gone = a->gone[a->turn & 1];
	in->delivered = in->gone.delivered;
	in->lost = in->gone.lost + a->no_slice.events;
	if (!gone_sound(&in->gone) || !losses_sound(&a->lost) || !losses_sound(&a->no_slice) ||
	    a->start_ns > clock_monotonic_ns() || a->threads > THREADS_MAX ||
	    a->incarnation >= RING_INCARNATION_MAX)
		return -EBADMSG;
	return sum_slices(s, in);
}

int ring_source_adopt(struct ring_source *s, int lock, const uint8_t *mark,
		      struct ring_inheritance *ret)
{
	struct ring_header *h;
	int r = ring_memory_adopt(s->ring, s->shape, lock);

	if (r < 0)
		return r;
	h = s->ring->header;
	if (memcmp(h->home.mark, mark, RING_MARK_SIZE) != 0)
		r = -EXDEV;
	else
		r = __atomic_load_n(&h->detached, __ATOMIC_RELAXED) ? -ESTALE : inherit(s, ret);
	if (r < 0) {
		ring_memory_close(s->ring);
		return r;
	}
	ring_source_clear(s, ret->account.start_ns);
	s->incarnation = ret->account.incarnation + 1;
	s->taken_up = false;
	s->no_slice = ret->account.no_slice;
	s->away_ns = s->no_slice_ns = ret->account.watermark_ns;
	s->modules_tail = __atomic_load_n(&h->modules_head, __ATOMIC_ACQUIRE) & ~UINT64_C(7);
	return 0;
}

void ring_source_begin(struct ring_source *s)
{
	struct ring_header *h = s->ring->header;

	__atomic_store_n(&h->modules_tail, s->modules_tail, __ATOMIC_RELEASE);
	__atomic_store_n(&h->sleeping, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&h->account.incarnation, s->incarnation, __ATOMIC_RELEASE);
	__atomic_fetch_add(&h->control, 1, __ATOMIC_RELEASE);
}

/* Restores the counts of events before the thread's oldest slice: no counter of the program
 * includes them any more. `known` is the thread, if another lane of it was taken over before. */
static void count_earlier(const struct ring_source *s, const struct part *p,
			  const struct thread *known, struct run_item *item)
{
	item->thread.produced = known ? 0 : p->first + p->not_sampled;
	item->thread.not_sampled = known ? 0 : p->not_sampled;
	for (uint32_t i = 0; known && i < s->active_count; i++) {
		const struct ring_lane *other = &s->lane[s->active[i]];
		uint64_t not_sampled = ring_grown(other->earlier_not_sampled, p->not_sampled);

		if (ring_thread(s, s->active[i]) != known ||
		    !lane_is_later(other, p->first, p->claimed))
			continue;
		item->thread.produced -= other->first - p->first + not_sampled;
		item->thread.not_sampled -= not_sampled;
	}
}

bool ring_lane_take_up(struct ring_source *s, struct run *run, uint32_t index)
{
	const struct ring_slice *slice = &s->ring->slices[index];
	struct part p = ring_takeup_part_of(slice);
	struct ring_lane *l = &s->lane[index];
	const struct thread *thread = threads_find(s->source.threads, p.tid);
	struct run_item *item;

	if (l->active || !ring_takeup_is_taken(slice) || !p.thread)
		return false;
	/* It was valid at the first look, so the program has changed it. */
	if (!part_sound(&p, slice, THREADS_MAX))
		p = (struct part){.tid = p.tid};
	item = run_put(run, RUN_RESUME, index, 0);
	item->thread.tid = p.tid;
	item->thread.number = p.thread;
	item->thread.delivered = p.delivered;
	item->thread.lost = p.lost;
	count_earlier(s, &p, thread && thread->number == p.thread ? thread : NULL, item);
	ring_lane_begin(s, index);
	l->tid = p.tid;
	l->first = p.first;
	l->earlier_not_sampled = p.not_sampled;
	return true;
}

/* ---- the gap ---- */

static void add_event(struct ring_losses *to, const struct ring_record *rec)
{
	bool moved = rec->class == EVENT_CLASS_REALLOCATION;
	bool is_free = rec->class == EVENT_CLASS_FREE, is_new;
	struct ring_event more;

	ring_reader_event(rec, &more);
	is_new = rec->class == EVENT_CLASS_ALLOCATION || (moved && more.address);
	to->events++;
	to->frees += is_free || (moved && more.old_address && more.address);
	to->allocations += is_new;
	to->bytes += is_new ? more.size : 0;
}

static void add_losses(struct ring_losses *to, const struct ring_losses *more)
{
	to->events += more->events;
	to->allocations += more->allocations;
	to->frees += more->frees;
	to->bytes += more->bytes;
}

void ring_lane_put_away(struct ring_source *s, struct run *run, uint32_t index, uint64_t events,
			uint64_t stamp)
{
	struct ring_lane *l = &s->lane[index];
	uint64_t to_ns = ring_stream_ns(s, stamp);
	struct run_losses lost = {
		.events = ring_grown(l->first + events, ring_thread_taken(s, run, index)),
		.allocations = l->announced.allocations,
		.frees = l->announced.frees,
		.bytes = l->announced.bytes,
	};

	if (!lost.events)
		return;
	run_put_gap(run, index, &lost, HEAPCAST__REASON__REASON_AGENT_GONE,
		    s->away_ns < to_ns ? s->away_ns : to_ns, to_ns);
	l->announced = (struct ring_losses){0};
}

static void ring_takeup_restart(struct ring_source *s, struct run *run, uint32_t index)
{
	struct ring_lane *l = &s->lane[index];
	uint64_t events = l->next.value;

	ring_lane_put_away(s, run, index, events, l->next.stamp);
	l->announced = l->gapped = l->next.lost;
	l->read = ring_grown(events, l->next.lost.events);
	l->epoch = 0;
	l->restart_awaited = false;
	l->restarts = true;
}

void ring_lane_drop(struct ring_source *s, struct run *run, uint32_t index)
{
	struct ring_lane *l = &s->lane[index];

	if (l->next.class != EVENT_CLASS_NONE) {
		add_event(&l->announced, &l->next);
	} else if (l->next.kind == RING_LOST) {
		add_losses(&l->announced, &l->next.lost);
	} else if (l->next.kind == RING_RESTART && l->next.incarnation == s->incarnation) {
		ring_takeup_restart(s, run, index);
	}
}
