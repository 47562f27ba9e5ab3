/*
 * Takes the items of a source's run into the stream (agent/core/run.h). Events become nodes and
 * columns. Gaps and marks go into lists of the batch. stream.c has the life of a stream.
 *
 * For millions of events a second, most of the work is finding the node of (parent, program
 * counter). The lane's path gives the parent, and the stack table's cache the node. Module, place
 * and node are looked up only after a cache miss.
 */
#include <errno.h>
#include <string.h>

#include "agent/stream/stream.h"
#include "agent/stream/stream_nodes.h"
#include "heapcast.pb-c.h"
#include "proto/columns_put.h"
#include "base/ban.h"

#define NO_ROOM UINT32_MAX /* no node has this number */

/* The nodes of a lane's numbered stacks (RUN_SAVE); 0: the number is void. */
static uint32_t *saved_nodes(struct stream *s, uint32_t lane)
{
	return s->saved.node + (size_t)lane * RUN_SAVED_MAX;
}

static void forget_saved(struct stream *s, uint32_t lane)
{
	memset(saved_nodes(s, lane), 0, RUN_SAVED_MAX * sizeof(uint32_t));
}

/* ---- threads ---- */

/* Names a thread. The kernel's name counts more than the name that the program has reported. */
static void name_thread(struct stream *s, struct thread *t, const char *said)
{
	char name[THREAD_NAME_MAX];

	if (target_thread_name(s->target.pid, (pid_t)t->tid, name) == 0)
		threads_name(&s->threads, t, name);
	if (!*t->name && said)
		threads_name(&s->threads, t, said);
}

static void enter_lane(struct stream *s, uint32_t lane, struct thread *t)
{
	if (s->lane_thread[lane])
		s->lane_thread[lane]->lanes--;
	s->lane_thread[lane] = t;
	t->lanes++;
}

/* Like the other functions of items: returns false if the batch must be closed first. */
static bool take_thread(struct stream *s, const struct run_item *item)
{
	struct thread *t =
		item->flags & RUN_CONTINUES ? threads_find(&s->threads, item->thread.tid) : NULL;

	if (!t) {
		if (s->threads.news >= BATCH_THREADS_MAX)
			return false;
		t = threads_add(&s->threads, item->thread.tid, item->time_ns);
		s->grow_wanted |= !t;
		/* Entries become free once a batch has sent the ends and counts of ended
		 * threads. */
		if (!t) {
			stream_hold_less(s);
			threads_end_left(&s->threads, BATCH_THREADS_MAX, item->time_ns);
			return false;
		}
		name_thread(s, t, item->thread.name);
	}
	enter_lane(s, item->lane, t);
	return true;
}

static bool take_resumed(struct stream *s, const struct run_item *item)
{
	struct thread *t = threads_find(&s->threads, item->thread.tid);

	if (!t || t->number != item->thread.number) {
		if (s->threads.news >= BATCH_THREADS_MAX)
			return false;
		t = threads_resume(&s->threads, item->thread.tid, item->thread.number);
		if (!t)
			return false;
		t->counts.delivered = t->earlier_delivered = item->thread.delivered;
		t->counts.lost = t->earlier_lost = item->thread.lost;
		name_thread(s, t, NULL);
	}
	t->counts.produced += item->thread.produced;
	t->counts.not_sampled += item->thread.not_sampled;
	enter_lane(s, item->lane, t);
	return true;
}

static void stream_take_count(struct thread *t, uint64_t produced, uint64_t not_sampled)
{
	t->counts.produced += produced;
	t->counts.not_sampled += not_sampled;
	t->counts_news |= produced || not_sampled;
}

void stream_count(struct stream *s)
{
	const struct capture_ops *ops = s->source->ops;
	struct capture_totals total = ops->totals(s->source);

	for (uint32_t i = 0; i < s->lane_count; i++) {
		struct capture_counts more;

		if (!s->lane_thread[i])
			continue;
		more = ops->count(s->source, i);
		stream_take_count(s->lane_thread[i], more.produced, more.not_sampled);
	}
	if (total.samples_refused > s->samples_refused)
		s->samples_refused = total.samples_refused;
	if (total.stacks_unknown > s->stacks_unknown)
		s->stacks_unknown = total.stacks_unknown;
	if (total.namespaces > s->namespaces)
		s->namespaces = total.namespaces;
	s->before = total.before;
	s->unready = total.unready;
}

