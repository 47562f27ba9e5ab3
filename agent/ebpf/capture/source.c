/*
 * Delivers what a watched process has recorded to its stream. Runs in the drain thread, under the
 * stream's lock.
 *
 * A round looks at new and ended threads, reads the ring to its end, and then closes the accounts
 * of ended threads. Records are in the ring in the order of their reservation, which may differ
 * from the order of their stamps for concurrent events. So records wait in a heap until `before` of
 * a later record, or the time at which the ring was seen empty, shows that no older record can
 * come.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "agent/ebpf/capture/hub.h"
#include "agent/stream/stream.h"
#include "agent/core/weight.h"
#include "base/log.h"
#include "bpf/walk_shared.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define ROUND_MOST	65536 /* records in a round: other threads wait for the lock */
#define WAITED_LEAST_NS 50000000
#define LOOK_NS		1000000000 /* between looks at the maps without another reason */
#define LOOK_LEAST_NS	100000000  /* between looks for code that no module has */
#define MEET_NS		2000000000 /* for so long a program counts as new */
#define SETTLED_NS	100000000  /* the same once it has an allocator */
#define MEET_PAUSE_NS	1000000
#define EVENT_MREMAP	13 /* proto/event.h */
#define EVENT_MUNMAP	36

static struct watch *watch_of(struct capture_source *source)
{
	return (struct watch *)source;
}

static uint64_t stream_ns(const struct stream *s, uint64_t stamp)
{
	return stamp > s->start_ns ? stamp - s->start_ns : 0;
}

static uint64_t grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* ---- threads ---- */

static int begin_lane(struct watch *w, struct stream *s, uint32_t number, uint32_t tid,
		      uint64_t stamp)
{
	struct watch_lane *l = &w->lane[number];
	struct thread *thread;
	int r = capture_thread_begin(s, tid, stream_ns(s, stamp), false, &thread);

	if (r < 0)
		return r;
	*l = (struct watch_lane){.thread = thread, .tid = tid, .last_ns = stream_ns(s, stamp)};
	capture_lane_reset(s, number);
	return 0;
}

/* Begins new threads and marks ended ones: the ring holds all their records by now. */
static int look_at_threads(struct watch *w, struct stream *s, bool final, uint64_t now)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < w->hub->settings.threads; i++) {
		const struct capture_thread *t = &w->hub->threads[i];
		uint32_t state = __atomic_load_n(&t->state, __ATOMIC_ACQUIRE);

		if (state == CAPTURE_THREAD_FREE || t->stream != w->number || t->image != w->image)
			continue;
		if (!w->lane[i].thread)
			r = begin_lane(w, s, i, t->tid, now);
		w->lane[i].dead = final || state == CAPTURE_THREAD_DEAD;
	}
	return r;
}

static void count_lane(struct stream *s, struct watch_lane *l, const struct capture_thread *t)
{
	uint64_t passed = __atomic_load_n(&t->passed, __ATOMIC_ACQUIRE);
	uint64_t not_sampled = passed + __atomic_load_n(&t->not_sampled, __ATOMIC_ACQUIRE);
	uint64_t produced = passed + __atomic_load_n(&t->produced, __ATOMIC_ACQUIRE);

	capture_thread_counts(s, l->thread, grown(produced, l->produced),
			      grown(not_sampled, l->not_sampled));
	l->produced = produced;
	l->not_sampled = not_sampled;
}

/* Reports allocations whose end was not seen. */
static int tell_unanswered(struct stream *s, struct watch_lane *l, const struct capture_thread *t,
			   uint64_t to_ns)
{
	uint64_t count = __atomic_load_n(&t->unanswered, __ATOMIC_ACQUIRE),
		 bytes = __atomic_load_n(&t->unanswered_bytes, __ATOMIC_ACQUIRE);
	struct capture_losses lost = {.events = grown(count, l->unanswered),
				      .allocations = grown(count, l->unanswered),
				      .bytes = grown(bytes, l->unanswered_bytes)};
	int r;

	if (!lost.events)
		return 0;
	r = capture_gap(s, l->thread, &lost, HEAPCAST__REASON__REASON_NO_RESULT, l->last_ns, to_ns);
	if (r < 0)
		return r;
	l->unanswered = count;
	l->unanswered_bytes = bytes;
	return 0;
}

