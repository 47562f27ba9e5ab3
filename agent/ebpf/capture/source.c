/*
 * What a watched process has recorded, as a source of runs (agent/core/capture.h). Runs in the
 * drain thread, under the stream's lock.
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
#include "agent/core/weight.h"
#include "base/log.h"
#include "agent/core/clock.h"
#include "bpf/walk_shared.h"
#include "proto/event.h"
#include "proto/ring.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define ROUND_MOST	65536 /* records in a round: other threads wait for the lock */
#define SETTLE_ITEMS	6     /* that settling a lane puts into a run at most */
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

static uint64_t stream_ns(const struct watch *w, uint64_t stamp)
{
	return stamp > w->start_ns ? stamp - w->start_ns : 0;
}

static uint64_t grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* ---- threads ---- */

static void begin_lane(struct watch *w, struct run *run, uint32_t number, uint32_t tid,
		       uint64_t stamp)
{
	struct run_item *item = run_put(run, RUN_THREAD, number, stream_ns(w, stamp));

	item->thread.tid = tid;
	item->thread.name[0] = 0;
	w->lane[number] = (struct watch_lane){
		.begun = true, .restarts = true, .tid = tid, .last_ns = stream_ns(w, stamp)};
}

/* Begins new threads and marks ended ones: the ring holds all their records by now. Returns false
 * if the run is full. */
static bool look_at_threads(struct watch *w, struct run *run, bool final, uint64_t now)
{
	for (uint32_t i = 0; i < w->hub->settings.threads; i++) {
		const struct capture_thread *t = &w->hub->threads[i];
		uint32_t state = __atomic_load_n(&t->state, __ATOMIC_ACQUIRE);

		if (state == CAPTURE_THREAD_FREE || t->stream != w->number || t->image != w->image)
			continue;
		if (!w->lane[i].begun) {
			if (!run_fits(run, 1))
				return false;
			begin_lane(w, run, i, t->tid, now);
		}
		w->lane[i].dead = final || state == CAPTURE_THREAD_DEAD;
	}
	return true;
}

static struct capture_counts grow(struct watch_lane *l, const struct capture_thread *t)
{
	uint64_t passed = __atomic_load_n(&t->passed, __ATOMIC_ACQUIRE);
	uint64_t not_sampled = passed + __atomic_load_n(&t->not_sampled, __ATOMIC_ACQUIRE);
	uint64_t produced = passed + __atomic_load_n(&t->produced, __ATOMIC_ACQUIRE);
	struct capture_counts more = {.produced = grown(produced, l->produced),
				      .not_sampled = grown(not_sampled, l->not_sampled)};

	l->produced = produced;
	l->not_sampled = not_sampled;
	return more;
}

/* Puts allocations whose end was not seen. */
static void put_unanswered(struct watch *w, struct run *run, uint32_t number, uint64_t to_ns)
{
	const struct capture_thread *t = &w->hub->threads[number];
	struct watch_lane *l = &w->lane[number];
	uint64_t count = __atomic_load_n(&t->unanswered, __ATOMIC_ACQUIRE),
		 bytes = __atomic_load_n(&t->unanswered_bytes, __ATOMIC_ACQUIRE);
	struct run_losses lost = {.events = grown(count, l->unanswered),
				  .allocations = grown(count, l->unanswered),
				  .bytes = grown(bytes, l->unanswered_bytes)};

	run_put_gap(run, number, &lost, HEAPCAST__REASON__REASON_NO_RESULT, l->last_ns, to_ns);
	l->unanswered = count;
	l->unanswered_bytes = bytes;
}

/* Puts events that did not fit into the ring. */
static void put_refused(struct watch *w, struct run *run, uint32_t number, uint64_t to_ns)
{
	const struct capture_thread *t = &w->hub->threads[number];
	struct watch_lane *l = &w->lane[number];
	uint64_t allocations = __atomic_load_n(&t->lost_allocations, __ATOMIC_ACQUIRE),
		 frees = __atomic_load_n(&t->lost_frees, __ATOMIC_ACQUIRE),
		 bytes = __atomic_load_n(&t->lost_bytes, __ATOMIC_ACQUIRE);
	struct run_losses lost = {.allocations = grown(allocations, l->lost_allocations),
				  .frees = grown(frees, l->lost_frees),
				  .bytes = grown(bytes, l->lost_bytes)};

	lost.events = lost.allocations + lost.frees;
	run_put_gap(run, number, &lost, HEAPCAST__REASON__REASON_RING_FULL, l->last_ns, to_ns);
	l->lost_allocations = allocations;
	l->lost_frees = frees;
	l->lost_bytes = bytes;
}

