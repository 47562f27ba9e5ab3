/* Merges the slices of a ring. See ring_source.h. */
#include "agent/ring/ring_source.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>

#include "agent/core/target.h"
#include "agent/core/threads.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define STALL_NS      50000000
#define STALL_FULL_NS 1000000	 /* while some slice fills up */
#define FUTURE_NS     1000000000 /* largest difference by which a stamp may be in the future */
#define SEARCH_NS     10000000
#define OWNER_SIZE    64

/* Reads the program's part of the header once the program has filled it in. */
static void ring_source_read_header(struct ring_source *s)
{
	const struct ring_header *h = s->ring->header;
	uint32_t order = __atomic_load_n(&h->byte_order, __ATOMIC_ACQUIRE);
	uint32_t kind = __atomic_load_n(&h->clock, __ATOMIC_RELAXED);
	uint32_t word = __atomic_load_n(&h->owner_word_offset, __ATOMIC_RELAXED);

	s->ready = order != 0;
	s->before = __atomic_load_n(&h->before, __ATOMIC_RELAXED);
	s->foreign = order && order != RING_ORDER_MARK;
	s->owner_word = word <= OWNER_SIZE - 4 ? word & ~3u : 0;
	s->clock =
		kind != RING_CLOCK_MONOTONIC && kind == s->counter->kind ? s->counter : &s->plain;
}

uint64_t ring_thread_taken(const struct ring_source *s, const struct run *run, uint32_t index)
{
	const struct thread *thread = ring_thread(s, index);
	uint64_t taken = thread ? thread_taken(thread) : 0;

	for (uint32_t i = run->taken; i < run->count; i++) {
		const struct run_item *item = &run->item[i];

		if (item->lane == RUN_NO_LANE ||
		    (item->lane != index && (!thread || ring_thread(s, item->lane) != thread)))
			continue;
		taken += item->kind == RUN_EVENT;
		if (item->kind == RUN_GAP)
			taken += item->gap.lost.events;
	}
	return taken;
}

void ring_lane_damaged(struct ring_source *s, const struct run *run, uint32_t index)
{
	struct ring_lane *l = &s->lane[index];

	s->records_damaged++;
	l->damaged = true;
	if (l->restart_awaited) {
		l->read = ring_grown(ring_thread_taken(s, run, index), l->first);
		l->announced = (struct ring_losses){0};
		l->restart_awaited = false;
	}
	l->has_next = false;
	ring_reader_resync(&l->reader);
	l->restarts = true;
}

void ring_lane_begin(struct ring_source *s, uint32_t index)
{
	struct ring_slice *slice = &s->ring->slices[index];
	const struct ring_extent *extent = &s->ring->extent[index];
	struct ring_lane *l = &s->lane[index];
	uint32_t incarnation = __atomic_load_n(&slice->incarnation, __ATOMIC_RELAXED);

	*l = (struct ring_lane){
		.active = true,
		.tid = __atomic_load_n(&slice->owner_tid, __ATOMIC_RELAXED),
		.restarts = true,
		.last_stamp = __atomic_load_n(&slice->claim_stamp, __ATOMIC_RELAXED),
		.first = __atomic_load_n(&slice->thread_first, __ATOMIC_RELAXED),
		.claimed = __atomic_load_n(&slice->claim_stamp, __ATOMIC_RELAXED),
		.restart_awaited = s->incarnation > 1 && incarnation != s->incarnation,
	};
	s->active[s->active_count++] = index;
	ring_reader_init(&l->reader, slice, (uint8_t *)s->ring->header + extent->offset,
			 extent->words);
	if (l->restart_awaited) {
		l->waited_ns = __atomic_load_n(&slice->waited_ns, __ATOMIC_ACQUIRE);
		l->reader.tail = l->reader.head = l->reader.told =
			__atomic_load_n(&slice->tail, __ATOMIC_RELAXED);
	}
}

static void lane_claim(struct ring_source *s, struct run *run, uint32_t index)
{
	const struct ring_slice *slice = &s->ring->slices[index];
	uint64_t claimed = __atomic_load_n(&slice->claim_stamp, __ATOMIC_RELAXED);
	struct run_item *item = run_put(run, RUN_THREAD, index, ring_stream_ns(s, claimed));

	item->thread.tid = __atomic_load_n(&slice->owner_tid, __ATOMIC_RELAXED);
	if (__atomic_load_n(&slice->thread_first, __ATOMIC_RELAXED))
		item->flags = RUN_CONTINUES;
	memcpy(item->thread.name, slice->name, sizeof(item->thread.name));
	item->thread.name[sizeof(item->thread.name) - 1] = 0;
	ring_lane_begin(s, index);
}