/* Reports events that did not fit into the ring. */
static int tell_refused(struct stream *s, struct watch_lane *l, const struct capture_thread *t,
			uint64_t to_ns)
{
	uint64_t allocations = __atomic_load_n(&t->lost_allocations, __ATOMIC_ACQUIRE),
		 frees = __atomic_load_n(&t->lost_frees, __ATOMIC_ACQUIRE),
		 bytes = __atomic_load_n(&t->lost_bytes, __ATOMIC_ACQUIRE);
	struct capture_losses lost = {.allocations = grown(allocations, l->lost_allocations),
				      .frees = grown(frees, l->lost_frees),
				      .bytes = grown(bytes, l->lost_bytes)};
	int r;

	lost.events = lost.allocations + lost.frees;
	if (!lost.events)
		return 0;
	r = capture_gap(s, l->thread, &lost, HEAPCAST__REASON__REASON_RING_FULL, l->last_ns, to_ns);
	if (r < 0)
		return r;
	l->lost_allocations = allocations;
	l->lost_frees = frees;
	l->lost_bytes = bytes;
	return 0;
}

static int tell_losses(struct stream *s, struct watch_lane *l, const struct capture_thread *t,
		       uint64_t to_ns)
{
	int r = tell_refused(s, l, t, to_ns);

	return r ? r : tell_unanswered(s, l, t, to_ns);
}

/* Reports events of threads without a place. */
static int tell_nobody(struct watch *w, struct stream *s, uint64_t to_ns)
{
	const struct capture_stream *shared = w->shared;
	uint64_t allocations = __atomic_load_n(&shared->no_thread_allocations, __ATOMIC_RELAXED),
		 frees = __atomic_load_n(&shared->no_thread_frees, __ATOMIC_RELAXED);
	struct capture_losses lost = {.allocations = grown(allocations, w->no_thread_allocations),
				      .frees = grown(frees, w->no_thread_frees)};
	int r;

	lost.events = lost.allocations + lost.frees;
	if (!lost.events)
		return 0;
	r = capture_gap(s, NULL, &lost, HEAPCAST__REASON__REASON_NO_SLICE, w->no_thread_ns, to_ns);
	if (r < 0)
		return r;
	w->no_thread_allocations = allocations;
	w->no_thread_frees = frees;
	w->no_thread_ns = to_ns;
	return 0;
}

/* Frees the place of an ended thread whose events are all reported. */
static void give_place(struct watch *w, uint32_t number)
{
	struct capture_thread *t = &w->hub->threads[number];
	uint32_t tid = t->tid;
	struct capture_fds fds;

	programs_fds(w->hub, &fds);
	if (t->state == CAPTURE_THREAD_USED)
		bpf_map_delete_elem(fds.tids, &tid);
	memset(t, 0, sizeof(*t));
	bpf_map_update_elem(fds.free, NULL, &number, BPF_ANY);
}

static int reap_lane(struct watch *w, struct stream *s, uint32_t number, uint64_t now_ns)
{
	struct watch_lane *l = &w->lane[number];
	const struct capture_thread *t = &w->hub->threads[number];
	struct capture_losses rest = {0};
	int r = tell_losses(s, l, t, now_ns);

	if (r < 0)
		return r;
	count_lane(s, l, t);
	rest.events = grown(l->produced, l->delivered + l->not_sampled + l->lost_allocations +
						 l->lost_frees + l->unanswered);
	if (rest.events)
		r = capture_gap(s, l->thread, &rest, HEAPCAST__REASON__REASON_WRITER_DIED,
				l->last_ns, now_ns);
	l->delivered += r ? 0 : rest.events;
	if (!r)
		r = capture_thread_end(s, l->thread, now_ns);
	if (r < 0)
		return r;
	log_debug("thread %u: %llu calls were left without an end, %llu were an allocator's own",
		  t->tid, (unsigned long long)t->left, (unsigned long long)t->inner);
	capture_thread_leave(s, l->thread);
	*l = (struct watch_lane){0};
	give_place(w, number);
	return 0;
}

