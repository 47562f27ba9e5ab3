/* Slices of the ring as their writers see them; see slice.h. */
#include "agent/preload/slice.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "agent/preload/clock.h"
#include "agent/preload/owner.h"
#include "agent/preload/sample.h"
#include "agent/preload/sys.h"

#include "agent/preload/poison.h"

#define STACK_SPARE	 32 /* words of half a slice that are not for a stack */
#define THIN_MOST	 20 /* doublings */
#define WAIT_PIECE_MS	 20
#define DEAD_SLICE_MS	 2
#define HEART_SILENCE_NS 1100000000u
#define HEART_LOOK_NS	 25000000u /* what one look counts at most: WAIT_PIECE_MS, and the way back */
#define CUT_WORDS	 8
#define NS_PER_MS	 1000000u

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

/* Sizes in the order in which they are taken: those that a thread should begin in, then from small to large. */
static uint64_t rank(const struct ring_slice *slice)
{
	return slice->words == RING_FIRST_WORDS ? 0 : slice->words;
}

/* The best free slice above `words`; NULL: none. Another thread may be quicker. */
static struct ring_slice *find_free(struct ring_header *ring, uint64_t words)
{
	struct ring_slice *best = NULL;

	for (uint32_t i = 0; i < ring->slice_count; i++) {
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

		if (!slice)
			return NULL;
		if (__atomic_compare_exchange_n(&slice->state, &expected, RING_SLICE_CLAIMING,
						false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return slice;
	}
}

/* Positions that follow from where the agent is. A thinned thread looks again soon: it may have
 * room. */
static void look_at_tail(struct thread *thread)
{
	uint64_t words = thread->mask + 1;
	uint64_t tail = __atomic_load_n(&thread->slice->tail, __ATOMIC_ACQUIRE);

	thread->limit = tail + words;
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
	slice->generation++;
	slice->events = 0;
	slice->not_sampled = 0;
	slice->lost = (struct ring_losses){0};
	slice->full_waits = 0;
	slice->waited_ns = 0;
	slice->wanted = 0;
	slice->claim_stamp = stamp_now();
	slice->thread_first = first;
	slice->incarnation = thread->incarnation;
	__atomic_store_n(&slice->entered, thread->last_stamp, __ATOMIC_RELAXED);
	__atomic_store_n(&slice->state, RING_SLICE_OWNED, __ATOMIC_RELEASE);
	__atomic_fetch_add(&ring->claims, 1, __ATOMIC_RELEASE);

	thread->slice = slice;
	thread->data = (uint64_t *)((uintptr_t)ring + (uintptr_t)slice->data_offset);
	thread->mask = slice->words - 1;
	thread->head = slice->head;
	slice_set_depth(thread);
	thread->pressure = 0;
	thread->epoch = 0; /* each slice begins in it */
	thread->short_until = 0;
	look_at_tail(thread);
	if (tls.passed)
		tls.passed = &slice->not_sampled;
	__atomic_store_n(&thread->place,
			 (uint64_t)slice->generation << 32 | (slice_index(ring, slice) + 1),
			 __ATOMIC_RELEASE);
	unwind_forget(thread->unwind);
	return true;
}

/* The old slice is given up only after the new one is ours, so that the place always names a living
 * one. */
void slice_grow(struct thread *thread)
{
	struct ring_header *ring = shim_ring();
	struct ring_slice *old = thread->slice;
	uint64_t at = thread->head & thread->mask, left = thread->mask + 1 - at;
	uint64_t *data = thread->data, head = thread->head;

	thread->pressure = 0;
	if (!ring || head + 3 + left > thread->limit)
		return;
	if (!slice_claim(thread, thread->mask + 1, old->thread_first + old->events))
		return;
	if (left < 3) {
		__atomic_store_n(&data[at], RING_WORD0(RING_PAD, 0, 0, 0, 0, 0), __ATOMIC_RELAXED);
		head += left;
		at = 0;
	}
	__atomic_store_n(&data[at], RING_WORD0(RING_MOVE, 0, 0, 0, 0, 0), __ATOMIC_RELAXED);
	__atomic_store_n(&data[at + 1], slice_index(ring, thread->slice), __ATOMIC_RELAXED);
	__atomic_store_n(&data[at + 2], thread->last_stamp, __ATOMIC_RELAXED);
	__atomic_store_n(&old->head, head + 3, __ATOMIC_RELEASE);
	__atomic_store_n(&old->entered, 0, __ATOMIC_RELEASE);
	owner_release(old);
	__atomic_store_n(&old->state, RING_SLICE_LEFT, __ATOMIC_RELEASE);
}

bool slice_dead(uint64_t place)
{
	struct ring_header *ring = shim_ring();
	uint32_t number = (uint32_t)place;
	const struct ring_slice *slice;

	if (!ring || !number || number > ring->slice_count)
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

	for (uint32_t i = 0; ring && i < ring->slice_count; i++) {
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

	if (!ring || !__atomic_load_n(&ring->sleeping, __ATOMIC_ACQUIRE))
		return;
	__atomic_fetch_add(&ring->doorbell, 1, __ATOMIC_RELEASE);
	sys_futex_wake(&ring->doorbell);
}

/* Policy thin: doubles the interval each time that the slice is found nearly full, and halves it
 * again when it is found half empty. */
static void thin(struct thread *thread)
{
	uint64_t words = thread->mask + 1, room = thread->limit - thread->head;

	if (room <= words / 4 && thread->thinned < THIN_MOST)
		thread->thinned++;
	else if (room >= words / 2 && thread->thinned)
		thread->thinned--;
	else
		return;
	sample_look(thread);
}

void slice_check(struct thread *thread)
{
	uint64_t words = thread->mask + 1;

	look_at_tail(thread);
	if (thread->policy == RING_THIN)
		thin(thread);
	if (thread->head < thread->check) {
		if (thread->pressure)
			thread->pressure--;
		return;
	}
	slice_doorbell();
	thread->check = thread->head + words / 8;
	thread->pressure++;
}

/* The agent's heart, as seen by one thread that waits: silent for 1.1 s of looking, 44 looks at
 * least. Time in which this thread did not run, although it was to look, is not held against the
 * agent: who stopped the program may have stopped both, and on a machine with too much to do neither
 * runs in time. Policy block is bounded by its own clock. */
struct watch {
	uint32_t beat;
	uint64_t looked; /* when; 0: not yet */
	uint64_t silent_ns;
};

static bool agent_silent(struct watch *watch, struct ring_header *ring, uint64_t now)
{
	uint32_t beat = __atomic_load_n(&ring->heartbeat, __ATOMIC_RELAXED);
	uint64_t passed = now - watch->looked;

	if (beat != watch->beat || !watch->looked) {
		*watch = (struct watch){.beat = beat, .looked = now};
		return false;
	}
	watch->looked = now;
	watch->silent_ns += passed < HEART_LOOK_NS ? passed : HEART_LOOK_NS;
	return watch->silent_ns >= HEART_SILENCE_NS;
}

void slice_agent_gone(uint32_t beat)
{
	__atomic_store_n(&shim.gone_beat, beat, __ATOMIC_RELAXED);
	__atomic_store_n(&shim.gone, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&shim.control, 1, __ATOMIC_RELEASE); /* each thread looks */
}

/* Under an emulator the kernel flags no ends of threads. */
static bool owner_gone(const struct ring_header *ring, const struct ring_slice *slice)
{
	uint32_t tid = __atomic_load_n(&slice->owner_tid, __ATOMIC_RELAXED);
	long process;

	if (owner_died(slice) || !ring->unflagged || !tid)
		return owner_died(slice);
	process = sys_call(SYS_getpid);
	return sys_call(SYS_tgkill, process, tid, 0) == -ESRCH;
}

/* Is there a slice that the agent will free, because its owner is dead or has moved on; or has freed
 * since it was looked for? */
static bool any_near(struct ring_header *ring)
{
	for (uint32_t i = 0; i < ring->slice_count; i++) {
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
	struct watch watch = {0};
	uint64_t start = sys_monotonic_ns();

	while (ring && !slice_claim(thread, 0, 0)) {
		uint64_t now = sys_monotonic_ns();

		if (__atomic_load_n(&ring->policy, __ATOMIC_RELAXED) != RING_BLOCK ||
		    __atomic_load_n(&ring->detached, __ATOMIC_RELAXED) ||
		    __atomic_load_n(&shim.gone, __ATOMIC_RELAXED) ||
		    now - start >= (uint64_t)ring->block_max_ms * NS_PER_MS || !any_near(ring))
			return false;
		if (agent_silent(&watch, ring, now)) {
			slice_agent_gone(watch.beat);
			return false;
		}
		slice_doorbell();
		sys_sleep_ms(DEAD_SLICE_MS);
		ring = shim_ring();
	}
	return ring != NULL;
}

/* Half of the slice is waited for, not just the room for one record: else each record would wait. Where the reader has to
 * be for that; below a slice's first half it is there already. */
static uint64_t tail_for(const struct thread *thread, uint64_t words)
{
	uint64_t half = (thread->mask + 1) / 2, end = thread->head + (words > half ? words : half);

	return end > thread->mask + 1 ? end - thread->mask - 1 : 0;
}

static bool enough_room(struct thread *thread, uint64_t words)
{
	look_at_tail(thread);
	return thread->limit - thread->mask - 1 >= tail_for(thread, words);
}

static bool wait_for_room(struct thread *thread, struct ring_header *ring, uint64_t words)
{
	struct ring_slice *slice = thread->slice;
	struct watch watch = {0};
	uint64_t start = sys_monotonic_ns(), now = start;
	bool room = false;

	slice->full_waits++;
	if (thread->may_wait_outside)
		__atomic_store_n(&slice->entered, 0, __ATOMIC_RELEASE);
	while (now - start < (uint64_t)ring->block_max_ms * NS_PER_MS) {
		uint32_t value = __atomic_load_n(&slice->tail_futex, __ATOMIC_ACQUIRE);

		__atomic_store_n(&slice->wanted, tail_for(thread, words), __ATOMIC_SEQ_CST);
		room = enough_room(thread, words);
		if (room || __atomic_load_n(&ring->detached, __ATOMIC_RELAXED))
			break;
		if (agent_silent(&watch, ring, now)) {
			slice_agent_gone(watch.beat);
			break;
		}
		slice_doorbell();
		sys_futex_wait(&slice->tail_futex, value, WAIT_PIECE_MS);
		now = sys_monotonic_ns();
	}
	if (thread->may_wait_outside) {
		__atomic_store_n(&slice->entered, thread->last_stamp, __ATOMIC_RELAXED);
		thread->waited = true;
	}
	slice->waited_stamp = stamp_now();
	slice->waited_ns += now - start;
	__atomic_store_n(&slice->wanted, 0, __ATOMIC_RELEASE);
	return room;
}

bool slice_make_room(struct thread *thread, uint64_t words)
{
	struct ring_header *ring = shim_ring();

	look_at_tail(thread);
	if (thread->head + words <= thread->limit)
		return true;
	slice_doorbell();
	thread->pressure++;
	if (ring && words <= thread->mask + 1 && thread->policy == RING_BLOCK &&
	    wait_for_room(thread, ring, words))
		return true;
	if (thread->policy == RING_THIN)
		thin(thread);
	thread->quiet = true;
	return false;
}

__attribute__((noinline)) uint64_t *slice_reserve_rarely(struct thread *thread, uint64_t words)
{
	return slice_reserve(thread, words);
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
	if (thread->quiet && !enough_room(thread, 0))
		return false;
	thread->quiet = false;
	return true;
}

/* What was lost before is in the counts. */
bool slice_cut(struct thread *thread, uint32_t incarnation)
{
	struct ring_slice *slice = thread->slice;
	uint64_t *record;

	__atomic_store_n(&slice->entered, thread->last_stamp, __ATOMIC_RELAXED);
	if ((thread->quiet || __atomic_load_n(&shim.gone, __ATOMIC_RELAXED)) &&
	    !slice_resume(thread))
		return false;
	record = slice_reserve_rarely(thread, CUT_WORDS);
	if (!record)
		return false;
	record[0] = RING_WORD0(RING_CUT, 0, 0, 0, 0, 0);
	record[1] = incarnation;
	record[2] = stamp_now();
	record[3] = slice->events;
	memcpy(record + 4, &slice->lost, sizeof(slice->lost));
	thread->incarnation = incarnation;
	thread->pending = (struct ring_losses){0};
	thread->epoch = 0;
	thread->thinned_told = 0;
	unwind_forget(thread->unwind);
	slice_publish(thread, CUT_WORDS);
	return true;
}
