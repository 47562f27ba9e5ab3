/* The law of what is followed; see thin.h. */
#include "agent/preload/thin.h"

#include <string.h>

#include "agent/preload/next.h"
#include "agent/preload/record.h"
#include "agent/preload/sample.h"
#include "agent/preload/slice.h"
#include "agent/preload/symbols.h"
#include "proto/thinning.h"

#include "agent/preload/poison_io.h" /* names of the allocator's functions are asked for here */

/* Its number of enum MarkKind in heapcast.proto. */
#define MARK_THINNED 16

/* Blocks of so many bytes (a power of 2) are followed rather than smaller ones: the first interval of policy thin (sample.c), at and above
 * which new blocks are always recorded, too. So far ahead they are of 256 bytes, by their size. */
#define CUT_SHIFT 12
#define CUT_AHEAD 4

#define THINNED_MOST   20 /* steps */
#define THINNED_FAR    8  /* from here on each step counts twice for what is followed */
#define THINNED_NEAR   64 /* words: with fewer left at the end of a slice three steps are taken at a time */
#define THINNED_HALVES 6  /* from here on frees of sampled blocks are too many, too */

/* A thread that has not looked for so many beats of the agent's heart, ten a second, is at rest: nobody waits for it. */
#define RESTING_BEATS 20

static struct {
	struct thread *holder;
	struct ring_set_line *set;
	uint64_t lines, seed, interval_least;
	uint32_t generation; /* openings and halvings; read without the lock, as is `level` */
	uint32_t level;
	uint32_t openings, halvings;
	uint8_t cut, keep;
	bool tells_sizes;
	bool untold;  /* the last mark says something else */
	bool unswept; /* the set has entries of the generation before */
} law;

static uint32_t level_now(void)
{
	return __atomic_load_n(&law.level, __ATOMIC_RELAXED);
}

uint32_t thin_generation(void)
{
	return __atomic_load_n(&law.generation, __ATOMIC_ACQUIRE);
}

uint64_t thin_interval_least(void)
{
	return __atomic_load_n(&law.interval_least, __ATOMIC_RELAXED);
}

/* ---- the lock ---- */

static bool is_gone(const struct thread *thread)
{
	uint64_t place = __atomic_load_n(&thread->place, __ATOMIC_ACQUIRE);

	return !place || (place != PLACE_TAKEN && slice_dead(place));
}

