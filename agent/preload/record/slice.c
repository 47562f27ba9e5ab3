/* The writer's side of the ring's slices; see slice.h. */
#include "agent/preload/record/slice.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>

#include "agent/preload/system/clock.h"
#include "agent/preload/system/owner.h"
#include "agent/preload/record/patience.h"
#include "agent/preload/record/reach.h"
#include "agent/preload/record/sample.h"
#include "agent/preload/system/sys.h"
#include "agent/preload/record/thin.h"

#include "agent/preload/poison.h"

#define STACK_SPARE 32 /* words of half a slice that a stack cannot use */
/* number of doublings: up to 2 MiB, or 1024 times the ordered interval */
#define THIN_MOST     10
#define THINNED_LOOKS 8		/* events of a thinned thread between two looks for room */
#define THINNED_NS    20000000u /* ns with room for each step back */
#define REFUSED_LOOKS 64	/* events that a quiet thread counts between two attempts */
#define DEAD_SLICE_US 2000
#define RESTART_WORDS 8
#define LOST_WORDS    5
#define MOVE_WORDS    3
#define SAVE_ROOM     6 /* a RING_SAVE, and the rest before the end of the data */

/* Words kept free in each slice, so that its thread can leave a full slice for a larger one: a
 * RING_LOST, a RING_MOVE, and for each of them the shorter rest before the end of the data that it
 * may have to skip. */
#define MOVE_ROOM (2 * LOST_WORDS + 2 * MOVE_WORDS)

static struct ring_slice *slice_at(struct ring_header *ring, uint32_t index)
{
	return (struct ring_slice *)((uintptr_t)ring + (uintptr_t)ring->slices_offset) + index;
}

static uint32_t slice_index(struct ring_header *ring, const struct ring_slice *slice)
{
	return (uint32_t)(((uintptr_t)slice - (uintptr_t)slice_at(ring, 0)) / sizeof(*slice));
}

static uint32_t slice_state(const struct ring_slice *slice)
{
	return __atomic_load_n(&slice->state, __ATOMIC_ACQUIRE);
}

/* Returns the rank of a slice by its size, lowest first. The size in which a thread should start
 * comes first, then sizes from small to large. */
static uint64_t rank(const struct ring_slice *slice)
{
	return slice->words == RING_FIRST_WORDS ? 0 : slice->words;
}

/* Finds the best free slice with more than `words` words, or NULL. Another thread may claim it
 * first. */
static struct ring_slice *find_free(struct ring_header *ring, uint64_t words)
{
	struct ring_slice *best = NULL;

	for (uint32_t i = 0; i < reach_slices(); i++) {
		struct ring_slice *slice = slice_at(ring, i);

		if (slice->words <= words || slice_state(slice) != RING_SLICE_FREE)
			continue;
		if (!best || rank(slice) < rank(best))
			best = slice;
	}
	return best;
}

