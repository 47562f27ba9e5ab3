/*
 * Delivers what the kernel has recorded of a watched process, as a source of runs
 * (agent/core/capture.h). It works in the drain thread, under the stream's lock.
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

#include "agent/ebpf/capture/hub.h"
#include "agent/ebpf/capture/lanes.h"
#include "agent/ebpf/capture/loads.h"
#include "agent/core/weight.h"
#include "base/log.h"
#include "agent/core/clock.h"
#include "bpf/walk_shared.h"
#include "proto/event.h"
#include "proto/ring.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define ROUND_MOST   65536 /* most records in a round, because other threads wait for the lock */
#define EVENT_MREMAP 13	   /* proto/event.h */
#define EVENT_MUNMAP 36

static struct watch *watch_of(struct capture_source *source)
{
	return (struct watch *)source;
}

/* ---- records ---- */

static bool source_is_sound(const struct watch *w, const struct capture_record *r, uint32_t length)
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

/* Returns true if the modules were known at the time of the event. For a stack that the agent
 * walks, they must also be unchanged now. */
static bool is_sure(const struct watch *w, const struct capture_record *r)
{
	return w->table_sure && w->table == r->loads &&
	       (r->type == CAPTURE_EVENT ||
		__atomic_load_n(&w->shared->loads, __ATOMIC_ACQUIRE) == r->loads);
}

/* Cuts a stack whose modules are not known for certain: keeps the inner frames that lie in modules
 * which were present from the start. `beyond` is the number of further outer frames. */
static uint32_t source_cut(struct watch *w, const uint64_t *pcs, uint32_t count, uint32_t beyond)
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

static void answer(struct watch *w, uint32_t call);

/* Gives the event the record's stack: its new frames, and those that it keeps of the last stack. */
static void source_put_stack(struct watch *w, const struct capture_record *r, struct run_item *to)
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
		count = source_cut(w, to->pcs, count, keep);
		to->pcs = w->pcs;
		keep = 0;
		l->restarts = true;
	}
	to->frames = has ? RUN_FRAMES(keep, count) : 0;
	w->pcs_used |= has && to->pcs == w->pcs;
}

/* Puts the end of an mremap's old range, at the time of the call, but not before the reported
 * watermark. */
static void put_old_range(struct watch *w, struct run *run, const struct capture_record *r,
			  const struct run_item *of)
{
	uint64_t time_ns = watch_ns(w, r->call_stamp);
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

static void source_put_event(struct watch *w, struct run *run, const struct capture_record *r)
{
	struct watch_lane *l = &w->lane[r->thread];
	bool sized = event_has_size(r->kind);
	struct run_item e = {.kind = RUN_EVENT,
			     .event = r->kind,
			     .class = (uint8_t)event_class(r->kind),
			     .lane = r->thread,
			     .time_ns = watch_ns(w, r->stamp)};

	if (r->type == CAPTURE_RAW)
		unwind(w, (const struct capture_raw *)r);
	source_put_stack(w, r, &e);
	if (r->kind == EVENT_MREMAP && r->interval) {
		put_old_range(w, run, r, &e);
		l->delivered++;
	}
	e.address = r->address;
	e.size = sized ? r->size : 0;
	if (e.class == EVENT_CLASS_REALLOCATION) {
		e.old_address = r->old_address;
		e.call_time_ns = watch_grown(r->stamp, r->call_stamp);
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
		loads_look(w, clock_monotonic_ns());
	else if (w->image && !w->has_loader)
		loads_meet_image(w);
	if (w->modules_due && (run->count || loads_put(w, run, clock_monotonic_ns())))
		return false;
	if (r->type == CAPTURE_LOADER) {
		answer(w, r->keep);
		return true;
	}
	l = &w->lane[r->thread];
	if (!l->begun || l->tid != r->tid)
		lane_begin(w, run, r->thread, r->tid, r->stamp);
	source_put_event(w, run, r);
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

static void source_release(struct watch *w)
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
static bool source_take(struct watch *w, uint32_t *ret_count)
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
		if (got < 0 || !source_is_sound(w, r, length)) {
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

/* Lets the loader go on, because everything before this call of the loader is delivered. */
static void answer(struct watch *w, uint32_t call)
{
	w->call = call;
	if (__atomic_load_n(&w->probe_wanted, __ATOMIC_RELAXED))
		return; /* the main thread answers after setting probes */
	__atomic_store_n(&w->shared->answered, call, __ATOMIC_RELEASE);
}

/* Takes the records of the heap that no older record can precede. Returns false if the run must be
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

		*ret_empty = source_take(w, &count);
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
	if (!lanes_look(w, run, final, now))
		return false;
	loads_look_if_due(w, now);
	w->in_round = true;
	w->round_final = final;
	w->round = 0;
	return !w->modules_due || (!run->count && !loads_put(w, run, now));
}

static void watch_fill(struct capture_source *source, bool final, struct run *run)
{
	struct watch *w = watch_of(source);
	uint32_t image = __atomic_load_n(&w->shared->image, __ATOMIC_ACQUIRE);
	uint64_t now = clock_monotonic_ns();
	bool empty, done;

	w->pcs_used = false;
	if (w->release_due)
		source_release(w); /* release the records of the last run */
	w->release_due = false;
	if ((w->modules_due && loads_put(w, run, now)) ||
	    (!w->in_round && !begin_round(w, run, final, now)) || !read_ring(w, run, final, &empty))
		return;
	done = empty && !w->heap_count;
	if (done && !lanes_settle(w, run, now))
		return;
	w->told_ns = watch_ns(w, w->limit);
	run->complete = true;
	run->until_ns = w->told_ns;
	/* An exec has no record if the ring had no room for it, or if recording had not begun. */
	run->exec = done && !w->exec_told && (w->exec_next || image != w->image);
	w->exec_told |= run->exec;
	run->more = run->exec || (final ? !done || !w->round_final : w->round >= ROUND_MOST);
	w->in_round = false;
}

static struct capture_counts watch_count(struct capture_source *source, uint32_t lane)
{
	struct watch *w = watch_of(source);

	return lane < w->hub->settings.threads && w->lane[lane].begun
		       ? lane_grow(&w->lane[lane], &w->hub->threads[lane])
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

/* Begins the new program. Probes in files that it maps, too, already work. */
static void watch_begin_image(struct capture_source *source, uint32_t image,
			      const struct target_info *target)
{
	struct watch *w = watch_of(source);

	(void)image; /* the kernel counts from the start of the watch */
	(void)target;
	w->image++;
	w->epoch++;
	/* Without a record of the exec, the ring is empty. */
	w->image_table =
		w->exec_next ? w->exec_loads : __atomic_load_n(&w->shared->loads, __ATOMIC_ACQUIRE);
	if (w->exec_next) {
		w->ring.position = w->exec_next;
		w->exec_next = 0;
		source_release(w);
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
			sum += watch_grown(w->hub->threads[i].produced + w->hub->threads[i].passed,
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
	.kind = HEAPCAST__CAPTURE__CAPTURE_EBPF,
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