/* Reports that the program had to wait, if it was long enough. */
static void tell_waits(struct watch *w, struct stream *s, uint64_t now_ns)
{
	uint64_t waited = __atomic_load_n(&w->shared->waited_ns, __ATOMIC_RELAXED),
		 more = grown(waited, w->waited_ns);

	if (more >= WAITED_LEAST_NS &&
	    capture_mark(s, NULL, HEAPCAST__MARK_KIND__MARK_WAITED, more, now_ns, NULL, 0) == 0)
		w->waited_ns = waited;
}

/* The ring is empty: reports losses, and closes ended threads. */
static int settle(struct watch *w, struct stream *s, uint64_t now)
{
	int r = tell_nobody(w, s, stream_ns(s, now));

	tell_waits(w, s, stream_ns(s, now));
	for (uint32_t i = 0; !r && i < w->hub->settings.threads; i++) {
		struct watch_lane *l = &w->lane[i];

		if (!l->thread)
			continue;
		r = l->dead ? reap_lane(w, s, i, stream_ns(s, now))
			    : tell_losses(s, l, &w->hub->threads[i], stream_ns(s, now));
	}
	return r;
}

/* ---- records ---- */

static bool is_sound(const struct watch *w, const struct capture_record *r, uint32_t length)
{
	uint32_t room =
		length < sizeof(*r) ? 0 : (uint32_t)((length - sizeof(*r)) / sizeof(uint64_t));

	if (length >= sizeof(*r) && r->type == CAPTURE_LOADER)
		return true;
	return length >= sizeof(*r) && r->thread < w->hub->settings.threads &&
	       event_class(r->kind) != EVENT_CLASS_NONE &&
	       event_class(r->kind) != EVENT_CLASS_CALL &&
	       (r->type == CAPTURE_EVENT
			? r->count <= room
			: r->type == CAPTURE_RAW && length >= sizeof(struct capture_raw) &&
				  ((const struct capture_raw *)r)->length <=
					  length - sizeof(struct capture_raw));
}

/* Walks a stack that the kernel could not walk; once, even if the event is offered again. */
static void unwind(struct watch *w, const struct capture_raw *raw, uint64_t position)
{
	struct remote_stack stack = {
		.regs = {.pc = raw->pc, .sp = raw->sp, .fp = raw->fp, .has_saved = true},
		.address = raw->sp & ~(uint64_t)4095,
		.copy = raw->copy,
		.size = raw->length,
		.miss = raw->miss,
	};

	if (w->raw_position == position)
		return;
	memcpy(stack.regs.saved, raw->saved, sizeof(stack.regs.saved));
	pthread_mutex_lock(&w->hub->remotes_lock);
	w->raw_first_ns =
		w->raw_first_ns ? w->raw_first_ns : clock_monotonic_ns() - raw->record.stamp;
	w->raw_ns -= clock_monotonic_ns();
	remote_unwind(w->remote, &stack, w->pcs, &w->raw_count, &w->raw_flags);
	w->raw_ns += clock_monotonic_ns();
	w->raws++;
	pthread_mutex_unlock(&w->hub->remotes_lock);
	w->shared->space = remote_space(w->remote);
	for (uint32_t i = 0; i < w->raw_count; i++)
		w->look_wanted |= !ebpf_modules_at(&w->modules, w->pcs[i] - 1);
	if (w->raw_flags & UNWIND_DEPTH_LIMIT && w->raw_count <= UNWIND_MAX_DEPTH) {
		memmove(w->pcs + 1, w->pcs, w->raw_count++ * sizeof(*w->pcs));
		w->pcs[0] = HEAPCAST__PSEUDO_FRAME__FRAME_DEPTH_LIMIT;
	}
	if (w->raw_flags & UNWIND_TRUNCATED && w->raw_count < UNWIND_MAX_DEPTH + 2)
		w->pcs[w->raw_count++] = HEAPCAST__PSEUDO_FRAME__FRAME_TRUNCATED;
	w->raw_position = position;
}

/* True if the modules were known at the time of the event. For a stack that the agent walks, they
 * must also be unchanged now. */
static bool is_sure(const struct watch *w, const struct capture_record *r)
{
	return w->table_sure && w->table == r->loads &&
	       (r->type == CAPTURE_EVENT ||
		__atomic_load_n(&w->shared->loads, __ATOMIC_ACQUIRE) == r->loads);
}