/* Puts events of threads without a place. */
static void put_nobody(struct watch *w, struct run *run, uint64_t to_ns)
{
	const struct capture_stream *shared = w->shared;
	uint64_t allocations = __atomic_load_n(&shared->no_thread_allocations, __ATOMIC_RELAXED),
		 frees = __atomic_load_n(&shared->no_thread_frees, __ATOMIC_RELAXED);
	struct run_losses lost = {.allocations = grown(allocations, w->no_thread_allocations),
				  .frees = grown(frees, w->no_thread_frees)};

	lost.events = lost.allocations + lost.frees;
	if (!lost.events)
		return;
	run_put_gap(run, RUN_NO_LANE, &lost, HEAPCAST__REASON__REASON_NO_SLICE, w->no_thread_ns,
		    to_ns);
	w->no_thread_allocations = allocations;
	w->no_thread_frees = frees;
	w->no_thread_ns = to_ns;
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

static void reap_lane(struct watch *w, struct run *run, uint32_t number, uint64_t now_ns)
{
	struct watch_lane *l = &w->lane[number];
	const struct capture_thread *t = &w->hub->threads[number];
	struct capture_counts more = grow(l, t);
	struct run_losses rest = {
		.events = grown(l->produced, l->delivered + l->not_sampled + l->lost_allocations +
						     l->lost_frees + l->unanswered)};

	run_put_counts(run, number, more.produced, more.not_sampled);
	run_put_gap(run, number, &rest, HEAPCAST__REASON__REASON_WRITER_DIED, l->last_ns, now_ns);
	run_put(run, RUN_ENDED, number, now_ns);
	run_put(run, RUN_LEFT, number, now_ns);
	log_debug("thread %u: %llu calls were left without an end, %llu were an allocator's own",
		  t->tid, (unsigned long long)t->left, (unsigned long long)t->inner);
	*l = (struct watch_lane){0};
	give_place(w, number);
}

/* Puts a mark if the program had to wait for long enough. */
static void put_waits(struct watch *w, struct run *run, uint64_t now_ns)
{
	uint64_t waited = __atomic_load_n(&w->shared->waited_ns, __ATOMIC_RELAXED),
		 more = grown(waited, w->waited_ns);

	if (more < WAITED_LEAST_NS)
		return;
	run_put_mark(run, RUN_NO_LANE, HEAPCAST__MARK_KIND__MARK_WAITED, more, now_ns);
	w->waited_ns = waited;
}

/* The ring is empty: puts losses, and closes ended threads. Returns false if the run is full. */
static bool settle(struct watch *w, struct run *run, uint64_t now)
{
	uint64_t now_ns = stream_ns(w, now);

	if (!run_fits(run, 2))
		return false;
	put_nobody(w, run, now_ns);
	put_waits(w, run, now_ns);
	for (uint32_t i = 0; i < w->hub->settings.threads; i++) {
		if (!w->lane[i].begun)
			continue;
		if (!run_fits(run, SETTLE_ITEMS))
			return false;
		put_refused(w, run, i, now_ns);
		put_unanswered(w, run, i, now_ns);
		if (w->lane[i].dead)
			reap_lane(w, run, i, now_ns);
	}
	return true;
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
			? r->count <= room && r->count <= RUN_COUNT_MAX && r->keep <= RUN_KEEP_MAX
			: r->type == CAPTURE_RAW && length >= sizeof(struct capture_raw) &&
				  ((const struct capture_raw *)r)->length <=
					  length - sizeof(struct capture_raw));
}