bool stream_end_thread(struct stream *s, struct thread *thread, uint64_t time_ns)
{
	if (!thread->news && s->threads.news >= BATCH_THREADS_MAX)
		return false;
	threads_end(&s->threads, thread, time_ns);
	return true;
}

static bool take_left(struct stream *s, const struct run_item *item)
{
	forget_saved(s, item->lane);
	s->lane_thread[item->lane]->lanes--;
	s->lane_thread[item->lane] = NULL;
	return true;
}

/* ---- stacks ---- */

/* The slow path of stream_take_has_room. */
static __attribute__((cold)) bool find_room(struct stream *s, uint32_t frames)
{
	uint32_t most = s->stacks.sent + s->batch.nodes_max, limit = stacks_limit(&s->stacks);

	if (s->stacks.nodes + frames + 3 > most)
		return false;
	if (!frames || s->renewal_rest)
		return true;
	if (!stacks_has_room(&s->stacks, frames + 3)) {
		s->renewal_wanted = true;
		return false;
	}
	s->nodes_until = most < limit ? most : limit;
	return true;
}

/* Returns true if batch and table have room for `frames` new nodes. */
static inline bool stream_take_has_room(struct stream *s, uint32_t frames)
{
	const struct stacks *t = &s->stacks;

	return __builtin_expect(t->nodes + frames + 3 <= s->nodes_until &&
					t->places + frames + 3 <= t->places_max,
				1) ||
	       find_room(s, frames);
}

/* Returns the node of an event's stack, or NO_ROOM if batch or table has no room for its new nodes.
 * It is safe to call it again with the same event. The program counters may be in memory that the
 * program can write, so each is read once. (The members of the event are separate arguments, so
 * that they stay in registers.) */
static inline __attribute__((always_inline)) uint32_t intern(struct stream *s,
							     struct stacks_path *l, uint32_t keep,
							     uint32_t count, const uint64_t *pcs,
							     uint32_t epoch)
{
	uint32_t *to = l->node + keep, parent = 0;
	struct stacks_cached *const cache = s->stacks.cache;
	const uint32_t shift = s->stacks.cache_shift;
	uint32_t left;
	uint64_t trail;

	if (keep)
		parent = to[-1];
	trail = stacks_trail(parent);
	for (uint32_t i = count; i-- > 0;) {
		uint64_t pc = __atomic_load_n(&pcs[i], __ATOMIC_RELAXED),
			 key = stream_cache_key(pc, epoch);
		struct stacks_cached *cached = stacks_cached(cache, shift, &trail, key);

		if (__builtin_expect(cached->key == key && cached->parent == parent, 1)) {
			parent = cached->node;
		} else {
			if (!stream_take_has_room(s, i + 1))
				return NO_ROOM;
			parent = stream_find_node(s, parent, pc, epoch, cached);
			*to++ = parent;
			left = stream_find_chain(s, parent, &trail, to, pcs, i, epoch);
			to += i - left;
			i = left;
			parent = to[-1];
			continue;
		}
		*to++ = parent;
	}
	l->depth = keep + count;
	return parent;
}

/* Fills in frames that the lane does not have, down to `depth`. */
static void lane_fill(struct stream *s, struct stacks_path *l, uint32_t depth)
{
	uint32_t node = stacks_child(&s->stacks, 0, 0, HEAPCAST__PSEUDO_FRAME__FRAME_TRUNCATED);

	for (uint32_t i = l->depth; i < depth; i++)
		l->node[i] = node;
}

/* ---- numbered stacks ---- */

/* Returns the node of the lane's stack of this number. The next stack keeps no frames of it, so the
 * lane's path is empty then. */
static uint32_t recall(struct stream *s, struct stacks_path *l, uint32_t number)
{
	uint32_t node = saved_nodes(s, (uint32_t)(l - s->lane))[number];

	l->depth = 0;
	return node ? node
		    : stacks_child(&s->stacks, 0, 0, HEAPCAST__PSEUDO_FRAME__FRAME_TRUNCATED);
}