static struct ring_slice *claim_free(struct ring_header *ring, uint64_t words)
{
	for (;;) {
		struct ring_slice *slice = find_free(ring, words);
		uint32_t expected = RING_SLICE_FREE;

		if (!slice && reach_more(ring))
			continue;
		if (!slice)
			return NULL;
		if (__atomic_compare_exchange_n(&slice->state, &expected, RING_SLICE_CLAIMING,
						false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return slice;
	}
}

/*
 * Positions that follow from the agent's tail.
 *
 *	 tail		       check			    limit     end
 *	  | read by the agent  | half full: doorbell        |	     | room to leave
 *	--+--------------------+---------------------------+--------+--
 *
 * With the policy thin the limit is at three quarters. A thread that reaches it moves to a larger
 * slice, waits, or is thinned; until that takes effect, it has the last quarter to write in. `step`
 * is how far it has advanced there.
 */
static void look_at_tail(struct thread *thread)
{
	uint64_t words = thread->mask + 1;
	uint64_t tail = __atomic_load_n(&thread->slice->tail, __ATOMIC_ACQUIRE);

	thread->end = thread->limit = tail + words - MOVE_ROOM;
	if (thread->policy == RING_THIN) {
		uint64_t most = tail + words / 4 * 3;

		most = most > thread->step ? most : thread->step;
		thread->limit = most < thread->end ? most : thread->end;
	}
	thread->check = tail + words / 2;
	if (thread->thinned && thread->check > thread->head + words / 8)
		thread->check = thread->head + words / 8;
}

void slice_set_depth(struct thread *thread)
{
	uint64_t most = (thread->mask + 1) / 2 - STACK_SPARE;
	uint64_t limit = thread->depth_limit;

	if (limit > UNWIND_MAX_DEPTH)
		limit = UNWIND_MAX_DEPTH;
	if (limit > most)
		limit = most;
	thread->depth = limit ? (uint32_t)limit : 1;
}

bool slice_claim(struct thread *thread, uint64_t words, uint64_t first)
{
	struct ring_header *ring = shim_ring();
	struct ring_slice *slice = ring ? claim_free(ring, words) : NULL;

	if (!slice)
		return false;
	slice->owner_tid = owner_take(slice);
	if (!slice->owner_tid) {
		__atomic_store_n(&slice->state, RING_SLICE_FREE, __ATOMIC_RELEASE);
		return false;
	}
	slice->generation++;
	slice->events = 0;
	slice->not_sampled = 0;
	slice->lost = (struct ring_losses){0};
	slice->full_waits = 0;
	slice->waited_ns = 0;
	slice->wanted = 0;
	slice->saved_frames = 0;
	slice->claim_stamp = stamp_now();
	slice->thread_first = first;
	slice->incarnation = thread->incarnation;
	if (sys_call(SYS_prctl, PR_GET_NAME, slice->name))
		slice->name[0] = 0;
	__atomic_store_n(&slice->entered, thread->last_stamp, __ATOMIC_RELAXED);
	__atomic_store_n(&slice->state, RING_SLICE_OWNED, __ATOMIC_RELEASE);
	__atomic_fetch_add(&ring->claims, 1, __ATOMIC_RELEASE);

	thread->slice = slice;
	thread->data = (uint64_t *)((uintptr_t)ring + (uintptr_t)slice->data_offset);
	thread->mask = slice->words - 1;
	thread->head = slice->head;
	slice_set_depth(thread);
	thread->pressure = 0;
	thread->epoch = 0; /* each slice starts in epoch 0 */
	thread->short_until = 0;
	thread->step = 0;
	look_at_tail(thread);
	if (tls.skipped)
		tls.skipped = &slice->not_sampled;
	__atomic_store_n(&thread->place,
			 (uint64_t)slice->generation << 32 | (slice_index(ring, slice) + 1),
			 __ATOMIC_RELEASE);
	unwind_forget(thread->unwind);
	return true;
}

static uint32_t saturated(uint64_t value)
{
	return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* Makes a RING_LOST of the losses since the last record. */
static void make_lost(struct thread *thread, uint64_t *record, uint64_t stamp)
{
	const struct ring_losses *lost = &thread->pending;

	record[0] = RING_WORD0(RING_LOST, 0, 0, 0, 0, 0);
	record[1] = stamp;
	record[2] = lost->events;
	record[3] = (uint64_t)saturated(lost->allocations) << 32 | saturated(lost->frees);
	record[4] = lost->bytes;
	thread->pending = (struct ring_losses){0};
}

bool slice_put_losses(struct thread *thread, uint64_t stamp)
{
	uint64_t *record = slice_reserve_rarely(thread, LOST_WORDS);

	if (!record)
		return false;
	make_lost(thread, record, stamp);
	slice_publish(thread, LOST_WORDS);
	unwind_forget(thread->unwind);
	return true;
}

/* Writes a record to a slice that its thread is about to leave. Returns the new head. */
static uint64_t put_last(uint64_t *data, uint64_t mask, uint64_t head, const uint64_t *record,
			 unsigned words)
{
	uint64_t at = head & mask, left = mask + 1 - at;

	if (left < words) {
		__atomic_store_n(&data[at], RING_WORD0(RING_PAD, 0, 0, 0, 0, 0), __ATOMIC_RELAXED);
		head += left;
		at = 0;
	}
	memcpy(data + at, record, words * sizeof(*record));
	return head + words;
}

/* Claims the new slice before it gives up the old one, so that `place` always names a live slice.
 */
bool slice_grow(struct thread *thread, uint64_t stamp)
{
	struct ring_header *ring = shim_ring();
	struct ring_slice *old = thread->slice;
	uint64_t *data = thread->data, mask = thread->mask, head = thread->head;
	uint64_t record[LOST_WORDS];

	thread->pressure = 0;
	if (!ring ||
	    thread->incarnation != __atomic_load_n(&ring->account.incarnation, __ATOMIC_RELAXED))
		return false;
	if (!slice_claim(thread, mask + 1, old->thread_first + old->events)) {
		reach_want(ring);
		return false;
	}
	if (thread->pending.events) {
		make_lost(thread, record, stamp);
		head = put_last(data, mask, head, record, LOST_WORDS);
	}
	record[0] = RING_WORD0(RING_MOVE, 0, 0, 0, 0, 0);
	record[1] = slice_index(ring, thread->slice);
	record[2] = thread->last_stamp;
	__atomic_store_n(&old->head, put_last(data, mask, head, record, MOVE_WORDS),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&old->entered, 0, __ATOMIC_RELEASE);
	owner_release(old);
	__atomic_store_n(&old->state, RING_SLICE_LEFT, __ATOMIC_RELEASE);
	thread->moved = true;
	return true;
}

uint32_t slice_saved_max(const struct thread *thread)
{
	struct ring_header *ring = shim_ring();
	uint32_t most = ring ? __atomic_load_n(&ring->saved_frames_max, __ATOMIC_RELAXED) : 0,
		 others = 0;

	if (!most || thread->head + SAVE_ROOM > thread->limit)
		return 0;
	for (uint32_t i = 0; i < reach_slices(); i++) {
		const struct ring_slice *slice = slice_at(ring, i);

		if (slice != thread->slice && slice_state(slice) == RING_SLICE_OWNED)
			others += __atomic_load_n(&slice->saved_frames, __ATOMIC_RELAXED);
	}
	return most > others ? most - others : 0;
}

bool slice_dead(uint64_t place)
{
	struct ring_header *ring = shim_ring();
	uint32_t number = (uint32_t)place;
	const struct ring_slice *slice;

	if (!ring || !number || number > reach_slices())
		return false;
	slice = slice_at(ring, number - 1);
	if (__atomic_load_n(&slice->generation, __ATOMIC_ACQUIRE) != (uint32_t)(place >> 32))
		return true;
	return slice_state(slice) == RING_SLICE_FREE ||
	       (slice_state(slice) == RING_SLICE_OWNED && owner_died(slice));
}

bool slice_has_owner(uint32_t tid)
{
	struct ring_header *ring = shim_ring();

	for (uint32_t i = 0; ring && i < reach_slices(); i++) {
		const struct ring_slice *slice = slice_at(ring, i);

		if (__atomic_load_n(&slice->owner_tid, __ATOMIC_RELAXED) == tid &&
		    slice_state(slice) == RING_SLICE_OWNED && !owner_died(slice))
			return true;
	}
	return false;
}

void slice_doorbell(void)
{
	struct ring_header *ring = shim_ring();

	/* The agent looks at the heads once more after it has set `sleeping`. With this fence, at
	 * least one side sees the other's store. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!ring || !__atomic_load_n(&ring->sleeping, __ATOMIC_ACQUIRE))
		return;
	__atomic_fetch_add(&ring->doorbell, 1, __ATOMIC_RELEASE);
	sys_futex_wake(&ring->doorbell);
}

/* Makes the thread sample more sparsely (`by` is 1) or more densely (-1). For policy thin. */
static void thin(struct thread *thread, int by)
{
	if (by > 0 ? thread->thinned >= THIN_MOST : !thread->thinned)
		return;
	thread->thinned += (uint32_t)by;
	thread->thinned_ns = sys_monotonic_ns();
	sample_look(thread);
}

void slice_check(struct thread *thread)
{
	uint64_t words = thread->mask + 1;

	look_at_tail(thread);
	if (thread->head < thread->check) {
		if (thread->pressure)
			thread->pressure--;
		return;
	}
	slice_doorbell();
	thread->check = thread->head + words / 8;
	thread->pressure++;
}

void slice_agent_gone(uint32_t beat)
{
	__atomic_store_n(&shim.gone_beat, beat, __ATOMIC_RELAXED);
	__atomic_store_n(&shim.gone, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&shim.control, 1, __ATOMIC_RELEASE); /* makes each thread look */
}

/* Returns true if the owner of a slice has ended. Under an emulator the kernel does not flag the
 * end of threads. */
static bool owner_gone(const struct ring_header *ring, const struct ring_slice *slice)
{
	uint32_t tid = __atomic_load_n(&slice->owner_tid, __ATOMIC_RELAXED);
	long process;

	if (owner_died(slice) || !ring->unflagged || !tid)
		return owner_died(slice);
	process = sys_call(SYS_getpid);
	return sys_call(SYS_tgkill, process, tid, 0) == -ESRCH;
}

/* Returns true if the agent has freed a slice since the last search, or will free one because its
 * owner is dead or has moved on. */
static bool any_near(struct ring_header *ring)
{
	for (uint32_t i = 0; i < reach_slices(); i++) {
		const struct ring_slice *slice = slice_at(ring, i);
		uint32_t state = slice_state(slice);

		if (state == RING_SLICE_FREE || state == RING_SLICE_LEFT ||
		    (state == RING_SLICE_OWNED && owner_gone(ring, slice)))
			return true;
	}
	return false;
}

bool slice_claim_patiently(struct thread *thread)
{
	struct ring_header *ring = shim_ring();
	bool claimed = ring && slice_claim(thread, 0, 0);
	struct patience patience;
	unsigned most;

	if (!ring || claimed)
		return claimed;
	reach_want(ring);
	patience_begin(&patience, ring, __atomic_load_n(&ring->policy, __ATOMIC_RELAXED));
	while (!claimed && (any_near(ring) || reach_may_grow(ring)) &&
	       (most = patience_piece(&patience))) {
		slice_doorbell();
		sys_sleep_us(most < DEAD_SLICE_US ? most : DEAD_SLICE_US);
		claimed = slice_claim(thread, 0, 0);
	}
	patience_end(&patience);
	return claimed;
}

/* Returns the tail that a thread waits for. The thread waits for half of the slice and not just for
 * one record, because otherwise each record would wait. In the first half of a fresh slice the tail
 * is already there. */
static uint64_t tail_for(const struct thread *thread, uint64_t words)
{
	uint64_t half = (thread->mask + 1) / 2;
	uint64_t end = thread->head + (words > half ? words : half) + MOVE_ROOM;

	return end > thread->mask + 1 ? end - thread->mask - 1 : 0;
}

static bool enough_room(struct thread *thread, uint64_t words)
{
	look_at_tail(thread);
	return thread->end + MOVE_ROOM - thread->mask - 1 >= tail_for(thread, words);
}

static bool wait_for_room(struct thread *thread, struct ring_header *ring, uint64_t words)
{
	struct ring_slice *slice = thread->slice;
	struct patience patience;
	bool room, waits = false;

	patience_begin(&patience, ring, thread->policy);
	for (;;) {
		uint32_t value = __atomic_load_n(&slice->tail_futex, __ATOMIC_ACQUIRE);
		unsigned most;

		__atomic_store_n(&slice->wanted, tail_for(thread, words), __ATOMIC_SEQ_CST);
		room = enough_room(thread, words);
		most = room ? 0 : patience_piece(&patience);
		if (!most)
			break;
		if (!waits && thread->may_wait_outside)
			__atomic_store_n(&slice->entered, 0, __ATOMIC_RELEASE);
		slice->full_waits += !waits;
		waits = true;
		slice_doorbell();
		sys_futex_wait(&slice->tail_futex, value, most);
	}
	__atomic_store_n(&slice->wanted, 0, __ATOMIC_RELEASE);
	if (!waits)
		return room;
	if (thread->may_wait_outside) {
		__atomic_store_n(&slice->entered, thread->last_stamp, __ATOMIC_RELAXED);
		thread->waited = true;
	}
	slice->waited_stamp = stamp_now();
	slice->waited_ns += patience_end(&patience);
	return room;
}

/* Gives the thread a piece of the slice's last quarter: 1/32 of the slice. Each piece doubles the
 * interval. */
static bool step_on(struct thread *thread, uint64_t words)
{
	thin(thread, 1);
	thread->step = thread->head + words + (thread->mask + 1) / 32;
	look_at_tail(thread);
	return thread->head + words <= thread->limit;
}

void slice_look_thinned(struct thread *thread)
{
	if (++thread->looks % THINNED_LOOKS == 0 && enough_room(thread, 0) &&
	    sys_monotonic_ns() - thread->thinned_ns >= THINNED_NS)
		thin(thread, -1);
}

bool slice_make_room(struct thread *thread, uint64_t words)
{
	struct ring_header *ring = shim_ring();

	look_at_tail(thread);
	if (thread->head + words <= thread->limit)
		return true;
	slice_doorbell();
	thread->pressure++;
	if (!ring || slice_grow(thread, thread->under_way))
		return false;
	if (words <= thread->mask + 1 - MOVE_ROOM && thread->policy != RING_COUNT &&
	    wait_for_room(thread, ring, words))
		return true;
	if (thread->policy == RING_THIN && step_on(thread, words))
		return true;
	thread->quiet = true;
	return false;
}

__attribute__((noinline)) uint64_t *slice_reserve_rarely(struct thread *thread, uint64_t words)
{
	return slice_reserve(thread, words);
}

/* Called by a quiet thread now and then: rings the doorbell again, and moves the thread to a larger
 * slice if one has become free. */
static bool try_again(struct thread *thread)
{
	if (++thread->looks % REFUSED_LOOKS)
		return false;
	slice_doorbell();
	return slice_grow(thread, thread->under_way);
}

bool slice_resume(struct thread *thread)
{
	struct ring_header *ring = shim_ring();

	if (!ring)
		return false;
	if (__atomic_load_n(&shim.gone, __ATOMIC_ACQUIRE)) {
		if (__atomic_load_n(&ring->heartbeat, __ATOMIC_RELAXED) == shim.gone_beat)
			return false;
		__atomic_store_n(&shim.gone, 0, __ATOMIC_RELEASE);
	}
	if (thread->quiet && !enough_room(thread, 0) && !try_again(thread))
		return false;
	thread->quiet = false;
	return true;
}

/* Puts no RING_LOST: the counts of a RING_RESTART include earlier losses. */
bool slice_restart(struct thread *thread, uint32_t incarnation)
{
	struct ring_slice *slice = thread->slice;
	uint64_t *record;

	__atomic_store_n(&slice->entered, thread->last_stamp, __ATOMIC_RELAXED);
	if ((thread->quiet || __atomic_load_n(&shim.gone, __ATOMIC_RELAXED)) &&
	    !slice_resume(thread))
		return false;
	record = slice_reserve_rarely(thread, RESTART_WORDS);
	if (!record)
		return false;
	record[0] = RING_WORD0(RING_RESTART, 0, 0, 0, 0, 0);
	record[1] = incarnation;
	record[2] = stamp_now();
	record[3] = slice->events;
	memcpy(record + 4, &slice->lost, sizeof(slice->lost));
	thread->incarnation = incarnation;
	thread->pending = (struct ring_losses){0};
	thread->epoch = 0;
	thread->thinned_told = 0;
	thin_tell_again();
	unwind_forget(thread->unwind);
	slice_publish(thread, RESTART_WORDS);
	return true;
}
