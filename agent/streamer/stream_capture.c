/*
 * The stream as the sink of a source: the functions of agent/capture.h. Events become nodes and columns, gaps and marks lines
 * in the lists of the batch. In here is what runs at each event; the life of a stream is in stream.c.
 *
 * What an event asks most is the node of (parent, program counter). The lane's path gives the parent; the cache in the stack
 * table answers, and only what it does not know is looked up: module, place, node.
 */
#include "agent/streamer/stream.h"

#include <errno.h>
#include <string.h>

#include "heapcast.pb-c.h"
#include "proto/columns_put.h"
#include "base/ban.h"

int capture_thread_begin(struct stream *s, uint32_t tid, uint64_t time_ns, bool continues,
			 struct thread **ret)
{
	struct thread *t = continues ? threads_find(&s->threads, tid) : NULL;
	char name[16];

	if (!t) {
		if (s->threads.news >= BATCH_THREADS_MAX)
			return -EAGAIN;
		t = threads_add(&s->threads, tid, time_ns);
		if (!t) { /* places become free when the ends of dead ones are sent */
			threads_end_left(&s->threads, BATCH_THREADS_MAX, time_ns);
			return -EAGAIN;
		}
		if (target_thread_name(s->target.pid, (pid_t)tid, name) == 0)
			threads_name(&s->threads, t, name);
	}
	t->lanes++;
	*ret = t;
	return 0;
}

void capture_thread_leave(struct stream *s, struct thread *thread)
{
	(void)s;
	thread->lanes--;
}

int capture_thread_resume(struct stream *s, uint32_t tid, uint32_t number,
			  const struct capture_past *past, struct thread **ret, bool *ret_known)
{
	struct thread *t = threads_find(&s->threads, tid);
	char name[16];

	*ret_known = t && t->number == number;
	if (!*ret_known) {
		if (s->threads.news >= BATCH_THREADS_MAX)
			return -EAGAIN;
		t = threads_resume(&s->threads, tid, number);
		if (!t)
			return -EAGAIN;
		t->counts.delivered = t->earlier_delivered = past->delivered;
		t->counts.lost = t->earlier_lost = past->lost;
		if (target_thread_name(s->target.pid, (pid_t)tid, name) == 0)
			threads_name(&s->threads, t, name);
	}
	t->lanes++;
	*ret = t;
	return 0;
}

int capture_thread_end(struct stream *s, struct thread *thread, uint64_t time_ns)
{
	if (!thread->news && s->threads.news >= BATCH_THREADS_MAX)
		return -EAGAIN;
	threads_end(&s->threads, thread, time_ns);
	return 0;
}

void capture_thread_counts(struct stream *s, struct thread *thread, uint64_t produced,
			   uint64_t not_sampled)
{
	(void)s;
	thread->counts.produced += produced;
	thread->counts.not_sampled += not_sampled;
	thread->counts_news |= produced || not_sampled;
}

void capture_samples_refused(struct stream *s, uint64_t count)
{
	if (count > s->samples_refused) /* it only grows, in a ring that is right */
		s->samples_refused = count;
}

void capture_lane_reset(struct stream *s, uint32_t lane)
{
	s->lane[lane].depth = 0;
}

/* What the cache is asked for: addresses have 48 bits, so that the epoch's lower half finds room above. */
static uint64_t cache_key(uint64_t pc, uint32_t epoch)
{
	return pc ^ (uint64_t)epoch << 48;
}

static uint32_t find_place(struct stream *s, uint64_t pc, uint32_t epoch)
{
	uint32_t module = pc < CAPTURE_PSEUDO_LIMIT ? 0 : modules_find(&s->modules, pc - 1, epoch);

	return stacks_place(&s->stacks, module,
			    module ? pc - modules_get(&s->modules, module)->bias : pc);
}

/* The node for a program counter below `parent`, past the cache of nodes. */
static uint32_t find_node(struct stream *s, uint32_t parent, uint64_t pc, uint32_t epoch, struct stacks_cached *cached)
{
	uint64_t key = cache_key(pc, epoch);
	struct stacks_located *located = stacks_located(&s->stacks, key);
	uint32_t node;

	if (located->key != key || !located->place)
		*located = (struct stacks_located){.key = key, .place = find_place(s, pc, epoch)};
	node = stacks_below(&s->stacks, parent, (uint32_t)located->place);
	*cached = (struct stacks_cached){.key = key, .parent = parent, .node = node};
	return node;
}

/* Frames that the lane has never brought, down to `depth`. */
static void lane_fill(struct stream *s, struct stacks_path *l, uint32_t depth)
{
	uint32_t node = stacks_child(&s->stacks, 0, 0, HEAPCAST__PSEUDO_FRAME__FRAME_TRUNCATED);

	for (uint32_t i = l->depth; i < depth; i++)
		l->node[i] = node;
}

/* The event's stack. Does the same thing again when it is offered again. The program counters may lie where the program can
 * write: each is read once. */