static bool take_save(struct stream *s, const struct run_item *item)
{
	const struct stacks_path *path = &s->lane[item->lane];
	uint32_t node = path->depth ? path->node[path->depth - 1] : 0;

	if (node && path->cut && path->depth == path->most)
		node = stacks_child(&s->stacks, node, 0, HEAPCAST__PSEUDO_FRAME__FRAME_DEPTH_LIMIT);
	saved_nodes(s, item->lane)[item->save] = node;
	return true;
}

/* The slow path of intern: for stacks that are deeper than the lane's path, or that keep frames
 * which the lane does not have. */
static __attribute__((cold)) uint32_t intern_rarely(struct stream *s, struct stacks_path *l,
						    uint32_t keep, uint32_t count,
						    const uint64_t *pcs, uint32_t epoch)
{
	uint32_t depth = keep < l->most ? keep : l->most, fits = l->most - depth,
		 cut = count > fits ? count - fits : 0, node;

	if (!stream_take_has_room(s, count < s->depth_max ? count : s->depth_max))
		return NO_ROOM;
	if (depth > l->depth)
		lane_fill(s, l, depth);
	node = intern(s, l, depth, count - cut, pcs + cut, epoch);
	l->cut = cut > 0;
	if (cut && node != NO_ROOM)
		node = stacks_child(&s->stacks, node, 0, HEAPCAST__PSEUDO_FRAME__FRAME_DEPTH_LIMIT);
	return node;
}

/* Returns the node of an event's stack. */
static inline __attribute__((always_inline)) uint32_t
node_of(struct stream *s, struct stacks_path *l, const struct run_item *item)
{
	uint32_t keep = run_keep(item), count = run_count(item);

	if (__builtin_expect(keep > l->depth || keep + count > l->most, 0)) {
		/* (No lane has so many frames.) */
		if (keep >= RUN_RECALL && keep < RUN_RECALL + RUN_SAVED_MAX && !count)
			return recall(s, l, keep - RUN_RECALL);
		return intern_rarely(s, l, keep, count, item->pcs, item->epoch);
	}
	return intern(s, l, keep, count, item->pcs, item->epoch);
}

/* ---- events ---- */

/* Makes the event of an item. `class` and `weighted` are constants where this is inlined, so
 * members that an event lacks cost no instruction. The initializer names all members. Otherwise the
 * compiler would first clear the whole struct, with an instruction that takes 10 ns to start. */
static inline __attribute__((always_inline)) struct event
event_of(const struct run_item *item, enum event_class class, bool weighted, uint32_t thread)
{
	bool moves = class == EVENT_CLASS_REALLOCATION;

	return (struct event){
		.kind = item->event,
		.class = class,
		.thread = thread,
		.stack = 0,
		.time_ns = item->time_ns,
		.address = item->address,
		.size = class != EVENT_CLASS_FREE || event_traits[item->event].sized ? item->size
										     : 0,
		.old_address = moves ? item->old_address : 0,
		.call_time_ns = moves ? item->call_time_ns : 0,
		.weight = weighted ? item->weight : 0,
	};
}

/* Puts an event into the columns. */
static inline __attribute__((always_inline)) bool put_event(struct stream *s, uint32_t thread,
							    uint32_t node,
							    const struct run_item *item,
							    enum event_class class, bool weighted)
{
	struct event event = event_of(item, class, weighted, thread);

	event.stack = stacks_number(&s->stacks, node);
	return events_encoder_put_inline(&s->batch.events, &event) >= 0;
}

/* Puts an event of any class into the columns. */
static __attribute__((noinline)) bool put_any(struct stream *s, uint32_t thread, uint32_t node,
					      const struct run_item *item)
{
	return put_event(s, thread, node, item, (enum event_class)item->class,
			 item->flags & RUN_WEIGHTED);
}

static bool stream_take_is_new(unsigned class)
{
	return class == EVENT_CLASS_ALLOCATION || class == EVENT_CLASS_REALLOCATION;
}

