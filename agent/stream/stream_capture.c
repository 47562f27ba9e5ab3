/*
 * The stream as the receiver of a source: implements agent/core/capture.h. Events become nodes and
 * columns; gaps and marks go into lists of the batch. stream_event.h has the code that runs for
 * each event; this file has the rest. stream.c has the life of a stream.
 */
#include "agent/stream/stream_event.h"

#include <errno.h>
#include <string.h>

#include "heapcast.pb-c.h"
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
		s->grow_wanted |= !t;
		/* Entries become free when the ends and the counts of ended threads were sent. */
		if (!t) {
			stream_hold_less(s);
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

void capture_thread_called(struct stream *s, struct thread *thread, const char *name)
{
	char copy[THREAD_NAME_MAX];

	memcpy(copy, name, sizeof(copy));
	copy[sizeof(copy) - 1] = 0;
	if (!*thread->name)
		threads_name(&s->threads, thread, copy);
}

bool capture_thread_known(struct stream *s, uint32_t tid)
{
	return threads_find(&s->threads, tid) != NULL;
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
	if (count > s->samples_refused) /* in a valid ring it only grows */
		s->samples_refused = count;
}

void capture_loader_counts(struct stream *s, uint32_t stacks_unknown, uint32_t namespaces)
{
	if (stacks_unknown > s->stacks_unknown)
		s->stacks_unknown = stacks_unknown;
	if (namespaces > s->namespaces)
		s->namespaces = namespaces;
}

void capture_lane_reset(struct stream *s, uint32_t lane)
{
	s->lane[lane].depth = 0;
}

static uint32_t find_place(struct stream *s, uint64_t pc, uint32_t epoch)
{
	/* A return address may be the first address after its module, so the call before it is
	 * looked up. */
	const struct module_place *in =
		pc < CAPTURE_PSEUDO_LIMIT ? NULL : modules_find(&s->modules, pc - 1, epoch);

	return in ? stacks_place(&s->stacks, in->number, pc - in->bias)
		  : stacks_place(&s->stacks, 0, pc);
}

uint32_t stream_find_node(struct stream *s, uint32_t parent, uint64_t pc, uint32_t epoch,
			  struct stacks_cached *cached)
{
	uint64_t key = stream_cache_key(pc, epoch);
	struct stacks_located *located = stacks_located(&s->stacks, key);
	uint32_t node;

	if (located->key != key || !located->place)
		*located = (struct stacks_located){.key = key, .place = find_place(s, pc, epoch)};
	node = stacks_below(&s->stacks, parent, (uint32_t)located->place);
	*cached = (struct stacks_cached){.key = key, .parent = parent, .node = node};
	return node;
}

/* Fills in frames that the lane does not have, down to `depth`. */
static void lane_fill(struct stream *s, struct stacks_path *l, uint32_t depth)
{
	uint32_t node = stacks_child(&s->stacks, 0, 0, HEAPCAST__PSEUDO_FRAME__FRAME_TRUNCATED);

	for (uint32_t i = l->depth; i < depth; i++)
		l->node[i] = node;
}

bool stream_find_room(struct stream *s, uint32_t frames)
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

uint32_t stream_intern_rarely(struct stream *s, struct stacks_path *l, uint32_t keep,
			      uint32_t count, const uint64_t *pcs, uint32_t epoch)
{
	uint32_t depth = keep < l->most ? keep : l->most, fits = l->most - depth,
		 cut = count > fits ? count - fits : 0, node;

	if (!stream_has_room(s, count < s->depth_max ? count : s->depth_max))
		return STREAM_NO_ROOM;
	if (depth > l->depth)
		lane_fill(s, l, depth);
	node = stream_intern(s, l, depth, count - cut, pcs + cut, epoch);
	if (cut && node != STREAM_NO_ROOM)
		node = stacks_child(&s->stacks, node, 0, HEAPCAST__PSEUDO_FRAME__FRAME_DEPTH_LIMIT);
	return node;
}

/* Times are rounded down to ticks, so an event shortly after a mark could get a time before the
 * mark. Such an event gets the next tick. */
static void put_behind_mark(const struct stream *s, struct event *e)
{
	if (e->thread == s->marked_by && e->time_ns < s->marked_ns &&
	    s->marked_ns - e->time_ns <= BATCH_TICK_NS)
		e->time_ns = s->marked_ns / BATCH_TICK_NS * BATCH_TICK_NS + BATCH_TICK_NS;
}

/* Handles an event while culling or the flight recorder is on. */
static int hold(struct stream *s, uint32_t lane, struct thread *thread, struct capture_event *e)
{
	uint32_t node = e->has_stack ? stream_node(s, &s->lane[lane], e) : 0;
	int r;

	if (node == STREAM_NO_ROOM)
		return -EAGAIN;
	e->event.thread = thread->number;
	put_behind_mark(s, &e->event);
	r = s->flight.window_ns ? flight_event(s, thread, &e->event, node)
				: cull_event(s, thread, &e->event, node);
	s->stacks_cut += !r && stacks_is_cut(&s->stacks, node);
	return r;
}

int capture_event(struct stream *s, uint32_t lane, struct thread *thread, struct capture_event *e)
{
	int r;

	if (stream_holds(s))
		return hold(s, lane, thread, e);
	r = capture_event_put(s, &s->lane[lane], thread->number, e);
	if (!r)
		stream_account(s, thread, &e->event);
	return r;
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
		gap.from = thread_taken(thread) + 1;
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

	if (s->modules.unloads >= BATCH_UNLOADS_MAX)
		return -EAGAIN;
	if (modules_knows(&s->modules, module)) {
		if (!batch_take(&s->batch, 24)) /* it is loaded again */
			return -EAGAIN;
	} else if (modules_full(&s->modules, module) && stream_may_grow(s)) {
		s->grow_wanted = true;
		return -EAGAIN;
	} else if (s->modules.count - s->modules.sent >= BATCH_MODULES_MAX ||
		   !batch_take(&s->batch,
			       128 + module->path_length + module->segment_count * 40u)) {
		return -EAGAIN;
	}
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

/* Appends a text and returns its offset. */
static uint32_t put_text(struct batch *b, const void *text, uint32_t length)
{
	uint32_t offset = b->text_length;

	if (length)
		memcpy(b->text + offset, text, length);
	b->text_length += length;
	return offset;
}

/* `by_length` includes the NUL of `by`; 0: no author. */
static int put_mark(struct stream *s, struct batch_mark mark, const uint8_t *text,
		    uint32_t text_length, const char *by, uint32_t by_length)
{
	struct batch *b = &s->batch;

	if (b->marks == BATCH_MARKS_MAX || text_length + by_length > BATCH_TEXT - b->text_length ||
	    !batch_take(b, 64 + text_length + by_length))
		return -EAGAIN;
	mark.text_length = text_length;
	mark.text_offset = put_text(b, text, text_length);
	mark.by_offset = by_length ? put_text(b, by, by_length) + 1 : 0;
	b->mark[b->marks++] = mark;
	cull_mark(&s->cull, mark.kind);
	if (mark.kind == HEAPCAST__MARK_KIND__MARK_SNAPSHOT)
		flight_trigger(s, FLIGHT_ORDER);
	return 0;
}

int capture_mark(struct stream *s, struct thread *thread, int kind, uint64_t value,
		 uint64_t time_ns, const uint8_t *text, uint32_t text_length)
{
	bool placed = thread && !stream_holds(s); /* held events are sent later, in another order */
	struct batch_mark mark = {.time_ns = time_ns,
				  .kind = kind,
				  .thread = thread ? thread->number : 0,
				  .place = placed ? s->batch.events.count + 1 : 0,
				  .value = value};
	int r = put_mark(s, mark, text, text_length, NULL, 0);

	if (!r && thread) {
		s->marked_ns = time_ns;
		s->marked_by = thread->number;
	}
	if (!r && thread && kind == HEAPCAST__MARK_KIND__MARK_STOP)
		s->stopped_itself = true;
	if (!r && thread && kind == HEAPCAST__MARK_KIND__MARK_START)
		s->stopped_itself = false;
	return r;
}

int stream_mark(struct stream *s, int kind, uint64_t value, uint64_t time_ns, const uint8_t *text,
		uint32_t text_length, const char *by)
{
	struct batch_mark mark = {.time_ns = time_ns, .kind = kind, .value = value};
	int r = put_mark(s, mark, text, text_length, by, (uint32_t)strlen(by) + 1);

	if (!r)
		s->order_ns = time_ns;
	return r;
}

void capture_watermark(struct stream *s, uint64_t time_ns)
{
	if (time_ns > s->watermark_ns)
		s->watermark_ns = time_ns;
}