void ring_slice_free(struct ring_slice *slice)
{
	slice->head = slice->entered = slice->events = slice->not_sampled = 0;
	slice->lost = (struct ring_losses){0};
	slice->owner_tid = 0;
	slice->claim_stamp = slice->thread_first = 0;
	slice->thread = 0;
	slice->thread_delivered = slice->thread_lost = slice->thread_not_sampled = 0;
	memset(slice->owner, 0, sizeof(slice->owner));
	slice->tail = 0;
	slice->wanted = 0;
	__atomic_store_n(&slice->state, RING_SLICE_FREE, __ATOMIC_RELEASE);
}

/* Lowers the limit and the watermark to what this lane may still publish. */
static void lane_bound(struct ring_source *s, const struct ring_lane *l, uint64_t entered,
		       uint64_t now)
{
	uint64_t bound = entered && entered < now ? entered : now;

	if (l->dead || l->left)
		return;
	if (bound < s->watermark)
		s->watermark = bound;
	if (entered && clock_ns(s->clock, s->looked) >
			       clock_ns(s->clock, bound) + (s->filling ? STALL_FULL_NS : STALL_NS))
		return;
	if (bound < s->limit)
		s->limit = bound;
}

/* Returns true if the owner is dead: the kernel has set its flag, or, for an emulated program,
 * /proc no longer has the thread. The latter is checked once per search. */
static bool owner_gone(const struct ring_source *s, const struct ring_lane *l)
{
	uint32_t *word = (uint32_t *)(void *)(l->reader.slice->owner + s->owner_word);

	if (__atomic_load_n(word, __ATOMIC_ACQUIRE) & FUTEX_OWNER_DIED)
		return true;
	if (!s->emulated ||
	    __atomic_load_n(&s->ring->header->pid, __ATOMIC_RELAXED) != (uint32_t)s->emulated)
		return false;
	return l->dead || (s->looks_itself && !target_thread_exists(s->emulated, (pid_t)l->tid));
}

static bool ring_source_is_known(const struct ring_source *s, uint32_t tid)
{
	for (uint32_t i = 0; i < s->active_count; i++)
		if (s->lane[s->active[i]].tid == tid)
			return true;
	return threads_find(s->source.threads, tid) != NULL;
}

/* Returns true if the slice belongs to a thread that started in another slice, which was claimed
 * after the search had passed it. */
static bool is_ahead(const struct ring_source *s, const struct ring_slice *slice)
{

	return !s->takes_ahead && __atomic_load_n(&slice->thread_first, __ATOMIC_RELAXED) &&
	       !ring_source_is_known(s, __atomic_load_n(&slice->owner_tid, __ATOMIC_RELAXED));
}

/* Returns false if the run is full. */
static bool lane_look(struct ring_source *s, struct run *run, uint32_t index, bool final,
		      uint64_t now)
{
	struct ring_slice *slice = &s->ring->slices[index];
	struct ring_lane *l = &s->lane[index];
	uint32_t state = __atomic_load_n(&slice->state, __ATOMIC_ACQUIRE);
	uint64_t entered;

	if (!l->active) {
		if (state == RING_SLICE_CLAIMING && final)
			ring_slice_free(slice);
		if (state != RING_SLICE_OWNED && state != RING_SLICE_LEFT)
			return true;
		if (is_ahead(s, slice)) {
			s->ahead++;
			return true;
		}
		if (!run_fits(run, 1))
			return false;
		lane_claim(s, run, index);
	}
	s->moved |= !l->left && state == RING_SLICE_LEFT;
	l->left = state == RING_SLICE_LEFT;
	l->dead = final || owner_gone(s, l);
	entered = __atomic_load_n(&slice->entered, __ATOMIC_ACQUIRE);
	if (ring_reader_look(&l->reader) < 0)
		ring_lane_damaged(s, run, index);
	lane_bound(s, l, entered, now);
	return true;
}

/* Looks at all slices. Repeats the search while it meets a thread's later slice before an earlier
 * one. If a thread's first slice does not turn up, takes its later slices without it. */