/* Walks a stack that the kernel could not walk. */
static void unwind(struct watch *w, const struct capture_raw *raw)
{
	struct remote_stack stack = {
		.regs = {.pc = raw->pc, .sp = raw->sp, .fp = raw->fp, .has_saved = true},
		.address = raw->sp & ~(uint64_t)4095,
		.copy = raw->copy,
		.size = raw->length,
		.miss = raw->miss,
	};

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

		if (pcs[kept] >= RUN_PSEUDO_LIMIT && (!m || m->first || !m->seen))
			break;
		w->pcs[kept] = pcs[kept];
		kept++;
	}
	if (kept < count || beyond)
		w->pcs[kept++] = HEAPCAST__PSEUDO_FRAME__FRAME_TRUNCATED;
	return kept;
}

static void look_at_maps(struct watch *w, uint64_t now);
static void meet_image(struct watch *w);
static bool put_module(struct watch *w, struct run *run, uint64_t now);
static void answer(struct watch *w, uint32_t call);

bool watch_is_beginning(const struct watch *w, uint64_t now_ns)
{
	uint64_t since = __atomic_load_n(&w->image_ns, __ATOMIC_RELAXED);

	return since && !__atomic_load_n(&w->has_loader, __ATOMIC_RELAXED) &&
	       now_ns - since <
		       (__atomic_load_n(&w->chosen, __ATOMIC_RELAXED) ? SETTLED_NS : MEET_NS);
}

/* Gives the event the record's stack: its new frames, and those that it keeps of the last stack. */
static void put_stack(struct watch *w, const struct capture_record *r, struct run_item *to)
{
	struct watch_lane *l = &w->lane[r->thread];
	bool raw = r->type == CAPTURE_RAW, has = r->flags & CAPTURE_HAS_STACK;
	uint32_t keep = raw ? 0 : r->keep, count = raw ? w->raw_count : r->count;

	to->pcs = raw ? w->pcs : (const uint64_t *)(const void *)(r + 1);
	to->epoch = w->epoch;
	if (l->restarts)
		to->flags |= RUN_RESTART;
	l->restarts = false;
	if (has && !is_sure(w, r)) {
		count = cut(w, to->pcs, count, keep);
		to->pcs = w->pcs;
		keep = 0;
		l->restarts = true;
	}
	to->frames = has ? RUN_FRAMES(keep, count) : 0;
	w->pcs_used |= has && to->pcs == w->pcs;
}

/* Puts the end of the range that an mremap was given, at the time of the call, but not before the
 * reported watermark. */
static void put_old_range(struct watch *w, struct run *run, const struct capture_record *r,
			  const struct run_item *of)
{
	uint64_t time_ns = stream_ns(w, r->call_stamp);
	struct run_item *to =
		run_put(run, RUN_EVENT, r->thread, time_ns > w->told_ns ? time_ns : w->told_ns);

	to->event = EVENT_MUNMAP;
	to->class = EVENT_CLASS_FREE;
	to->flags = of->flags & RUN_RESTART;
	to->address = r->old_address;
	to->size = r->interval;
	to->frames = of->frames;
	to->pcs = of->pcs;
	to->epoch = of->epoch;
}

static void put_event(struct watch *w, struct run *run, const struct capture_record *r)
{
	struct watch_lane *l = &w->lane[r->thread];
	bool sized = event_has_size(r->kind);
	struct run_item e = {.kind = RUN_EVENT,
			     .event = r->kind,
			     .class = (uint8_t)event_class(r->kind),
			     .lane = r->thread,
			     .time_ns = stream_ns(w, r->stamp)};

	if (r->type == CAPTURE_RAW)
		unwind(w, (const struct capture_raw *)r);
	put_stack(w, r, &e);
	if (r->kind == EVENT_MREMAP && r->interval) {
		put_old_range(w, run, r, &e);
		l->delivered++;
	}
	e.address = r->address;
	e.size = sized ? r->size : 0;
	if (e.class == EVENT_CLASS_REALLOCATION) {
		e.old_address = r->old_address;
		e.call_time_ns = grown(r->stamp, r->call_stamp);
	}
	if (sized && r->interval && r->kind != EVENT_MREMAP) {
		e.weight = weight_of(r->size, r->interval);
		e.flags |= RUN_WEIGHTED;
	}
	run->item[run->count++] = e;
	l->delivered++;
	l->last_ns = e.time_ns;
}

