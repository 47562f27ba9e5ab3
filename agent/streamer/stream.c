/* One recorded process. See stream.h. */
#include "agent/streamer/stream.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "heapcast.pb-c.h"
#include "base/ban.h"

#define MODULE_ROOM	400 /* memory for a module, its path and segments, as a rule */
#define MODULES_MAX	1024
#define THREAD_NAMES_NS 1000000000
#define RENEWAL_REST                                                                               \
	64 /* batches without another try, when threads hold too much of the stack table */
#define TURN_BATCHES 4 /* batches in one turn: others want the lock, too */

int stream_init(struct stream *s, struct arena *arena, const struct budget *b, uint32_t depth_limit,
		const struct clock *counter, struct packer *packer)
{
	struct arena tables = arena_part(arena, b->tables);
	uint32_t modules = (uint32_t)(b->tables / 8 / MODULE_ROOM);
	uint32_t *nodes;
	void *memory;

	*s = (struct stream){.packer = packer, .lane_count = ring_slice_count(b->ring)};
	pthread_mutex_init(&s->lock, NULL);
	if (!tables.memory || batch_init(&s->batch, arena, b->message, b->batch) < 0 ||
	    spool_init(&s->spool, arena, b->spool) < 0 ||
	    ring_source_init(&s->source, &tables, b->ring, counter) < 0 ||
	    modules_init(&s->modules, &tables, modules < MODULES_MAX ? modules : MODULES_MAX) < 0 ||
	    threads_init(&s->threads, &tables, s->lane_count * 2 + BATCH_THREADS_MAX) < 0)
		return -ENOMEM;
	s->depth_max = depth_limit + 2;
	if (s->depth_max > s->batch.nodes_max / 2)
		s->depth_max = s->batch.nodes_max / 2;
	while (s->depth_max > 16 && s->lane_count * (size_t)s->depth_max * 4 > b->tables / 4)
		s->depth_max = s->depth_max * 3 / 4;
	s->lane = arena_take(&tables, s->lane_count * sizeof(*s->lane));
	nodes = arena_take(&tables, s->lane_count * (size_t)s->depth_max * sizeof(*nodes));
	if (!s->lane || !nodes)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->lane_count; i++)
		s->lane[i].node = nodes + (size_t)i * s->depth_max;
	tables.used = (tables.used + 63) & ~(size_t)63;
	memory = tables.memory + tables.used;
	stacks_init(&s->stacks, memory, tables.size - tables.used);
	return 0;
}

void stream_done(struct stream *s)
{
	if (s->state != STREAM_FREE)
		stream_close(s);
	pthread_mutex_destroy(&s->lock);
}

static void clear_tables(struct stream *s)
{
	stacks_init(&s->stacks, s->stacks.cache, s->stacks.size);
	s->renewal_wanted = false;
	s->renewal_rest = 0;
	modules_clear(&s->modules);
	threads_clear(&s->threads);
	batch_clear(&s->batch);
	spool_clear(&s->spool);
	for (uint32_t i = 0; i < s->lane_count; i++)
		s->lane[i].depth = 0;
	s->delivered = (struct spool_account){0};
	s->lost = (struct capture_losses){0};
	s->no_thread = s->stacks_cut = s->watermark_ns = s->named_ns = s->ledger_told = 0;
	s->frame_pending = 0;
	s->image = 0;
	s->exec_pending = false;
}

int stream_open(struct stream *s, const struct budget *b, const struct target_info *target,
		const struct stream_settings *settings)
{
	struct ring_settings ring = settings->ring;
	int r;

	if (getrandom(s->id, sizeof(s->id), 0) != sizeof(s->id))
		return -EIO;
	memcpy(ring.stream, s->id, sizeof(ring.stream));
	s->start_ns = clock_monotonic_ns();
	s->start_wall_ns = clock_wall_ns();
	r = ring_source_open(&s->source, b->ring, &ring, s->start_ns);
	if (r < 0)
		return r;
	clear_tables(s);
	s->target = *target;
	s->agent_id = settings->agent_id;
	s->incarnation = 1;
	s->mode = (int)ring.mode;
	s->sample_interval = ring.sample_interval;
	s->frees_have_stacks = ring.frees_have_stacks;
	s->has_parent = settings->parent_stream;
	if (s->has_parent)
		memcpy(s->parent_stream, settings->parent_stream, sizeof(s->parent_stream));
	s->parent_event = settings->parent_event;
	s->process_news = true;
	s->closed_ns = s->start_ns;
	__atomic_store_n(&s->state, STREAM_LIVE, __ATOMIC_RELEASE);
	return 0;
}

void stream_close(struct stream *s)
{
	ring_source_close(&s->source);
	__atomic_store_n(&s->state, STREAM_FREE, __ATOMIC_RELEASE);
}

uint64_t stream_now(const struct stream *s)
{
	return clock_monotonic_ns() - s->start_ns;
}

void stream_end(struct stream *s, const struct target_end *end)
{
	if (s->state != STREAM_LIVE)
		return;
	s->end = *end;
	s->end_ns = stream_now(s);
	__atomic_store_n(&s->state, STREAM_ENDING, __ATOMIC_RELEASE);
}