static bool ring_source_search(struct ring_source *s, struct run *run, bool final, uint64_t now)
{
	uint32_t known;

	s->takes_ahead = false;
	do {
		known = s->active_count;
		s->ahead = 0;
		for (uint32_t i = 0; i < s->ring->slice_count; i++)
			if (!lane_look(s, run, i, final, now))
				return false;
		s->takes_ahead = s->active_count == known;
	} while (s->ahead);
	return true;
}

static bool look_at_active(struct ring_source *s, struct run *run, bool final, uint64_t now)
{
	for (uint32_t i = 0; i < s->active_count; i++)
		if (!lane_look(s, run, s->active[i], final, now))
			return false;
	return true;
}

/* Takes over the lanes that the previous agent left, one in a run: the next one may belong to the
 * same thread. Returns false if the run must be taken first. */
static bool take_up(struct ring_source *s, struct run *run)
{
	for (uint32_t i = 0; !s->taken_up && i < s->ring->slice_count; i++)
		if (ring_lane_take_up(s, run, i))
			return false;
	s->taken_up = true;
	return true;
}

/* Hundreds of slices may be free. The agent searches them for new owners when `claims` has changed,
 * and every SEARCH_NS in any case. (`claims` is read after the clock. So a claim that it does not
 * include has only later stamps, except for the slack.) Returns false if the run must be taken
 * before the next try. */
static bool look_at_slices(struct ring_source *s, struct run *run, bool final, uint64_t now)
{
	uint32_t claims = __atomic_load_n(&s->ring->header->claims, __ATOMIC_ACQUIRE);
	uint64_t since = s->looked - s->searched;
	bool done;

	if (!take_up(s, run))
		return false;
	s->moved = false;
	if (!final && claims == s->claims && since < clock_ticks(s->clock, SEARCH_NS)) {
		done = look_at_active(s, run, final, now);
		/* Find the slice where a thread continues before its old slice is freed. */
		if (!done || !s->moved)
			return done;
	}
	s->looks_itself = true;
	done = ring_source_search(s, run, final, now);
	s->looks_itself = false;
	if (done) {
		s->claims = claims;
		s->searched = s->looked;
	}
	return done;
}

/* Returns true if only one thread has a slice. Then no record can come that belongs before its
 * records, so the agent need not wait for the slack. A thread that wrote an earlier record, in the
 * program's own order, must have claimed a slice and raised `claims` first; `claims` is read after
 * the head, so it would show that. Without this shortcut a slice of 8 KiB fills in a third of the
 * slack, and the program waits for the clock. */
static bool alone(const struct ring_source *s)
{
	return s->active_count == 1 &&
	       __atomic_load_n(&s->ring->header->claims, __ATOMIC_ACQUIRE) == s->claims;
}

/* Puts the losses of threads without a slice into the run, as they were at the look. */
static void put_no_slice(struct ring_source *s, struct run *run, const struct ring_losses *seen)
{
	uint64_t now_ns = ring_stream_ns(s, s->looked);

	ring_put_losses(run, RUN_NO_LANE, &s->no_slice, seen, HEAPCAST__REASON__REASON_NO_SLICE,
			s->no_slice_ns < now_ns ? s->no_slice_ns : now_ns, now_ns);
	s->no_slice_ns = now_ns;
}

/* Returns the smallest stamp that a new record can have. If the program uses ticks as stamps, that
 * is the current tick, which the agent advances to the clock. Otherwise it is the clock minus the
 * slack. */
static uint64_t least_stamp(struct ring_source *s)
{
	struct ring_header *h = s->ring->header;
	uint64_t slack = clock_ticks(s->clock, RING_STAMP_SLACK_NS), tick;
	uint64_t now = s->looked > slack ? s->looked - slack : 0;

	if (!(__atomic_load_n(&h->strict, __ATOMIC_ACQUIRE) & RING_STRICT_TICKS))
		return now;
	tick = ring_source_lift(&h->tick, s->looked);
	return tick < now ? tick : now;
}

/* Returns false if the run must be taken before the next try. */
static bool ring_source_look(struct ring_source *s, struct run *run, bool final)
{
	struct ring_losses no_slice;
	uint64_t now;

	if (!s->ready)
		ring_source_read_header(s);
	if (!s->ready || s->foreign)
		return true;
	no_slice = ring_losses_read(&s->ring->header->no_slice);
	s->looked = clock_stamp(s->clock);
	if (clock_strayed(s->clock, s->looked)) { /* the machine has slept */
		clock_update(s->counter);
		s->looked = clock_stamp(s->clock);
	}
	s->tick_length = clock_ticks(s->clock, RUN_TICK_NS);
	s->future = s->looked + clock_ticks(s->clock, FUTURE_NS);
	now = least_stamp(s);
	s->watermark = now;
	s->limit = final ? UINT64_MAX : now;
	if (!look_at_slices(s, run, final, now) || !run_fits(run, 1))
		return false;
	if (alone(s))
		s->limit = UINT64_MAX;
	put_no_slice(s, run, &no_slice);
	return true;
}