/* Takes the events of one lane, from the next item on. Sums up in local variables and adds the
 * counts once at the end. Columns are arrays of bytes, so the compiler must assume that a store to
 * them may change any variable that is not local. */
static __attribute__((noinline)) bool take_events(struct stream *s)
{
	struct run *run = &s->run;
	const struct run_item *const first = &run->item[run->taken],
				     *const end = run->item + run->count, *item = first;
	const uint64_t alike = run_alike(first->head) & ~RUN_HEAD(0, RUN_RESTART, 0, 0, 0);
	const uint32_t thread = s->lane_thread[first->lane]->number;
	struct stacks_path *path = &s->lane[first->lane];
	const bool weighted = first->flags & RUN_WEIGHTED;
	uint64_t frees = 0, calls = 0, bytes = 0;
	struct spool_account sum;
	bool fits;

	if (first->flags & RUN_RESTART)
		path->depth = 0;
	do {
		uint32_t node = item->frames ? node_of(s, path, item) : 0;

		fits = node != NO_ROOM;
		if (__builtin_expect(!fits, 0))
			break;
		if (item->class == EVENT_CLASS_FREE && !weighted) {
			fits = put_event(s, thread, node, item, EVENT_CLASS_FREE, false);
			frees += fits;
		} else if (item->class == EVENT_CLASS_ALLOCATION && !weighted) {
			fits = put_event(s, thread, node, item, EVENT_CLASS_ALLOCATION, false);
			bytes += fits ? item->size : 0;
		} else if (item->class == EVENT_CLASS_REALLOCATION && !weighted) {
			fits = put_event(s, thread, node, item, EVENT_CLASS_REALLOCATION, false);
			bytes += fits ? item->size : 0;
		} else {
			fits = put_any(s, thread, node, item);
			frees += fits && item->class == EVENT_CLASS_FREE;
			calls += fits && item->class == EVENT_CLASS_CALL;
			bytes += fits && stream_take_is_new(item->class) ? item->size : 0;
		}
		if (__builtin_expect(s->stacks.has_cut, 0))
			s->stacks_cut += fits && stacks_is_cut(&s->stacks, node);
		if (__builtin_expect(!fits, 0))
			break;
	} while (++item < end && run_alike(item->head) == alike);
	sum = (struct spool_account){.events = (uint64_t)(item - first), .frees = frees};
	sum.allocations = sum.events - frees - calls;
	sum.bytes = bytes;
	stream_account_sum(s, s->lane_thread[first->lane], &sum);
	run->taken = (uint32_t)(item - run->item);
	return fits;
}

/* Times are rounded down to ticks, so an event shortly after a mark could get a time before the
 * mark. Such an event gets the next tick. */
static void put_behind_mark(const struct stream *s, struct event *e)
{
	if (e->thread == s->marked_by && e->time_ns < s->marked_ns &&
	    s->marked_ns - e->time_ns <= BATCH_TICK_NS)
		e->time_ns = s->marked_ns / BATCH_TICK_NS * BATCH_TICK_NS + BATCH_TICK_NS;
}

/* Takes an event while culling or the flight recorder is on. */
static bool hold_event(struct stream *s, const struct run_item *item)
{
	struct stacks_path *path = &s->lane[item->lane];
	struct thread *thread = s->lane_thread[item->lane];
	struct event event;
	uint32_t node = 0;
	int r;

	if (item->flags & RUN_RESTART)
		path->depth = 0;
	if (item->frames)
		node = node_of(s, path, item);
	if (node == NO_ROOM)
		return false;
	event = event_of(item, (enum event_class)item->class, item->flags & RUN_WEIGHTED,
			 thread->number);
	put_behind_mark(s, &event);
	r = stream_hold_event(s, thread, &event, node);
	s->stacks_cut += !r && stacks_is_cut(&s->stacks, node);
	return !r;
}

/* ---- gaps ---- */