int capture_thread_begin(struct stream *s, uint32_t tid, uint64_t time_ns, bool continues,
			 struct thread **ret)
{
	struct thread *t = continues ? threads_find(&s->threads, tid) : NULL;
	char name[16];

	if (!t) {
		if (s->threads.news >= BATCH_THREADS_MAX)
			return -EAGAIN;
		t = threads_add(&s->threads, tid, time_ns);
		if (!t)
			return -EAGAIN; /* places become free when the ends of dead ones are sent */
		if (target_thread_name(s->target.pid, (pid_t)tid, name) == 0)
			threads_name(&s->threads, t, name);
	}
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

void capture_lane_reset(struct stream *s, uint32_t lane)
{
	s->lane[lane].depth = 0;
}

/* What the cache is asked for: addresses have 48 bits, so that the epoch's lower half finds room above. */
static uint64_t cache_key(uint64_t pc, uint32_t epoch)
{
	return pc ^ (uint64_t)epoch << 48;
}

/* The node for a program counter below `parent`, past the cache. */
static uint32_t find_node(struct stream *s, uint32_t parent, uint64_t pc, uint32_t epoch)
{
	uint32_t module = pc < CAPTURE_PSEUDO_LIMIT ? 0 : modules_find(&s->modules, pc - 1, epoch);
	uint64_t offset = module ? pc - modules_get(&s->modules, module)->bias : pc;
	struct stacks_cached *cached = stacks_cached(&s->stacks, parent, cache_key(pc, epoch));
	uint32_t node = stacks_child(&s->stacks, parent, module, offset);

	*cached =
		(struct stacks_cached){.key = cache_key(pc, epoch), .parent = parent, .node = node};
	return node;
}

/* Frames that the lane has never brought, down to `depth`. */
static void lane_fill(struct stream *s, struct stacks_path *l, uint32_t depth)
{
	uint32_t node = stacks_child(&s->stacks, 0, 0, HEAPCAST__PSEUDO_FRAME__FRAME_TRUNCATED);

	for (uint32_t i = l->depth; i < depth; i++)
		l->node[i] = node;
}

/* The number of the event's stack. Does the same thing again when it is offered again. */
static uint32_t intern(struct stream *s, struct stacks_path *l, const struct capture_event *e)
{
	uint32_t keep = e->keep < s->depth_max ? e->keep : s->depth_max, depth = keep, parent;

	if (keep > l->depth)
		lane_fill(s, l, keep);
	parent = keep ? l->node[keep - 1] : 0;
	for (uint32_t i = e->count; i-- > 0;) {
		uint64_t key = cache_key(e->pcs[i], e->epoch);
		const struct stacks_cached *cached = stacks_cached(&s->stacks, parent, key);

		if (depth == s->depth_max) {
			parent = stacks_child(&s->stacks, parent, 0,
					      HEAPCAST__PSEUDO_FRAME__FRAME_DEPTH_LIMIT);
			break;
		}
		if (cached->key == key && cached->parent == parent && cached->node)
			parent = cached->node;
		else
			parent = find_node(s, parent, e->pcs[i], e->epoch);
		l->node[depth++] = parent;
	}
	l->depth = depth;
	return parent;
}

static void deliver_account(struct stream *s, struct thread *thread, const struct capture_event *e,
			    enum event_class class)
{
	thread->counts.delivered++;
	thread->counts_news = true;
	s->delivered.events++;
	if (class == EVENT_CLASS_CALL)
		return;
	if (class == EVENT_CLASS_FREE) {
		s->delivered.frees++;
		return;
	}
	s->delivered.allocations++;
	s->delivered.bytes += e->size;
}

int capture_event(struct stream *s, uint32_t lane, struct thread *thread,
		  const struct capture_event *e)
{
	struct event event = {
		.kind = e->kind,
		.thread = thread->number,
		.time_ns = e->time_ns,
		.address = e->address,
		.size = e->size,
		.old_address = e->old_address,
		.call_time_ns = e->call_time_ns,
		.weight = e->weight,
	};
	uint32_t fresh = s->stacks.nodes - s->stacks.sent,
		 most = e->count < s->depth_max ? e->count : s->depth_max;
	uint32_t node = 0;
	int r;

	if (fresh + most + 3 > s->batch.nodes_max)
		return -EAGAIN;
	if (e->count && !s->renewal_rest && !stacks_has_room(&s->stacks, most + 3)) {
		s->renewal_wanted = true;
		return -EAGAIN;
	}
	if (e->has_stack)
		node = intern(s, &s->lane[lane], e);
	event.stack = stacks_number(&s->stacks, node);
	r = events_encoder_put(&s->batch.events, &event);
	if (r < 0)
		return -EAGAIN;
	if (stacks_is_cut(&s->stacks, node))
		s->stacks_cut++;
	deliver_account(s, thread, e, event_class(e->kind));
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

struct stream_ledger stream_ledger(const struct stream *s)
{
	struct thread_counts total = threads_total(&s->threads);
	struct stream_ledger l = {
		.produced = total.produced + s->no_thread,
		.delivered = s->delivered.events,
		.not_sampled = total.not_sampled,
		.lost = s->lost.events,
	};
	uint64_t known = l.delivered + l.not_sampled + l.lost;

	if (l.produced < known) /* only a program that lies about its counters comes here */
		l.produced = known;
	l.pending = l.produced - known;
	return l;
}

/* 0; -ENOSPC: the frame waits in the batch's memory. */
static int put_frame(struct stream *s)
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

/* Between two batches: all nodes that a batch names are of one generation. */
static void renew_stacks(struct stream *s)
{
	if (s->renewal_rest)
		s->renewal_rest--;
	if (!s->renewal_wanted)
		return;
	s->renewal_wanted = false;
	s->renewal_rest = stacks_renew(&s->stacks, s->lane, s->lane_count) ? 1 : RENEWAL_REST;
}

static int close_batch(struct stream *s, bool end)
{
	long length;

	s->source.source.ops->count(&s->source.source, s);
	length = batch_pack(s, s->packer, end);
	s->closed_ns = clock_monotonic_ns();
	s->delivered.time_ns = s->watermark_ns;
	s->delivered.nodes = stacks_number(&s->stacks, s->stacks.sent);
	renew_stacks(s);
	assert(length > 0); /* what goes into a batch is counted before it does */
	s->frame_pending = (size_t)length;
	return put_frame(s);
}

static bool has_content(const struct stream *s)
{
	return s->batch.events.count || s->batch.gaps || s->batch.marks || s->threads.news ||
	       s->process_news || s->modules.count != s->modules.sent || s->modules.unloads;
}

static bool is_due(struct stream *s, uint64_t now)
{
	if (!has_content(s)) {
		s->batch.opened_ns = 0;
		if (now - s->closed_ns < STREAM_LEDGER_NS)
			return false;
		s->source.source.ops->count(&s->source.source, s);
		return stream_ledger(s).produced != s->ledger_told;
	}
	if (!s->batch.opened_ns)
		s->batch.opened_ns = now;
	return now - s->batch.opened_ns >= STREAM_CLOSE_NS;
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

/* The old image is drained: what it had is gone, and the ring is ready for the new one. */
static void begin_image(struct stream *s)
{
	struct target_info target;

	if (capture_mark(s, NULL, HEAPCAST__MARK_KIND__MARK_EXEC, s->image + 1, stream_now(s), NULL,
			 0) < 0)
		return; /* the batch is full: next turn */
	modules_remove_all(&s->modules, stream_now(s));
	stacks_cache_clear(&s->stacks);
	if (target_read(s->target.pid, &target) == 0)
		s->target = target;
	s->image++;
	s->process_news = true;
	s->source.ready = false;
	s->exec_pending = false;
}

/* Threads that never had a slice of their own at the end, or left theirs. */
static int end_threads(struct stream *s)
{
	int r = 0;

	threads_each(&s->threads, t) if (!r && t->alive) r = capture_thread_end(s, t, s->end_ns);
	return r;
}

static enum stream_work finish(struct stream *s)
{
	int r = end_threads(s);

	if (r == -EAGAIN)
		return close_batch(s, false) == -ENOSPC ? STREAM_STALLED : STREAM_MORE;
	if (s->modules.unloads > BATCH_UNLOADS_MAX)
		return close_batch(s, false) == -ENOSPC ? STREAM_STALLED : STREAM_MORE;
	s->watermark_ns = s->end_ns > s->watermark_ns ? s->end_ns : s->watermark_ns;
	r = close_batch(s, true);
	__atomic_store_n(&s->state, STREAM_ENDED, __ATOMIC_RELEASE);
	return r == -ENOSPC ? STREAM_STALLED : STREAM_IDLE;
}

enum stream_work stream_drain(struct stream *s)
{
	bool final = s->state == STREAM_ENDING || s->exec_pending;
	struct ring_header *header = s->source.ring->header;
	uint64_t now = clock_monotonic_ns();
	int r = 1;

	__atomic_fetch_add(&header->heartbeat, 1, __ATOMIC_RELAXED);
	if (put_frame(s) < 0)
		return STREAM_STALLED;
	if (s->state != STREAM_LIVE && s->state != STREAM_ENDING)
		return STREAM_IDLE;
	for (int batches = 0; batches < TURN_BATCHES; batches++) {
		r = s->source.source.ops->drain(&s->source.source, s, final);
		if (r >= 0)
			break;
		if (close_batch(s, false) == -ENOSPC)
			return STREAM_STALLED;
		r = 1;
	}
	if (r > 0)
		return STREAM_MORE;
	if (s->exec_pending)
		begin_image(s);
	if (s->state == STREAM_ENDING)
		return finish(s);
	read_names(s, now);
	if (is_due(s, now) && close_batch(s, false) == -ENOSPC)
		return STREAM_STALLED;
	return STREAM_IDLE;
}