/* Returns true if the lane has a record that this round may take. */
static bool lane_ready(struct ring_source *s, const struct run *run, uint32_t index)
{
	return (s->lane[index].has_next || ring_lane_next(s, run, index)) &&
	       s->lane[index].next.stamp <= s->limit;
}

/* Restores the heap's order below `at`. The first test is a shortcut for two lanes, the usual case:
 * most programs have one or two threads that allocate. */
static void sift_down(struct ring_source *s, uint32_t at)
{
	if (s->heap_count == 2 && s->lane[s->heap[1]].next.stamp >= s->lane[s->heap[0]].next.stamp)
		return;
	for (;;) {
		uint32_t least = at, child = 2 * at + 1, swap = s->heap[at];

		for (uint32_t c = child; c < child + 2 && c < s->heap_count; c++)
			if (s->lane[s->heap[c]].next.stamp < s->lane[s->heap[least]].next.stamp)
				least = c;
		if (least == at)
			return;
		s->heap[at] = s->heap[least];
		s->heap[least] = swap;
		at = least;
	}
}

static void heap_build(struct ring_source *s, const struct run *run)
{
	s->heap_count = 0;
	if (!s->ready || s->foreign)
		return;
	for (uint32_t i = 0; i < s->active_count; i++)
		if (lane_ready(s, run, s->active[i]))
			s->heap[s->heap_count++] = s->active[i];
	for (uint32_t i = s->heap_count / 2; i-- > 0;)
		sift_down(s, i);
}

/* Takes records of the first lane in the heap until another lane has an older stamp. Returns false
 * if the lane has more, but the run must be taken first. */
static bool merge_front(struct ring_source *s, struct run *run)
{
	uint32_t index = s->heap[0];
	struct ring_lane *l = &s->lane[index];
	uint64_t until = s->limit;

	for (uint32_t c = 1; c < 3 && c < s->heap_count; c++)
		if (s->lane[s->heap[c]].next.stamp < until)
			until = s->lane[s->heap[c]].next.stamp;
	ring_take_records(s, run, index, until);
	if (!l->has_next || l->next.stamp > s->limit)
		s->heap[0] = s->heap[--s->heap_count];
	else if (l->next.stamp <= until)
		return false;
	sift_down(s, 0);
	return true;
}

/* Gives the space of the last run's records back to their writers: an eighth of a slice at a time,
 * and the rest when nothing more is to be taken in this round. */
static void release_read(struct ring_source *s)
{
	for (uint32_t i = 0; i < s->read_count; i++) {
		struct ring_lane *l = &s->lane[s->read_on[i]];

		l->read_on = false;
		if (!l->has_next || l->next.stamp > s->limit ||
		    l->reader.tail - l->reader.told > l->reader.words / 8)
			ring_reader_release(&l->reader);
	}
	s->read_count = 0;
}

/* Returns true if some slice is more than half full, or if a slice was claimed since the last look.
 * A claimed slice may be full, too, and its thread wakes the agent only once. */
static bool ring_filling(const struct capture_source *source)
{
	const struct ring_source *s = (const struct ring_source *)source;

	if (s->ready && !s->foreign &&
	    __atomic_load_n(&s->ring->header->claims, __ATOMIC_ACQUIRE) != s->claims)
		return true;
	for (uint32_t i = 0; i < s->active_count; i++) {
		const struct ring_reader *r = &s->lane[s->active[i]].reader;

		if (__atomic_load_n(&r->slice->head, __ATOMIC_RELAXED) - r->tail > r->words / 2)
			return true;
	}
	return false;
}

/* Fills the run from the current phase. Returns true if the phase is over, and false if the run
 * must be taken first. */
static bool ring_source_step(struct ring_source *s, struct run *run, bool final)
{
	switch (s->phase) {
	case RING_LOOK:
		s->round_final = final;
		if (!ring_source_look(s, run, final))
			return false;
		ring_look_at_modules(s);
		return true;
	case RING_MODULES:
		/* A module is the only item of its run, because the source has memory for one. */
		if (run->count || ring_read_module(s, run))
			return false;
		heap_build(s, run);
		return true;
	case RING_MERGE:
		while (s->heap_count)
			if (!run_fits(run, 1) || s->read_count == RUN_ITEMS || !merge_front(s, run))
				return false;
		return true;
	case RING_REAP:
		return !run->count && !ring_reap(s, run);
	}
	return true;
}