/* Cuts a stack whose modules are not known for certain: keeps the inner frames that lie in modules
 * which were present from the start. `beyond` is the number of further outer frames. */
static uint32_t cut(struct watch *w, const uint64_t *pcs, uint32_t count, uint32_t beyond)
{
	uint32_t kept = 0;

	while (kept < count && kept < UNWIND_MAX_DEPTH) {
		const struct ebpf_module *m = ebpf_modules_at(&w->modules, pcs[kept] - 1);

		if (pcs[kept] >= CAPTURE_PSEUDO_LIMIT && (!m || m->first || !m->seen))
			break;
		w->pcs[kept] = pcs[kept];
		kept++;
	}
	if (kept < count || beyond)
		w->pcs[kept++] = HEAPCAST__PSEUDO_FRAME__FRAME_TRUNCATED;
	return kept;
}

static int look_at_maps(struct watch *w, struct stream *s, uint64_t now);
static int meet_image(struct watch *w, struct stream *s);
static void answer(struct watch *w, uint32_t call);

bool watch_is_beginning(const struct watch *w, uint64_t now_ns)
{
	uint64_t since = __atomic_load_n(&w->image_ns, __ATOMIC_RELAXED);

	return since && !__atomic_load_n(&w->has_loader, __ATOMIC_RELAXED) &&
	       now_ns - since <
		       (__atomic_load_n(&w->chosen, __ATOMIC_RELAXED) ? SETTLED_NS : MEET_NS);
}

/* Delivers the event with the record's stack: its new frames, and `keep` outer frames of the last
 * stack. */
static int give(struct watch *w, struct stream *s, struct watch_lane *l,
		const struct capture_record *r, struct capture_event *e)
{
	bool raw = r->type == CAPTURE_RAW, cuts = r->flags & CAPTURE_HAS_STACK && !is_sure(w, r);
	int result;

	e->has_stack = r->flags & CAPTURE_HAS_STACK;
	e->keep = raw ? 0 : r->keep;
	e->count = raw ? w->raw_count : r->count;
	e->pcs = raw ? w->pcs : (const uint64_t *)(const void *)(r + 1);
	e->epoch = w->epoch;
	if (cuts) {
		e->count = cut(w, e->pcs, e->count, e->keep);
		e->pcs = w->pcs;
		e->keep = 0;
		w->raw_count = e->count;
		w->raw_position = raw ? w->raw_position : UINT64_MAX;
	}
	result = capture_event(s, r->thread, l->thread, e);
	if (cuts)
		capture_lane_reset(s, r->thread);
	l->delivered += !result;
	return result;
}

/* Delivers the end of the range that an mremap was given, at the time of the call, but not before
 * the reported watermark. */
static int deliver_old_range(struct watch *w, struct stream *s, struct watch_lane *l,
			     const struct capture_record *r)
{
	uint64_t time_ns = stream_ns(s, r->call_stamp);
	struct capture_event e = {
		.event = {.kind = EVENT_MUNMAP,
			  .class = EVENT_CLASS_FREE,
			  .time_ns = time_ns > w->told_ns ? time_ns : w->told_ns,
			  .address = r->old_address,
			  .size = r->interval},
	};

	return give(w, s, l, r, &e);
}