/* Takes the record. Returns false if the run must be taken first. */
static bool take_record(struct watch *w, struct run *run, uint64_t position)
{
	const struct capture_record *r;
	const struct watch_lane *l;
	const uint8_t *data;
	uint32_t length;
	uint64_t next;

	if (w->pcs_used || !run_fits(run, 3))
		return false;
	if (ring_peek(&w->ring, position, &data, &length, &next) <= 0)
		return true;
	r = (const struct capture_record *)(const void *)data;
	if ((int32_t)(r->loads - w->table) > 0)
		look_at_maps(w, clock_monotonic_ns());
	else if (w->image && !w->has_loader)
		meet_image(w);
	if (w->modules_due && (run->count || put_module(w, run, clock_monotonic_ns())))
		return false;
	if (r->type == CAPTURE_LOADER) {
		answer(w, r->keep);
		return true;
	}
	l = &w->lane[r->thread];
	if (!l->begun || l->tid != r->tid)
		begin_lane(w, run, r->thread, r->tid, r->stamp);
	put_event(w, run, r);
	return true;
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

static void put_load(struct watch *w, struct run *run, const struct ebpf_module *m, uint64_t now)
{
	struct run_module *to = &w->module;

	*to = (struct run_module){
		.id = m->id,
		.epoch = w->epoch,
		.time_ns = stream_ns(w, now),
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
	memcpy(to->segment, m->segment, sizeof(m->segment));
	run_put(run, RUN_LOAD, RUN_NO_LANE, to->time_ns)->module = to;
}

/* Puts the next module that has come or gone into the run, which must be empty: there is memory for
 * one. Returns false if there is none. */
static bool put_module(struct watch *w, struct run *run, uint64_t now)
{
	for (uint32_t i = 0; i < w->modules.count; i++) {
		struct ebpf_module *m = &w->modules.module[i];
		struct run_item *item;

		if (m->idle || (m->told && m->seen))
			continue;
		if (!m->told) {
			put_load(w, run, m, now);
			m->told = true;
			return true;
		}
		item = run_put(run, RUN_UNLOAD, RUN_NO_LANE, stream_ns(w, now));
		item->unload.id = m->id;
		item->unload.epoch = ++w->epoch;
		ebpf_modules_remove(&w->modules, i);
		return true;
	}
	w->modules_due = false;
	return false;
}

/* Asks the main thread to set probes. */
static void want_probes(struct watch *w)
{
	uint64_t one = 1;

	__atomic_store_n(&w->probe_wanted, true, __ATOMIC_RELAXED);
	if (write(w->hub->bell, &one, sizeof(one)) < 0)
		log_debug("the bell is full");
}

static void look_at_maps(struct watch *w, uint64_t now)
{
	uint32_t before = __atomic_load_n(&w->shared->loads, __ATOMIC_ACQUIRE), news = 0;
	struct err_text err = {{0}};
	int r = ebpf_modules_look(&w->modules, w->pid, &news, &err);

	w->look_ns = now;
	w->look_wanted = false;
	w->modules_due = true;
	w->table = __atomic_load_n(&w->shared->loads, __ATOMIC_ACQUIRE);
	w->table_sure = !r && w->table == before;
	if (r) /* the process has ended, or there is no memory: its stacks end there */
		return;
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
}

/* Reports the mappings of a new program before its events. */
static void meet_image(struct watch *w)
{
	uint64_t now = clock_monotonic_ns();

	if (watch_is_beginning(w, now) && now - w->look_ns > MEET_PAUSE_NS)
		look_at_maps(w, now);
}

/* Everything before this call of the loader is delivered: lets the loader go on. */
static void answer(struct watch *w, uint32_t call)
{
	w->call = call;
	if (__atomic_load_n(&w->probe_wanted, __ATOMIC_RELAXED))
		return; /* the main thread answers after setting probes */
	__atomic_store_n(&w->shared->answered, call, __ATOMIC_RELEASE);
}

/* Reads the mappings if it is time. Not while the ring still holds a report of a load. */
static void look_if_due(struct watch *w, uint64_t now)
{
	uint64_t pause = watch_is_beginning(w, now) ? MEET_PAUSE_NS
			 : w->look_wanted	    ? LOOK_LEAST_NS
						    : LOOK_NS;

	if (now - w->look_ns > pause &&
	    __atomic_load_n(&w->shared->loads, __ATOMIC_ACQUIRE) == w->table)
		look_at_maps(w, now);
}

/* Takes the records of the heap that no older one can precede. Returns false if the run must be
 * taken first. */
static bool take_records(struct watch *w, struct run *run, bool all)
{
	while (w->heap_count &&
	       (w->heap[0].stamp <= w->limit || w->heap_count == HUB_HEAP || all)) {
		if (!take_record(w, run, w->heap[0].position))
			return false;
		heap_drop(w);
	}
	return true;
}

/* Reads the ring. Sets *ret_empty if everything in it was taken. Returns false if the run must be
 * taken first. */
static bool read_ring(struct watch *w, struct run *run, bool final, bool *ret_empty)
{
	uint32_t count, before;

	do {
		uint64_t looked = clock_monotonic_ns();

		*ret_empty = take(w, &count);
		w->round += count;
		before = w->heap_count;
		if (*ret_empty && looked > w->limit)
			w->limit = looked;
		if (!take_records(w, run, final && *ret_empty))
			return false;
		w->release_due = true;
	} while ((count || w->heap_count < before) && w->round < ROUND_MOST);
	return true;
}

/* Begins a round: looks at threads and mappings. Returns false if the run must be taken first. */
static bool begin_round(struct watch *w, struct run *run, bool final, uint64_t now)
{
	if (!look_at_threads(w, run, final, now))
		return false;
	look_if_due(w, now);
	w->in_round = true;
	w->round_final = final;
	w->round = 0;
	return !w->modules_due || (!run->count && !put_module(w, run, now));
}

static void watch_fill(struct capture_source *source, bool final, struct run *run)
{
	struct watch *w = watch_of(source);
	uint32_t image = __atomic_load_n(&w->shared->image, __ATOMIC_ACQUIRE);
	uint64_t now = clock_monotonic_ns();
	bool empty, done;

	w->pcs_used = false;
	if (w->release_due)
		release(w); /* what the last run had */
	w->release_due = false;
	if ((w->modules_due && put_module(w, run, now)) ||
	    (!w->in_round && !begin_round(w, run, final, now)) || !read_ring(w, run, final, &empty))
		return;
	done = empty && !w->heap_count;
	if (done && !settle(w, run, now))
		return;
	w->told_ns = stream_ns(w, w->limit);
	run->complete = true;
	run->until_ns = w->told_ns;
	/* (An exec without a record: there was no room for it, or recording had not begun.) */
	run->exec = done && !w->exec_told && (w->exec_next || image != w->image);
	w->exec_told |= run->exec;
	run->more = run->exec || (final ? !done || !w->round_final : w->round >= ROUND_MOST);
	w->in_round = false;
}

static struct capture_counts watch_count(struct capture_source *source, uint32_t lane)
{
	struct watch *w = watch_of(source);

	return lane < w->hub->settings.threads && w->lane[lane].begun
		       ? grow(&w->lane[lane], &w->hub->threads[lane])
		       : (struct capture_counts){0};
}

static struct capture_totals watch_totals(const struct capture_source *source)
{
	const struct watch *w = (const struct watch *)source;

	return (struct capture_totals){
		.samples_refused = __atomic_load_n(&w->shared->refused, __ATOMIC_RELAXED)};
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

static void watch_seal(struct capture_source *source, const struct capture_account *account)
{
	(void)source;
	(void)account;
}

/* Probes in files that the new program maps, too, already work. */
static void watch_begin_image(struct capture_source *source, uint32_t image)
{
	struct watch *w = watch_of(source);

	(void)image; /* the kernel counts from the start of the watch */
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
	w->look_wanted = w->modules_due = true;
	w->exec_told = false;
	if (!w->detached)
		__atomic_store_n(&w->shared->ready, 1, __ATOMIC_RELEASE);
}

static void watch_obey(struct capture_source *source, const struct capture_orders *orders)
{
	struct capture_stream *shared = watch_of(source)->shared;
	uint32_t mode = orders->mode == RING_OFF      ? CAPTURE_OFF
			: orders->mode == RING_SAMPLE ? CAPTURE_SAMPLE
						      : CAPTURE_FULL;

	if (mode == CAPTURE_FULL)
		__atomic_store_n(&shared->closed, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->interval, orders->sample_interval, __ATOMIC_RELAXED);
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
		if (w->lane[i].begun)
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
	.fill = watch_fill,
	.count = watch_count,
	.totals = watch_totals,
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