static uint32_t intern(struct stream *s, struct stacks_path *l, const struct capture_event *e)
{
	uint32_t depth = e->keep < l->most ? e->keep : l->most, parent;
	uint32_t fits = l->most - depth, cut = e->count > fits ? e->count - fits : 0;
	uint32_t *to = l->node + depth;
	uint64_t trail;

	if (__builtin_expect(depth > l->depth, 0))
		lane_fill(s, l, depth);
	parent = depth ? to[-1] : 0;
	trail = stacks_trail(parent);
	for (uint32_t i = e->count; i-- > cut;) {
		uint64_t pc = __atomic_load_n(&e->pcs[i], __ATOMIC_RELAXED), key = cache_key(pc, e->epoch);
		struct stacks_cached *cached = stacks_cached(&s->stacks, &trail, key);

		if (__builtin_expect(cached->key == key && cached->parent == parent && cached->node, 1))
			parent = cached->node;
		else
			parent = find_node(s, parent, pc, e->epoch, cached);
		*to++ = parent;
	}
	l->depth = (uint32_t)(to - l->node);
	if (__builtin_expect(!cut, 1))
		return parent;
	return stacks_child(&s->stacks, parent, 0, HEAPCAST__PSEUDO_FRAME__FRAME_DEPTH_LIMIT);
}

static void account(struct stream *s, struct thread *thread, const struct event *event)
{
	bool is_free = event->class == EVENT_CLASS_FREE, is_call = event->class == EVENT_CLASS_CALL;

	thread->counts.delivered++;
	thread->counts_news = true;
	s->delivered.events++;
	s->delivered.frees += is_free;
	s->delivered.allocations += !is_free && !is_call;
	s->delivered.bytes += is_free || is_call ? 0 : event->size;
}

static __attribute__((noinline)) bool find_room(struct stream *s, uint32_t frames)
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

/* Room for the event's new nodes, in the batch and in the table. */
static inline bool has_room(struct stream *s, uint32_t frames)
{
	const struct stacks *t = &s->stacks;

	return __builtin_expect(t->nodes + frames + 3 <= s->nodes_until && t->places + frames + 3 <= t->places_max, 1) ||
	       find_room(s, frames);
}

int capture_event(struct stream *s, uint32_t lane, struct thread *thread, struct capture_event *e)
{
	uint32_t node = 0;

	if (!has_room(s, e->count < s->depth_max ? e->count : s->depth_max))
		return -EAGAIN;
	if (e->has_stack)
		node = intern(s, &s->lane[lane], e);
	e->event.thread = thread->number;
	e->event.stack = stacks_number(&s->stacks, node);
	if (events_encoder_put_inline(&s->batch.events, &e->event) < 0)
		return -EAGAIN;
	s->stacks_cut += stacks_is_cut(&s->stacks, node);
	account(s, thread, &e->event);
	return 0;
}

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

int capture_gap(struct stream *s, struct thread *thread, const struct capture_losses *lost,
		int reason, uint64_t from_ns, uint64_t to_ns)
{
	struct batch_gap gap = {
		.reason = reason, .lost = *lost, .from_ns = from_ns, .to_ns = to_ns};

	if (thread) {
		gap.thread = thread->number;
		gap.from = thread->counts.delivered + thread->counts.lost + 1;
		gap.to = gap.from + lost->events - 1;
	}
	if (!merge_gap(&s->batch, &gap)) {
		if (s->batch.gaps == BATCH_GAPS_MAX || !batch_take(&s->batch, 96))
			return -EAGAIN;
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
	return 0;
}

int capture_module_load(struct stream *s, const struct capture_module *module)
{
	int r;

	if (s->modules.count - s->modules.sent >= BATCH_MODULES_MAX ||
	    !batch_take(&s->batch, 128 + module->path_length + module->segment_count * 40u))
		return -EAGAIN;
	r = modules_add(&s->modules, module);
	stacks_cache_clear(&s->stacks);
	return r == -EBADMSG ? r : 0;
}

int capture_module_unload(struct stream *s, uint32_t id, uint32_t epoch, uint64_t time_ns)
{
	if (s->modules.unloads >= BATCH_UNLOADS_MAX || !batch_take(&s->batch, 24))
		return -EAGAIN;
	stacks_cache_clear(&s->stacks);
	return modules_remove(&s->modules, id, epoch, time_ns) ? 0 : -EBADMSG;
}

int capture_mark(struct stream *s, struct thread *thread, int kind, uint64_t value,
		 uint64_t time_ns, const uint8_t *text, uint32_t text_length)
{
	struct batch *b = &s->batch;

	if (b->marks == BATCH_MARKS_MAX || text_length > BATCH_TEXT - b->text_length ||
	    !batch_take(b, 64 + text_length))
		return -EAGAIN;
	b->mark[b->marks++] = (struct batch_mark){
		.time_ns = time_ns,
		.kind = kind,
		.thread = thread ? thread->number : 0,
		.value = value,
		.text_offset = b->text_length,
		.text_length = text_length,
	};
	if (text_length)
		memcpy(b->text + b->text_length, text, text_length);
	b->text_length += text_length;
	return 0;
}

void capture_watermark(struct stream *s, uint64_t time_ns)
{
	if (time_ns > s->watermark_ns)
		s->watermark_ns = time_ns;
}