static int deliver(struct watch *w, struct stream *s, uint64_t position)
{
	const struct capture_record *r;
	const uint8_t *data;
	struct watch_lane *l;
	uint32_t length;
	uint64_t next;
	bool sized, moves;
	int result = 0;

	if (ring_peek(&w->ring, position, &data, &length, &next) <= 0)
		return 0;
	r = (const struct capture_record *)(const void *)data;
	if ((int32_t)(r->loads - w->table) > 0)
		result = look_at_maps(w, s, clock_monotonic_ns());
	else if (w->image && !w->has_loader)
		result = meet_image(w, s);
	if (result < 0)
		return result;
	if (r->type == CAPTURE_LOADER) {
		answer(w, r->keep);
		return 0;
	}
	l = &w->lane[r->thread];
	result = l->thread && l->tid == r->tid ? 0 : begin_lane(w, s, r->thread, r->tid, r->stamp);
	if (result < 0)
		return result;
	sized = event_has_size(r->kind);
	moves = event_class(r->kind) == EVENT_CLASS_REALLOCATION;
	if (r->type == CAPTURE_RAW)
		unwind(w, (const struct capture_raw *)r, position);
	if (r->kind == EVENT_MREMAP && r->interval && w->remapped != position + 1) {
		result = deliver_old_range(w, s, l, r);
		if (result < 0)
			return result;
		w->remapped = position + 1;
	}
	{
		struct capture_event e = {
			.event = {.kind = r->kind,
				  .class = event_class(r->kind),
				  .time_ns = stream_ns(s, r->stamp),
				  .address = r->address,
				  .size = sized ? r->size : 0,
				  .old_address = moves ? r->old_address : 0,
				  .call_time_ns = moves ? grown(r->stamp, r->call_stamp) : 0,
				  .weight = sized && r->interval && r->kind != EVENT_MREMAP
						    ? weight_of(r->size, r->interval)
						    : 0},
		};

		result = give(w, s, l, r, &e);
	}
	if (result < 0)
		return result;
	l->last_ns = stream_ns(s, r->stamp);
	if (w->raw_position == position)
		w->raw_position = UINT64_MAX;
	return 0;
}

/* ---- order ---- */

static void heap_put(struct watch *w, uint64_t stamp, uint64_t position)
{
	uint32_t at = w->heap_count++;

	for (; at && w->heap[(at - 1) / 2].stamp > stamp; at = (at - 1) / 2)
		w->heap[at] = w->heap[(at - 1) / 2];
	w->heap[at] = (struct watch_pending){stamp, position};
}

static void heap_drop(struct watch *w)
{
	struct watch_pending last = w->heap[--w->heap_count];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < w->heap_count) {
		child += child + 1 < w->heap_count &&
			 w->heap[child + 1].stamp < w->heap[child].stamp;
		if (w->heap[child].stamp >= last.stamp)
			break;
		w->heap[at] = w->heap[child];
		at = child;
	}
	w->heap[at] = last;
}

static void release(struct watch *w)
{
	uint64_t position = w->ring.position;

	for (uint32_t i = 0; i < w->heap_count; i++)
		if (w->heap[i].position < position)
			position = w->heap[i].position;
	ring_release(&w->ring, position);
}

static bool is_exec(const struct capture_record *r, uint32_t length)
{
	return length >= sizeof(*r) && r->type == CAPTURE_EXEC;
}

/* Moves records of the current program from the ring to the heap while there is room. Returns true
 * if all were read. *ret_count is their number. */
static bool take(struct watch *w, uint32_t *ret_count)
{
	const uint8_t *data;
	uint32_t length;
	uint64_t next;

	*ret_count = 0;
	while (!w->exec_next && w->heap_count < HUB_HEAP) {
		const struct capture_record *r;
		int got = ring_peek(&w->ring, w->ring.position, &data, &length, &next);

		if (!got)
			return ring_waiting(&w->ring) == w->ring.position - w->ring.released;
		r = (const struct capture_record *)(const void *)data;
		if (got > 0 && is_exec(r, length)) {
			w->exec_next = next;
			w->exec_loads = r->loads;
			break;
		}
		if (got < 0 || !is_sound(w, r, length)) {
			w->damaged++;
			if (got < 0)
				next = ring_end(&w->ring);
		} else {
			heap_put(w, r->stamp, w->ring.position);
			if (r->before > w->limit)
				w->limit = r->before;
		}
		w->ring.position = next;
		++*ret_count;
	}
	return w->exec_next != 0;
}