static bool merge_gap(struct batch *b, const struct batch_gap *g)
{
	struct batch_gap *last = b->gaps ? &b->gap[b->gaps - 1] : NULL;

	if (!last || last->thread != g->thread || last->reason != g->reason ||
	    (g->thread && last->to + 1 != g->from))
		return false;
	last->to = g->to;
	last->to_ns = g->to_ns;
	last->lost.events += g->lost.events;
	last->lost.allocations += g->lost.allocations;
	last->lost.frees += g->lost.frees;
	last->lost.bytes += g->lost.bytes;
	return true;
}

static bool take_gap(struct stream *s, const struct run_item *item)
{
	struct thread *thread = item->lane == RUN_NO_LANE ? NULL : s->lane_thread[item->lane];
	const struct run_losses *lost = &item->gap.lost;
	struct batch_gap gap = {.reason = item->gap.reason,
				.lost = *lost,
				.from_ns = item->gap.from_ns,
				.to_ns = item->time_ns};

	if (thread) {
		gap.thread = thread->number;
		gap.from = thread_taken(thread) + 1;
		gap.to = gap.from + lost->events - 1;
	}
	if (!merge_gap(&s->batch, &gap)) {
		if (s->batch.gaps == BATCH_GAPS_MAX || !batch_take(&s->batch, GAP_BYTES))
			return false;
		s->batch.gap[s->batch.gaps++] = gap;
	}
	if (thread) {
		thread->counts.lost += lost->events;
		thread->counts_news = true;
	} else {
		s->no_thread += lost->events;
	}
	s->lost.events += lost->events;
	s->lost.allocations += lost->allocations;
	s->lost.frees += lost->frees;
	s->lost.bytes += lost->bytes;
	return true;
}

/* ---- modules ---- */

/* Takes a module that was loaded. Skips a module whose data is invalid or for which the table has
 * no room. */
static bool take_load(struct stream *s, const struct run_item *item)
{
	const struct run_module *module = item->module;

	if (s->modules.unloads >= BATCH_UNLOADS_MAX)
		return false;
	if (modules_knows(&s->modules, module)) {
		if (!batch_take(&s->batch, 24)) /* it is loaded again */
			return false;
	} else if (modules_full(&s->modules, module) && stream_may_grow(s)) {
		s->grow_wanted = true;
		return false;
	} else if (s->modules.count - s->modules.sent >= BATCH_MODULES_MAX ||
		   !batch_take(&s->batch,
			       128 + module->path_length + module->segment_count * 40u)) {
		return false;
	}
	modules_add(&s->modules, module);
	stacks_cache_clear(&s->stacks);
	return true;
}

static bool take_unload(struct stream *s, const struct run_item *item)
{
	if (s->modules.unloads >= BATCH_UNLOADS_MAX || !batch_take(&s->batch, 24))
		return false;
	stacks_cache_clear(&s->stacks);
	modules_remove(&s->modules, item->unload.id, item->unload.epoch, item->time_ns);
	return true;
}

/* ---- the run ---- */

static bool take_other(struct stream *s, const struct run_item *item)
{
	switch ((enum run_kind)item->kind) {
	case RUN_EVENT:
		return hold_event(s, item);
	case RUN_THREAD:
		return take_thread(s, item);
	case RUN_RESUME:
		return take_resumed(s, item);
	case RUN_COUNTS:
		stream_take_count(s->lane_thread[item->lane], item->thread.produced,
				  item->thread.not_sampled);
		return true;
	case RUN_ENDED:
		return stream_end_thread(s, s->lane_thread[item->lane], item->time_ns);
	case RUN_LEFT:
		return take_left(s, item);
	case RUN_GAP:
		return take_gap(s, item);
	case RUN_LOAD:
		return take_load(s, item);
	case RUN_UNLOAD:
		return take_unload(s, item);
	case RUN_MARK:
		return stream_take_mark(s, item);
	case RUN_SAVE:
		return take_save(s, item);
	}
	return true;
}

bool stream_take(struct stream *s)
{
	struct run *run = &s->run;
	const bool holds = stream_holds(s);

	while (run->taken < run->count) {
		const struct run_item *item = &run->item[run->taken];

		if (item->kind == RUN_EVENT && !holds) {
			if (!take_events(s))
				return false;
			continue;
		}
		if (!take_other(s, item))
			return false;
		run->taken++;
	}
	return true;
}
