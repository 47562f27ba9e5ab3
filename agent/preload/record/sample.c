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

/* The interval with which a thread in full mode begins to thin. */
#define THIN_FIRST 4096u

/* Its number in heapcast.proto: the block that a realloc ended, without a new one on record. */
#define KIND_REALLOC_FREE 33

#define REMEMBER_TRIES 16
/* events of a thread that is not sampled, until it looks whether the set may be closed */
#define LOOK_EVERY 4096

static uint64_t seed;

/* The set. */

/* A line that the block may be in; number 0 is its home. */
static struct ring_set_line *line_of(struct ring_set_line *set, const void *p, unsigned number)
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

/* Its bits may be changed meanwhile (thin.c). */
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

/* A block more (by -1) or less (by 1) in its bucket. */
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

/* Who frees the block has got it from who allocated it, in whatever way: that orders the two. */
static bool put(struct ring_set_line *set, const void *p, uint64_t entry)
{
	struct ring_set_line *home = line_of(set, p, 0);

	move_bucket(p, -1);
	if (line_put(home, entry))
		return true;
	count(&home->spilled, 1);
	for (unsigned i = 1; i < RING_SET_REACH; i++)
		if (line_put(line_of(set, p, i), entry))
			return true;
	count(&home->spilled, -1u);
	move_bucket(p, 1);
	return false;
}

static bool take(struct ring_set_line *set, const void *p)
{
	struct ring_set_line *home = line_of(set, p, 0);

	if (line_take(home, p)) {
		move_bucket(p, 1);
		return true;
	}
	if (!__atomic_load_n(&home->spilled, __ATOMIC_RELAXED))
		return false;
	for (unsigned i = 1; i < RING_SET_REACH; i++) {
		if (!line_take(line_of(set, p, i), p))
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
	if (line_of(set, p, 0) != line)
		count(&line_of(set, p, 0)->spilled, -1u);
	move_bucket(p, 1);
}

static bool line_holds(const struct ring_set_line *line, const void *p)
{
	for (unsigned i = 0; i < RING_SET_ENTRIES; i++)
		if (thin_is_entry(__atomic_load_n(&line->entry[i], __ATOMIC_RELAXED), p))
			return true;
	return false;
}

static bool holds(struct ring_set_line *set, const void *p)
{
	if (line_holds(line_of(set, p, 0), p))
		return true;
	if (!__atomic_load_n(&line_of(set, p, 0)->spilled, __ATOMIC_RELAXED))
		return false;
	for (unsigned i = 1; i < RING_SET_REACH; i++)
		if (line_holds(line_of(set, p, i), p))
			return true;
	return false;
}

bool sample_passes_sought(const void *p)
{
	struct ring_set_line *set = open_set();

	return p && !bootstrap_owns(p) && set && !holds(set, p) && !thin_follows(p);
}

/*
 * The free of a block that is on record must be known for one; a closed set needs not know. Should
 * the set have been emptied or halved meanwhile, it is put there once more: before, the block was
 * born earlier than the mark that tells of it, and only if it is put there afterwards it may be
 * taken for one that was born later. What is nested has no room for a mark in front of it.
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
		if (put(set, p, thin_entry(p, class, generation))) {
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

/* `distance` bytes lie before the next point. A part of them is counted down without a look at
 * anything else; never so much that a block of the interval's size is passed over, and nothing
 * while the next event is to look. */
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
		tls.passed = NULL;
}

/* From here on a handler of a signal finds nothing to pass over. */
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

/* What is recorded. */

static inline __attribute__((always_inline)) bool pass(const struct thread *thread)
{
	uint64_t *passed = &thread->slice->not_sampled;

	if (thread->interval)
		__atomic_store_n(passed, *passed + 1, __ATOMIC_RELAXED);
	return false;
}

/* It is not sampled, but others are, for whom the set is open: what it ends is taken from there,
 * and recorded in any case. */
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
	/* What realloc has freed is perhaps another's by now, and so is what was sought in time. */
	return (event->kind != KIND_REALLOC_FREE && !event->was_sought && sample_take(p)) ||
	       all_ends(thread) || pass(thread);
}

/* It is followed still, whatever its size is. */
static bool wants_failed(struct thread *thread, struct event *event)
{
	if (event->was_sampled)
		remember(thread, event->old_address, thin_class(UINT64_MAX), &event->stamp);
	return all_ends(thread) || pass(thread);
}

/* The old block may be on record, and the new one may be sampled: all four cases. */
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

	if (all && !(++thread->passed_by % LOOK_EVERY))
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
 * The process of points has no memory, so that it may begin anew at any block that was chosen
 * without regard to the points that lie ahead. That a thread looks at orders is mostly due to such
 * a point, in the block that it is about: this block is decided by the interval before, and the new
 * one holds from the thread's next event on.
 */
void sample_obey(struct thread *thread, uint64_t interval, bool on)
{
	if (on && thread->interval && thread->interval != interval && !thread->looks_next) {
		sample_look(thread);
		return;
	}
	thread->looks_next = false;
	take_left(thread);
	tls.passed = interval ? &thread->slice->not_sampled : NULL;
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
	thread->passed_by = 0;
	thread->thinned = thread->thinned_told = 0;
}

/* HEAPCAST_SAMPLE_SEED: the same samples again, thread by thread. */
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
	if (ring->image) /* what the program before the exec had; else the agent's pages are fresh
			  */
		memset(page->set, 0, lines * sizeof(*page->set));
	memset(page->buckets, SAMPLE_CLEAR, sizeof(page->buckets));
	page->buckets[sample_bucket(NULL)] = 0;
	for (size_t at = 0; at < bootstrap_used(); at += 16)
		page->buckets[sample_bucket(bootstrap_arena + at)] = 0;
}