static void ring_fill(struct capture_source *source, bool final, struct run *run)
{
	struct ring_source *s = (struct ring_source *)source;

	release_read(s);
	for (; ring_source_step(s, run, final); s->phase++) {
		if (s->phase != RING_REAP)
			continue;
		s->phase = RING_LOOK;
		s->filling = ring_filling(source);
		run->complete = true;
		run->more = final ? !s->round_final : s->filling;
		run->until_ns = s->ready && !s->foreign ? ring_stream_ns(s, s->watermark) : 0;
		return;
	}
}

static void ring_retire(struct capture_source *source)
{
	(void)source; /* ring_close frees the memory at once */
}

static void ring_close(struct capture_source *source)
{
	ring_source_close((struct ring_source *)source);
}

static const struct capture_ops ring_ops = {
	.kind = HEAPCAST__CAPTURE__CAPTURE_PRELOAD,
	.fill = ring_fill,
	.count = ring_count_lane,
	.totals = ring_totals,
	.filling = ring_filling,
	.turn = ring_turn,
	.seal = ring_account_write,
	.begin_image = ring_begin_image,
	.obey = ring_obey,
	.allow_saved = ring_allow_saved,
	.detach = ring_detach,
	.uncounted = ring_count_untold,
	.retire = ring_retire,
	.close = ring_close,
	.need = ring_need,
	.grow = ring_grow,
	.grown = ring_hear_wants,
	.sleep = ring_sleep,
	.wake = ring_wake,
	.ask = ring_ask,
	.filtered = ring_filtered,
	.answer = ring_answer,
};

static size_t aligned(size_t size)
{
	return (size + 63) & ~(size_t)63;
}

size_t ring_source_bytes(const struct ring_shape *shape)
{
	size_t slices = ring_slice_count(shape, shape->steps);

	return aligned(ring_memory_struct_size(shape)) +
	       aligned(slices * sizeof(struct ring_lane)) + 2 * aligned(slices * sizeof(uint32_t));
}

int ring_source_init(struct ring_source *s, struct arena *arena, const struct ring_shape *shape,
		     struct clock *counter)
{
	uint32_t slices = ring_slice_count(shape, shape->steps);

	*s = (struct ring_source){
		.source.ops = &ring_ops, .shape = shape, .counter = counter, .clock = counter};
	s->plain.kind = RING_CLOCK_MONOTONIC;
	s->ring = arena_take(arena, ring_memory_struct_size(shape));
	s->lane = arena_take(arena, slices * sizeof(*s->lane));
	s->active = arena_take(arena, slices * sizeof(*s->active));
	s->heap = arena_take(arena, slices * sizeof(*s->heap));
	if (!s->ring || !s->lane || !s->active || !s->heap)
		return -ENOMEM;
	s->ring->fd = s->ring->lock = -1;
	return 0;
}

void ring_source_prepare(struct ring_source *s)
{
	ring_memory_prepare(s->ring, s->shape);
}

void ring_source_clear(struct ring_source *s, uint64_t start_ns)
{
	memset(s->lane, 0, s->ring->slice_count * sizeof(*s->lane));
	s->heap_count = s->active_count = s->read_count = 0;
	s->phase = RING_LOOK;
	s->ready = s->foreign = s->filling = false;
	s->start_ns = start_ns;
	s->modules_tail = s->records_damaged = 0;
	s->no_slice = (struct ring_losses){0};
	s->no_slice_ns = 0;
	s->incarnation = 1;
	s->taken_up = true;
	s->away_ns = s->back = 0;
	s->emulated = 0;
	s->looks_itself = false;
	s->before = s->wants_heard = s->wants_seen = 0;
}

int ring_source_open(struct ring_source *s, const struct ring_settings *settings, uint64_t start_ns)
{
	struct ring_settings complete = *settings;
	int r;

	complete.counter = s->counter->kind;
	r = ring_memory_open(s->ring, s->shape, &complete);
	if (r)
		return r;
	ring_source_clear(s, start_ns);
	s->emulated = settings->emulated;
	return 0;
}

void ring_source_close(struct ring_source *s)
{
	if (s->ring)
		ring_memory_close(s->ring);
}