static int tell_modules(struct watch *w, struct stream *s, uint64_t now)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < w->modules.count; i++) {
		struct ebpf_module *m = &w->modules.module[i];
		struct capture_module module = {
			.id = m->id,
			.epoch = w->epoch,
			.time_ns = stream_ns(s, now),
			.bias = m->bias,
			.start = m->start,
			.end = m->end,
			.path = (const uint8_t *)m->path,
			.path_length = (uint32_t)strlen(m->path),
			.build_id = m->build_id,
			.build_id_length = m->build_id_length,
			.print = m->print,
			.segment_count = m->segment_count,
		};

		if (!m->seen && m->told && !m->idle) {
			r = capture_module_unload(s, m->id, ++w->epoch, stream_ns(s, now));
			if (r == -EAGAIN)
				break;
			r = 0;
			ebpf_modules_remove(&w->modules, i--);
			continue;
		}
		if (m->told || m->idle)
			continue;
		memcpy(module.segment, m->segment, sizeof(m->segment));
		r = capture_module_load(s, &module);
		m->told = r != -EAGAIN;
		r = r == -EAGAIN ? r : 0;
	}
	return r;
}

/* Asks the main thread to set probes. */
static void want_probes(struct watch *w)
{
	uint64_t one = 1;

	__atomic_store_n(&w->probe_wanted, true, __ATOMIC_RELAXED);
	if (write(w->hub->bell, &one, sizeof(one)) < 0)
		log_debug("the bell is full");
}

static int look_at_maps(struct watch *w, struct stream *s, uint64_t now)
{
	uint32_t before = __atomic_load_n(&w->shared->loads, __ATOMIC_ACQUIRE), news = 0;
	struct err_text err = {{0}};
	int r = ebpf_modules_look(&w->modules, w->pid, &news, &err);

	w->look_ns = now;
	w->look_wanted = false;
	if (r == -ENOMEM)
		return r;
	w->table = __atomic_load_n(&w->shared->loads, __ATOMIC_ACQUIRE);
	w->table_sure = !r && w->table == before;
	if (r) /* the process has ended */
		return 0;
	/* The loader's first two calls concern the libraries that a program starts with. */
	for (uint32_t i = 0;
	     w->image && !w->has_loader && w->table - w->image_table <= 2 && i < w->modules.count;
	     i++)
		w->modules.module[i].first = 0;
	if (news)
		watch_say_theirs(w);
	pthread_mutex_lock(&w->hub->remotes_lock);
	remote_look(w->remote, news != 0);
	pthread_mutex_unlock(&w->hub->remotes_lock);
	if (!w->has_loader || ebpf_modules_want_probes(&w->modules, !w->hub->has_cookies))
		want_probes(w);
	return tell_modules(w, s, now);
}

/* Reports the mappings of a new program before its events. */
static int meet_image(struct watch *w, struct stream *s)
{
	uint64_t now = clock_monotonic_ns();

	return watch_is_beginning(w, now) && now - w->look_ns > MEET_PAUSE_NS
		       ? look_at_maps(w, s, now)
		       : 0;
}

/* Everything before this call of the loader is delivered: lets the loader go on. */
static void answer(struct watch *w, uint32_t call)
{
	w->call = call;
	if (__atomic_load_n(&w->probe_wanted, __ATOMIC_RELAXED))
		return; /* the main thread answers after setting probes */
	__atomic_store_n(&w->shared->answered, call, __ATOMIC_RELEASE);
}

static int watch_drain(struct capture_source *source, struct stream *s, bool final)
{
	struct watch *w = watch_of(source);
	uint32_t image = __atomic_load_n(&w->shared->image, __ATOMIC_ACQUIRE), count, total = 0;
	uint64_t now = clock_monotonic_ns();
	bool empty;
	int r = look_at_threads(w, s, final, now);

	if (!r)
		r = tell_modules(w, s, now);
	if (r < 0)
		return r;
	/* Not while the ring still holds a report of a load. */
	if (now - w->look_ns > (watch_is_beginning(w, now) ? MEET_PAUSE_NS
				: w->look_wanted	   ? LOOK_LEAST_NS
							   : LOOK_NS) &&
	    __atomic_load_n(&w->shared->loads, __ATOMIC_ACQUIRE) == w->table)
		r = look_at_maps(w, s, now);
	if (r < 0)
		return r;
	do {
		uint64_t looked = clock_monotonic_ns();

		empty = take(w, &count);
		if (empty && looked > w->limit)
			w->limit = looked;
		while (!r && w->heap_count &&
		       (w->heap[0].stamp <= w->limit || w->heap_count == HUB_HEAP ||
			(final && empty))) {
			r = deliver(w, s, w->heap[0].position);
			if (!r)
				heap_drop(w);
		}
		release(w);
		total += count;
	} while (!r && count && total < ROUND_MOST);
	if (r < 0)
		return r;
	w->told_ns = stream_ns(s, w->limit);
	capture_watermark(s, w->told_ns);
	if (empty && !w->heap_count)
		r = settle(w, s, now);
	if (r < 0)
		return r;
	/* (An exec without a record: there was no room for it, or recording had not begun.) */
	if (empty && !w->heap_count && !s->exec_pending && (w->exec_next || image != w->image)) {
		s->exec_pending = true;
		return 1;
	}
	return final ? !empty || w->heap_count : total >= ROUND_MOST;
}

