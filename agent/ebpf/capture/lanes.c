/* Manages the threads of a watched process. See lanes.h. */
#include "agent/ebpf/capture/lanes.h"

#include <string.h>

#include <bpf/bpf.h>

#include "base/log.h"
#include "heapcast.pb-c.h"
#include "base/ban.h"

#define SETTLE_ITEMS	6 /* most items that settling a lane puts into a run */
#define WAITED_LEAST_NS 50000000

void lane_begin(struct watch *w, struct run *run, uint32_t number, uint32_t tid, uint64_t stamp)
{
	struct run_item *item = run_put(run, RUN_THREAD, number, watch_ns(w, stamp));

	item->thread.tid = tid;
	item->thread.name[0] = 0;
	w->lane[number] = (struct watch_lane){
		.begun = true, .restarts = true, .tid = tid, .last_ns = watch_ns(w, stamp)};
}

bool lanes_look(struct watch *w, struct run *run, bool final, uint64_t now)
{
	for (uint32_t i = 0; i < w->hub->settings.threads; i++) {
		const struct capture_thread *t = &w->hub->threads[i];
		uint32_t state = __atomic_load_n(&t->state, __ATOMIC_ACQUIRE);

		if (state == CAPTURE_THREAD_FREE || t->stream != w->number || t->image != w->image)
			continue;
		if (!w->lane[i].begun) {
			if (!run_fits(run, 1))
				return false;
			lane_begin(w, run, i, t->tid, now);
		}
		w->lane[i].dead = final || state == CAPTURE_THREAD_DEAD;
	}
	return true;
}

struct capture_counts lane_grow(struct watch_lane *l, const struct capture_thread *t)
{
	uint64_t passed = __atomic_load_n(&t->passed, __ATOMIC_ACQUIRE);
	uint64_t not_sampled = passed + __atomic_load_n(&t->not_sampled, __ATOMIC_ACQUIRE);
	uint64_t produced = passed + __atomic_load_n(&t->produced, __ATOMIC_ACQUIRE);
	struct capture_counts more = {.produced = watch_grown(produced, l->produced),
				      .not_sampled = watch_grown(not_sampled, l->not_sampled)};

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
	struct run_losses lost = {.events = watch_grown(count, l->unanswered),
				  .allocations = watch_grown(count, l->unanswered),
				  .bytes = watch_grown(bytes, l->unanswered_bytes)};

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
	struct run_losses lost = {.allocations = watch_grown(allocations, l->lost_allocations),
				  .frees = watch_grown(frees, l->lost_frees),
				  .bytes = watch_grown(bytes, l->lost_bytes)};

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
	struct run_losses lost = {.allocations = watch_grown(allocations, w->no_thread_allocations),
				  .frees = watch_grown(frees, w->no_thread_frees)};

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
	struct capture_counts more = lane_grow(l, t);
	struct run_losses rest = {.events = watch_grown(l->produced, l->delivered + l->not_sampled +
									     l->lost_allocations +
									     l->lost_frees +
									     l->unanswered)};

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
		 more = watch_grown(waited, w->waited_ns);

	if (more < WAITED_LEAST_NS)
		return;
	run_put_mark(run, RUN_NO_LANE, HEAPCAST__MARK_KIND__MARK_WAITED, more, now_ns);
	w->waited_ns = waited;
}

bool lanes_settle(struct watch *w, struct run *run, uint64_t now)
{
	uint64_t now_ns = watch_ns(w, now);

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
