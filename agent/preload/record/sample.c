/* Sampled mode; see sample.h. */
#include "agent/preload/record/sample.h"

#include <string.h>
#include <sys/auxv.h>

#include "agent/preload/system/bootstrap.h"
#include "agent/preload/system/clock.h"
#include "agent/preload/system/env.h"
#include "agent/preload/record/thin.h"
#include "base/exponential.h"
#include "proto/event.h"

#include "agent/preload/poison.h"

/* The interval with which a thread in full mode starts thinning. */
#define THIN_FIRST 4096u

/* Its number in heapcast.proto: a realloc freed the block, and the new block is not on record. */
#define KIND_REALLOC_FREE 33

#define REMEMBER_TRIES 16
/* number of events of an unsampled thread between two checks whether the set may be closed */
#define LOOK_EVERY 4096

static uint64_t seed;

/* The set. */

/* Returns a line that may hold the block; number 0 is its home. */
static struct ring_set_line *sample_line_of(struct ring_set_line *set, const void *p,
					    unsigned number)
{
	uint64_t hash = (uint64_t)(uintptr_t)p * 0x9e3779b97f4a7c15u;

	return &set[((hash >> 32) + number) & shim_page.set_mask];
}

static bool line_put(struct ring_set_line *line, uint64_t entry)
{
	for (unsigned i = 0; i < RING_SET_ENTRIES; i++) {
		uint64_t none = 0;

		if (!__atomic_load_n(&line->entry[i], __ATOMIC_RELAXED) &&
		    __atomic_compare_exchange_n(&line->entry[i], &none, entry, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

/* Removes the block from a line. thin.c may change the entry's low bits concurrently. */
static bool line_take(struct ring_set_line *line, const void *p)
{
	for (unsigned i = 0; i < RING_SET_ENTRIES; i++) {
		uint64_t entry = __atomic_load_n(&line->entry[i], __ATOMIC_RELAXED);

		while (thin_is_entry(entry, p))
			if (__atomic_compare_exchange_n(&line->entry[i], &entry, 0, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))
				return true;
	}
	return false;
}

static void count(uint32_t *counter, uint32_t by)
{
	__atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) struct ring_set_line *open_set(void)
{
	return __atomic_load_n(&shim_page.set, __ATOMIC_RELAXED);
}

/* Counts one block more (`by` is -1) or less (`by` is 1) in the bucket of `p`. */
static void move_bucket(const void *p, int by)
{
	uint8_t *bucket = &shim_page.buckets[sample_bucket(p)];
	uint8_t now = __atomic_load_n(bucket, __ATOMIC_RELAXED);

	while (now && !__atomic_compare_exchange_n(bucket, &now, (uint8_t)(now + by), false,
						   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void block_bucket(unsigned index)
{
	__atomic_store_n(&shim_page.buckets[index], 0, __ATOMIC_RELAXED);
}

void sample_record_all(void)
{
	if (__atomic_exchange_n(&shim.recorded, 1, __ATOMIC_SEQ_CST))
		return;
	for (unsigned i = 0; i < SAMPLE_BUCKETS; i++)
		block_bucket(i);
}

/* Puts a block into the set. The stores need no ordering: the thread that frees the block has
 * received it from the thread that allocated it, and this orders the two. */
static bool sample_put(struct ring_set_line *set, const void *p, uint64_t entry)
{
	struct ring_set_line *home = sample_line_of(set, p, 0);

	move_bucket(p, -1);
	if (line_put(home, entry))
		return true;
	count(&home->spilled, 1);
	for (unsigned i = 1; i < RING_SET_REACH; i++)
		if (line_put(sample_line_of(set, p, i), entry))
			return true;
	count(&home->spilled, -1u);
	move_bucket(p, 1);
	return false;
}

static bool take(struct ring_set_line *set, const void *p)
{
	struct ring_set_line *home = sample_line_of(set, p, 0);

	if (line_take(home, p)) {
		move_bucket(p, 1);
		return true;
	}
	if (!__atomic_load_n(&home->spilled, __ATOMIC_RELAXED))
		return false;
	for (unsigned i = 1; i < RING_SET_REACH; i++) {
		if (!line_take(sample_line_of(set, p, i), p))
			continue;
		count(&home->spilled, -1u);
		move_bucket(p, 1);
		return true;
	}
	return false;
}

bool sample_take(const void *p)
{
	struct ring_set_line *set = open_set();

	return p && set && !sample_is_clear(p) && (take(set, p) || thin_follows(p));
}

void sample_drop(struct ring_set_line *line, unsigned index, uint64_t entry)
{
	const void *p = (void *)(uintptr_t)(entry & ~(uint64_t)THIN_ENTRY_BITS);
	struct ring_set_line *set = open_set();

	if (!set || !__atomic_compare_exchange_n(&line->entry[index], &entry, 0, false,
						 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	if (sample_line_of(set, p, 0) != line)
		count(&sample_line_of(set, p, 0)->spilled, -1u);
	move_bucket(p, 1);
}

static bool line_holds(const struct ring_set_line *line, const void *p)
{
	for (unsigned i = 0; i < RING_SET_ENTRIES; i++)
		if (thin_is_entry(__atomic_load_n(&line->entry[i], __ATOMIC_RELAXED), p))
			return true;
	return false;
}

static bool sample_holds(struct ring_set_line *set, const void *p)
{
	if (line_holds(sample_line_of(set, p, 0), p))
		return true;
	if (!__atomic_load_n(&sample_line_of(set, p, 0)->spilled, __ATOMIC_RELAXED))
		return false;
	for (unsigned i = 1; i < RING_SET_REACH; i++)
		if (line_holds(sample_line_of(set, p, i), p))
			return true;
	return false;
}

bool sample_skips_sought(const void *p)
{
	struct ring_set_line *set = open_set();

	return p && !bootstrap_owns(p) && set && !sample_holds(set, p) && !thin_follows(p);
}

/*
 * Puts a sampled block into the set, so that its free is recognised. A closed set need not know it.
 * If the set was emptied or halved meanwhile, the block is removed and put in again: its allocation
 * came before the mark that reports the halving, and only a block that is put in afterwards may
 * count as allocated after the mark. After a halving the stamp is renewed, so that it does not
 * precede the mark's. A nested event has no room for a mark before it, so it never halves the set.
 */
static bool remember(struct thread *thread, uint64_t address, unsigned class, uint64_t *stamp)
{
	const void *p = (void *)(uintptr_t)address;
	struct ring_header *ring = shim_ring();

	for (unsigned tries = 0; tries < REMEMBER_TRIES; tries++) {
		uint32_t generation = thin_generation();
		struct ring_set_line *set = open_set();

		if (!set)
			return true;
		if (sample_put(set, p, thin_entry(p, class, generation))) {
			if (thin_generation() == generation)
				return true;
			take(set, p);
			continue;
		}
		if (thread->aside_count || !thin_halve(thread, generation))
			break;
		*stamp = stamp_now();
	}
	if (ring)
		__atomic_fetch_add(&ring->samples_refused, 1, __ATOMIC_RELAXED);
	return false;
}

/* Distances. */

/* Sets the number of bytes before the next sample point. Hooks count down a part of them without
 * further checks. This part is always less than the interval, so that a block of the interval's
 * size is never skipped; it is 0 while the next event must look. */
static void set_distance(struct thread *thread, uint64_t distance)
{
	uint64_t most = thread->interval && !thread->looks_next ? thread->interval - 1 : 0;

	if (most > SAMPLE_LOOK)
		most = SAMPLE_LOOK;
	if (most > distance)
		most = distance;
	if (shim.nests)
		most = 0;
	tls.left = (size_t)most;
	thread->distance = distance - most;
	barrier();
	if (shim.nests)
		tls.skipped = NULL;
}

/* Takes back the bytes that hooks may skip. From here on, a signal handler finds none. */
static void take_left(struct thread *thread)
{
	thread->distance += tls.left;
	tls.left = 0;
	barrier();
}

void sample_look(struct thread *thread)
{
	take_left(thread);
	thread->looks_next = true;
	thread->control--;
}

static bool is_hit(struct thread *thread, struct event *event)
{
	uint64_t size = event->size ? event->size : 1;
	uint64_t distance = thread->distance + tls.left;

	__atomic_store_n(&thread->looked_beat, thin_beat(), __ATOMIC_RELAXED);
	if (size >= thread->interval)
		return true;
	if (size <= distance) {
		set_distance(thread, distance - size);
		return false;
	}
	set_distance(thread, exponential(&thread->random, thread->interval));
	event->interval = thread->interval;
	return true;
}

/* Decisions. */

static inline __attribute__((always_inline)) bool pass(const struct thread *thread)
{
	uint64_t *skipped = &thread->slice->not_sampled;

	if (thread->interval)
		__atomic_store_n(skipped, *skipped + 1, __ATOMIC_RELAXED);
	return false;
}

/* Returns true for a thread that is not sampled while others are, and the set is open for them.
 * Blocks that it frees are removed from the set, and their frees are always recorded. */
static bool all_ends(const struct thread *thread)
{
	return !thread->interval && __atomic_load_n(&shim.recorded, __ATOMIC_RELAXED);
}

static bool begins(struct thread *thread, struct event *event)
{
	return thread->interval && is_hit(thread, event) &&
	       remember(thread, event->address, thin_class(event->size), &event->stamp);
}

static bool wants_free(const struct thread *thread, const struct event *event)
{
	const void *p = (void *)(uintptr_t)event->address;

	if (event->was_sampled || !open_set())
		return true;
	/* A block that realloc has freed may be another thread's by now; so may one that was
	 * already searched for. */
	return (event->kind != KIND_REALLOC_FREE && !event->was_sought && sample_take(p)) ||
	       all_ends(thread) || pass(thread);
}

/* Decides on a reallocation that failed. The old block stays followed, whatever its size. */
static bool wants_failed(struct thread *thread, struct event *event)
{
	if (event->was_sampled)
		remember(thread, event->old_address, thin_class(UINT64_MAX), &event->stamp);
	return all_ends(thread) || pass(thread);
}

/* Decides the four cases of a reallocation: the old block may be on record or not, and the new one
 * may be sampled or not. */
static bool wants_reallocation(struct thread *thread, struct event *event)
{
	bool ended = event->old_address && (event->was_sampled || !open_set());

	if (!event->address)
		return wants_failed(thread, event);
	if (all_ends(thread))
		return true;
	if (begins(thread, event)) {
		event->old_address = ended ? event->old_address : 0;
		return true;
	}
	if (!ended)
		return pass(thread);
	*event = (struct event){.kind = KIND_REALLOC_FREE,
				.address = event->old_address,
				.stamp = event->call_stamp};
	return true;
}

bool sample_wants(struct thread *thread, struct event *event)
{
	bool all = all_ends(thread);

	if (all && !(++thread->unsampled_events % LOOK_EVERY))
		thread->control--;
	if (event_space(event->kind) != EVENT_SPACE_HEAP) /* these are rare, and not sampled */
		return thread->interval ||
		       (all && event_class(event->kind) != EVENT_CLASS_ALLOCATION);
	switch (event_class(event->kind)) {
	case EVENT_CLASS_FREE:
		return wants_free(thread, event);
	case EVENT_CLASS_REALLOCATION:
		return wants_reallocation(thread, event);
	default:
		return begins(thread, event) || pass(thread);
	}
}

/* Orders. */

uint64_t sample_interval(const struct thread *thread, const struct ring_header *ring)
{
	uint64_t interval = __atomic_load_n(&ring->sample_interval, __ATOMIC_RELAXED);
	uint64_t least = thin_interval_least();

	if (__atomic_load_n(&ring->mode, __ATOMIC_RELAXED) != RING_SAMPLE) {
		if (!thread->thinned)
			return 0;
		interval = THIN_FIRST / 2;
	}
	if (!interval)
		interval = 1;
	interval = interval >= RING_INTERVAL_MAX >> thread->thinned ? RING_INTERVAL_MAX
								    : interval << thread->thinned;
	return interval > least ? interval : least;
}

/*
 * The Poisson process of sample points has no memory, so it may restart at any block that was
 * chosen independently of the points ahead. But a thread mostly looks at orders because the block
 * of the current event contains a point. The old interval therefore decides on this block, and the
 * new one applies from the thread's next event on.
 */
void sample_obey(struct thread *thread, uint64_t interval, bool on)
{
	if (on && thread->interval && thread->interval != interval && !thread->looks_next) {
		sample_look(thread);
		return;
	}
	thread->looks_next = false;
	take_left(thread);
	tls.skipped = interval ? &thread->slice->not_sampled : NULL;
	if (interval && !shim.sampled)
		__atomic_store_n(&shim.sampled, 1, __ATOMIC_RELAXED);
	if (thread->interval == interval) {
		set_distance(thread, thread->distance);
		return;
	}
	thread->interval = interval;
	set_distance(thread, interval ? exponential(&thread->random, interval) : 0);
}

void sample_thread_init(struct thread *thread)
{
	static uint32_t number;
	uint64_t state = seed + __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED);

	thread->random = random_next(&state);
	thread->interval = 0;
	thread->distance = 0;
	thread->looks_next = false;
	thread->unsampled_events = 0;
	thread->thinned = thread->thinned_told = 0;
}

/* Returns a seed. HEAPCAST_SAMPLE_SEED repeats the same samples, thread by thread. */
static uint64_t new_seed(void)
{
	const char *given = env_get("HEAPCAST_SAMPLE_SEED");
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t value = stamp_now() ^ (uint64_t)sys_call(SYS_getpid) << 48, kernels = 0;

	if (given)
		return env_bytes(given);
	if (random)
		memcpy(&kernels, random, sizeof(kernels));
	value ^= kernels;
	return random_next(&value);
}

void sample_init(struct ring_header *ring)
{
	struct shim_page *page = &shim_page;
	uint64_t lines = ring->set_lines, state;

	seed = state = new_seed();
	thin_init(NULL, 0, 0);
	page->set_mask = 0;
	page->set = NULL;
	if (!lines || lines & (lines - 1) || lines > ring->size / sizeof(struct ring_set_line) ||
	    ring->set_offset > ring->size - lines * sizeof(struct ring_set_line))
		return;
	page->set = (struct ring_set_line *)((uintptr_t)ring + (uintptr_t)ring->set_offset);
	page->set_mask = lines - 1;
	thin_init(page->set, lines, random_next(&state));
	/* Clears the entries of the program before the exec. In a first image the agent's pages are
	 * fresh. */
	if (ring->image)
		memset(page->set, 0, lines * sizeof(*page->set));
	memset(page->buckets, SAMPLE_CLEAR, sizeof(page->buckets));
	page->buckets[sample_bucket(NULL)] = 0;
	for (size_t at = 0; at < bootstrap_used(); at += 16)
		page->buckets[sample_bucket(bootstrap_arena + at)] = 0;
}