/* Who finds itself in it was left by a jump. */
static bool try_lock(struct thread *thread)
{
	struct thread *holder = NULL;

	if (__atomic_compare_exchange_n(&law.holder, &holder, thread, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return true;
	return holder == thread ||
	       (is_gone(holder) &&
		__atomic_compare_exchange_n(&law.holder, &holder, thread, false, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED));
}

static void unlock(void)
{
	__atomic_store_n(&law.holder, NULL, __ATOMIC_RELEASE);
}

/* ---- what is followed ---- */

/* Where the sizes of all blocks can be asked for, and all of them are from the allocator that answers. In doubt it is large. */
static bool follows_by_size(const void *p, uint32_t level)
{
	const struct thinning by = {.cut = law.cut, .ahead = CUT_AHEAD};

	if (!law.cut)
		return false;
	if (__atomic_load_n(&shim.foreign, __ATOMIC_RELAXED))
		return true;
	level = thinning_level(&by, level, next.malloc_usable_size((void *)(uintptr_t)p));
	return thinning_follows(law.seed, level, (uintptr_t)p);
}

bool thin_follows(const void *p)
{
	uint32_t level;

	if (!__atomic_load_n(&shim.recorded, __ATOMIC_RELAXED))
		return false;
	level = level_now();
	return thinning_follows(law.seed, level, (uintptr_t)p) || follows_by_size(p, level);
}

/* Does the allocator itself answer for what it gave and takes back? */
static bool tells_sizes(void)
{
	uintptr_t usable = (uintptr_t)next.malloc_usable_size;

	return symbols_together(usable, (uintptr_t)next.free) &&
	       symbols_together(usable, (uintptr_t)next.malloc);
}

/* ---- marks ---- */

/* As it is, but for the level. */
static bool tell(struct thread *thread, uint32_t level)
{
	const struct thinning state = {.seed = law.seed,
				       .level = (uint8_t)level,
				       .cut = law.cut,
				       .keep = law.keep,
				       .ahead = CUT_AHEAD,
				       .openings = (uint16_t)law.openings,
				       .halvings = (uint16_t)law.halvings};
	uint8_t text[THINNING_BYTES];
	bool told;

	thinning_put(&state, text);
	__atomic_store_n(&thread->slice->entered, thread->last_stamp, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* what is told holds before the mark's stamp */
	told = record_mark(thread, MARK_THINNED, 0, (const char *)text, sizeof(text));
	law.untold &= !told;
	return told;
}

void thin_tell_again(void)
{
	law.untold |= law.openings || law.halvings;
}

/* ---- the set ---- */

static bool keeps(uint64_t entry)
{
	static const uint8_t shift[] = {0, 16, 20, 24};
	unsigned class = entry >> 1 & 3;

	return shift[class] >= law.keep ||
	       thinning_keeps(law.seed, law.halvings & 0xffff, entry & ~(uint64_t)THIN_ENTRY_BITS);
}

static void sweep_line(struct ring_set_line *line)
{
	for (unsigned i = 0; i < RING_SET_ENTRIES; i++) {
		uint64_t entry = __atomic_load_n(&line->entry[i], __ATOMIC_RELAXED);

		if (!entry || (entry & 1) == (law.generation & 1))
			continue;
		if (!keeps(entry))
			sample_drop(line, i, entry);
		else
			__atomic_compare_exchange_n(&line->entry[i], &entry, entry ^ 1, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

/* The share of blocks that a halving may take: a quarter of the set at least, if need be of the larger ones. */
static uint8_t keep_from(void)
{
	static const uint8_t keep[] = {16, 20, 24, THINNING_KEEP_ALL};
	uint64_t count[4] = {0}, all = 0, below = 0;
	unsigned class = 0;

	for (uint64_t i = 0; i < law.lines; i++)
		for (unsigned k = 0; k < RING_SET_ENTRIES; k++) {
			uint64_t entry = __atomic_load_n(&law.set[i].entry[k], __ATOMIC_RELAXED);

			count[entry >> 1 & 3] += entry != 0;
			all += entry != 0;
		}
	for (; class < 3; class++) {
		below += count[class];
		if (4 * below >= all)
			break;
	}
	return keep[class] > law.keep ? keep[class] : law.keep;
}

/* All that was decided is told, and then done. */
static bool settle(struct thread *thread)
{
	if (law.untold && !tell(thread, law.level))
		return false;
	if (law.unswept)
		for (uint64_t i = 0; i < law.lines; i++)
			sweep_line(&law.set[i]);
	law.unswept = false;
	return true;
}

static void new_generation(void)
{
	law.untold = true;
	__atomic_store_n(&law.generation, law.generation + 1, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void all_look(void)
{
	__atomic_fetch_add(&shim.control, 1, __ATOMIC_RELEASE);
}

static bool halve(struct thread *thread, uint32_t generation)
{
	if (law.generation != generation) /* another thread has */
		return true;
	if (!settle(thread))
		return false;
	law.keep = keep_from();
	law.halvings++;
	law.unswept = true;
	new_generation();
	return settle(thread);
}

/* For this thread's intervals, and so for all. */
static void raise_interval(const struct thread *thread)
{
	uint64_t interval = 2 * thread->interval;

	if (interval > RING_INTERVAL_MAX || interval <= law.interval_least)
		return;
	__atomic_store_n(&law.interval_least, interval, __ATOMIC_RELAXED);
	all_look();
}

bool thin_halve(struct thread *thread, uint32_t generation)
{
	bool done;

	if (!try_lock(thread))
		return thin_generation() != generation;
	if (law.generation == generation)
		raise_interval(thread);
	done = halve(thread, generation);
	unlock();
	return done;
}

void thin_more(struct thread *thread, bool frees)
{
	uint64_t left = thread->end > thread->head ? thread->end - thread->head : 0;

	if (left > thread->spare_step && thread->spare_step)
		return;
	thread->spare_step = left - left / 8 - 1;
	if (thread->policy == RING_THIN && thread->thinned < THINNED_MOST)
		thread->thinned += left < THINNED_NEAR ? 3 : 1;
	sample_look(thread);
	if (!frees || thread->thinned < THINNED_HALVES || !try_lock(thread))
		return;
	halve(thread, law.generation);
	unlock();
}

/* ---- opening and closing ---- */

/*
 * Nobody puts anything in while it is closed; who has looked before sees that the generation is another. It is there before the mark is
 * stamped: what is born later is in it for certain, and until then all are followed (the level is 0). Were it the other way round, a thread
 * that is sampled already would leave out what it has born between the two.
 */
static void open_set(struct thread *thread)
{
	law.openings++;
	law.unswept = false;
	new_generation();
	law.cut = law.tells_sizes && !shim.foreign ? CUT_SHIFT : 0;
	law.keep = 0;
	__atomic_store_n(&law.interval_least, 0, __ATOMIC_RELAXED);
	memset(law.set, 0, law.lines * sizeof(*law.set));
	__atomic_store_n(&shim_page.set, law.set, __ATOMIC_SEQ_CST);
	settle(thread);
	all_look();
}

/* From here on all frees are recorded; those of threads that are sampled still, too. */
static void close_set(struct thread *thread)
{
	law.untold |= law.level != 0;
	__atomic_store_n(&law.level, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&shim_page.set, NULL, __ATOMIC_RELAXED);
	law.unswept = false;
	settle(thread);
	all_look();
}

static bool anybody_sampled(void)
{
	uint32_t beat = thin_beat();
	const struct thread *t = __atomic_load_n(&shim.threads, __ATOMIC_ACQUIRE);

	for (; t; t = t->next)
		if (__atomic_load_n(&t->interval, __ATOMIC_RELAXED) &&
		    beat - __atomic_load_n(&t->looked_beat, __ATOMIC_RELAXED) < RESTING_BEATS &&
		    !is_gone(t))
			return true;
	return false;
}

/* With each step of a thread's thinning half as many are followed; further on in larger steps, as marks take room, and a quarter as many,
 * as little is left. The mark comes first. */
static uint32_t level_wanted(const struct thread *thread)
{
	uint32_t steps =
		thread->thinned < THINNED_FAR ? thread->thinned : 2 * thread->thinned - THINNED_FAR;
	uint32_t level = steps < 4 ? steps : (steps + 1) & ~1u;

	return level < THINNING_LEVEL_MAX ? level : THINNING_LEVEL_MAX;
}

static void lower(struct thread *thread)
{
	uint32_t level = level_wanted(thread);

	if (level > law.level && settle(thread) && tell(thread, level))
		__atomic_store_n(&law.level, level, __ATOMIC_RELAXED);
}

static bool is_open(void)
{
	return __atomic_load_n(&shim_page.set, __ATOMIC_RELAXED);
}

static bool must_open(const struct thread *thread)
{
	return thread->interval && law.set && !is_open();
}

static bool must_lower(const struct thread *thread)
{
	return thread->thinned && is_open() && level_wanted(thread) > level_now() &&
	       __atomic_load_n(&shim.recorded, __ATOMIC_RELAXED);
}

static bool may_close(const struct thread *thread)
{
	return !thread->interval && thread->allocations && is_open();
}

static void obey(struct thread *thread)
{
	if (may_close(thread) && !anybody_sampled())
		close_set(thread);
	if (must_open(thread))
		open_set(thread);
	settle(thread);
	if (must_lower(thread))
		lower(thread);
}

void thin_obey(struct thread *thread)
{
	if (thread->end > thread->head + 2 * thread->spare)
		thread->spare_step = 0;
	__atomic_store_n(&thread->looked_beat, thin_beat(), __ATOMIC_RELAXED);
	if (!law.untold && !law.unswept && !may_close(thread) && !must_open(thread) &&
	    !must_lower(thread))
		return;
	if (try_lock(thread)) {
		obey(thread);
		unlock();
	}
	if (law.untold || law.unswept || must_open(thread) || must_lower(thread))
		thread->control--; /* again at the next event */
}

void thin_init(struct ring_set_line *set, uint64_t lines, uint64_t seed)
{
	memset(&law, 0, sizeof(law));
	law.set = set;
	law.lines = lines;
	law.seed = seed;
	law.tells_sizes = tells_sizes();
	law.cut = law.tells_sizes && !shim.foreign ? CUT_SHIFT : 0;
}