static void watch_count(struct capture_source *source, struct stream *s)
{
	struct watch *w = watch_of(source);

	for (uint32_t i = 0; i < w->hub->settings.threads; i++)
		if (w->lane[i].thread)
			count_lane(s, &w->lane[i], &w->hub->threads[i]);
	capture_samples_refused(s, __atomic_load_n(&w->shared->refused, __ATOMIC_RELAXED));
}

static bool watch_filling(const struct capture_source *source)
{
	const struct watch *w = (const struct watch *)source;

	return ring_waiting(&w->ring) > w->shared->wake_bytes;
}

static void watch_turn(struct capture_source *source, bool away)
{
	(void)away;
	__atomic_store_n(&watch_of(source)->shared->rung, 0, __ATOMIC_RELAXED);
}

static void watch_seal(struct capture_source *source, const struct stream *s)
{
	(void)source;
	(void)s;
}

/* Probes in files that the new program maps, too, already work. */
static void watch_begin_image(struct capture_source *source, const struct stream *s)
{
	struct watch *w = watch_of(source);

	(void)s;
	w->image++;
	w->epoch++;
	/* (Without a record of the exec the ring is empty.) */
	w->image_table =
		w->exec_next ? w->exec_loads : __atomic_load_n(&w->shared->loads, __ATOMIC_ACQUIRE);
	if (w->exec_next) {
		w->ring.position = w->exec_next;
		w->exec_next = 0;
		release(w);
	}
	watch_forget_blocks(w, true);
	ebpf_modules_begin_image(&w->modules);
	__atomic_store_n(&w->chosen, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&w->has_loader, false, __ATOMIC_RELAXED);
	__atomic_store_n(&w->image_ns, clock_monotonic_ns(), __ATOMIC_RELAXED);
	w->table = w->image_table;
	w->table_sure = false;
	w->look_ns = 0;
	w->look_wanted = true;
	if (!w->detached)
		__atomic_store_n(&w->shared->ready, 1, __ATOMIC_RELEASE);
}

static void watch_obey(struct capture_source *source, const struct stream *s)
{
	struct capture_stream *shared = watch_of(source)->shared;
	uint32_t mode = s->mode == HEAPCAST__MODE__MODE_OFF	 ? CAPTURE_OFF
			: s->mode == HEAPCAST__MODE__MODE_SAMPLE ? CAPTURE_SAMPLE
								 : CAPTURE_FULL;

	if (mode == CAPTURE_FULL)
		__atomic_store_n(&shared->closed, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->interval, s->sample_interval, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->mode, mode, __ATOMIC_RELEASE);
}

static void watch_let_go(struct capture_source *source)
{
	watch_detach(watch_of(source));
}

static uint64_t watch_uncounted(const struct capture_source *source)
{
	const struct watch *w = (const struct watch *)source;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < w->hub->settings.threads; i++)
		if (w->lane[i].thread)
			sum += grown(w->hub->threads[i].produced + w->hub->threads[i].passed,
				     w->lane[i].produced);
	return sum;
}

static void watch_retire(struct capture_source *source)
{
	watch_detach(watch_of(source));
}

static void watch_close(struct capture_source *source)
{
	watch_free(watch_of(source));
}

const struct capture_ops watch_ops = {
	.drain = watch_drain,
	.count = watch_count,
	.filling = watch_filling,
	.turn = watch_turn,
	.seal = watch_seal,
	.begin_image = watch_begin_image,
	.obey = watch_obey,
	.detach = watch_let_go,
	.uncounted = watch_uncounted,
	.retire = watch_retire,
	.close = watch_close,
};
