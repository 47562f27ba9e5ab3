/* Decides which blocks are followed; see thin.h. */
#include "agent/preload/record/thin.h"

#include <string.h>

#include "agent/preload/system/next.h"
#include "agent/preload/record/record.h"
#include "agent/preload/record/sample.h"
#include "agent/preload/record/slice.h"
#include "agent/preload/system/symbols.h"
#include "proto/thinning.h"

#include "agent/preload/poison_io.h" /* looks up the allocator's functions by name */

/* Its number of enum MarkKind in heapcast.proto. */
#define MARK_THINNED 16

/* Blocks of at least 1 << CUT_SHIFT bytes are followed longer than smaller ones. This size is the
 * first interval of policy thin (sample.c); new blocks of at least this size are always recorded,
 * too. Their level is lower by CUT_AHEAD, because this size is 1 << CUT_AHEAD times 256 bytes. */
#define CUT_SHIFT 12
#define CUT_AHEAD 4

#define THINNED_MOST 21u /* steps from full mode up to RING_INTERVAL_MAX */
#define THINNED_FAR  8	 /* from here on, each step quarters the share of followed blocks */
/* words: if fewer are left at the end of a slice, three steps are taken at a time */
#define THINNED_NEAR   64
#define THINNED_LAST   14 /* words, room for two events: if fewer are left, all steps are taken */
#define THINNED_HALVES 6  /* from here on, the set is halved, too, to get fewer frees */

/* A thread that has not looked for this many beats of the agent's heartbeat, ten a second, is idle:
 * no other thread waits for it. */
#define RESTING_BEATS 20

static struct {
	struct thread *holder;
	struct ring_set_line *set;
	uint64_t lines, seed, interval_least;
	/* The state that the last mark tells, which is in force; see struct told. */
	uint64_t told;
	uint32_t generation; /* number of halvings and closings; read without the lock */
	/* As decided by the holder of the lock, and possibly not told yet; the same is true of
	 * `keep`. */
	uint32_t halvings;
	uint8_t keep;
	bool tells_sizes;
	bool untold;  /* the last mark does not tell the decided state */
	bool unswept; /* the set has entries of the previous generation */
} law;

/*
 * The state that the last mark tells, packed in one word. Each change of it is one atomic step,
 * made after the mark was put. Any thread may therefore open the set or raise the level without the
 * lock, and never waits for a holder that the kernel has descheduled. Two threads may put marks at
 * the same time. If a thread's step fails, its mark may be older than the last one, so the thread
 * puts another mark.
 */
struct told {
	uint8_t level, cut, keep, set; /* set: an enum set_state */
	uint16_t openings, halvings;
};

enum set_state { CLOSED, OPENED, CLOSING };

static inline uint64_t thin_pack(struct told t)
{
	uint64_t word;

	_Static_assert(sizeof(t) == sizeof(word), "it is one word");
	memcpy(&word, &t, sizeof(word));
	return word;
}

static inline struct told thin_unpack(uint64_t word)
{
	struct told t;

	memcpy(&t, &word, sizeof(t));
	return t;
}

static struct told told_now(void)
{
	return thin_unpack(__atomic_load_n(&law.told, __ATOMIC_RELAXED));
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

/* Tries to take the lock. If the holder is the calling thread itself, a jump has left the lock
 * held.
 */
static bool try_lock(struct thread *thread)
{
	struct thread *holder = NULL;

	if (__atomic_compare_exchange_n(&law.holder, &holder, thread, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return true;
	return holder == thread ||
	       (is_gone(holder) && __atomic_compare_exchange_n(&law.holder, &holder, thread, false,
							       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
}

static void unlock(void)
{
	__atomic_store_n(&law.holder, NULL, __ATOMIC_RELEASE);
}

/* ---- which blocks are followed ---- */

/* Returns true if this block is followed because of its size. This applies only if the sizes of all
 * blocks can be queried, and all blocks come from the allocator that answers. In doubt a block
 * counts as large. */
static bool follows_by_size(const void *p, struct told told)
{
	const struct thinning by = {.cut = told.cut, .ahead = CUT_AHEAD};
	uint32_t level;

	if (!told.cut)
		return false;
	if (__atomic_load_n(&shim.foreign, __ATOMIC_RELAXED))
		return true;
	level = thinning_level(&by, told.level, next.malloc_usable_size((void *)(uintptr_t)p));
	return thinning_follows(law.seed, level, (uintptr_t)p);
}

bool thin_follows(const void *p)
{
	struct told told = told_now();

	return __atomic_load_n(&shim.recorded, __ATOMIC_RELAXED) &&
	       (thinning_follows(law.seed, told.level, (uintptr_t)p) || follows_by_size(p, told));
}

/* Returns true if the same allocator reports sizes, allocates and frees. */
static bool tells_sizes(void)
{
	uintptr_t usable = (uintptr_t)next.malloc_usable_size;

	return symbols_together(usable, (uintptr_t)next.free) &&
	       symbols_together(usable, (uintptr_t)next.malloc);
}

/* ---- marks ---- */

static bool thin_put(struct thread *thread, struct told told)
{
	const struct thinning state = {.seed = law.seed,
				       .level = told.level,
				       .cut = told.cut,
				       .keep = told.keep,
				       .ahead = CUT_AHEAD,
				       .openings = told.openings,
				       .halvings = told.halvings};
	uint8_t text[THINNING_BYTES];

	thinning_put(&state, text);
	__atomic_store_n(&thread->slice->entered, thread->last_stamp, __ATOMIC_RELAXED);
	/* The state that the mark tells is in force before the mark's stamp. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return record_mark(thread, MARK_THINNED, 0, (const char *)text, sizeof(text));
}

static void set_untold(bool untold)
{
	__atomic_store_n(&law.untold, untold, __ATOMIC_RELAXED);
}

static bool is_untold(void)
{
	return __atomic_load_n(&law.untold, __ATOMIC_RELAXED);
}

/* Returns CUT_SHIFT if sizes can be queried, otherwise 0. */
static uint8_t cut_now(void)
{
	return law.tells_sizes && !shim.foreign ? CUT_SHIFT : 0;
}

enum step { TELL, RAISE, OPEN };

/* Computes the next state to tell. Returns false if there is nothing to tell. */
static bool next_step(enum step step, uint32_t level, struct told *then)
{
	switch (step) {
	case TELL: /* tells the state that was decided under the lock */
		then->keep = law.keep;
		then->halvings = (uint16_t)law.halvings;
		return true;
	case RAISE:
		if (then->set != OPENED || then->level >= level)
			return false;
		then->level = (uint8_t)level;
		return true;
	case OPEN:
		if (then->set != CLOSED)
			return false;
		__atomic_store_n(&shim_page.set, law.set, __ATOMIC_SEQ_CST);
		then->set = OPENED;
		then->openings++;
		then->level = 0;
		then->cut = cut_now();
		return true;
	}
	return false;
}

/* Puts a mark, and then takes the step. If another thread was faster, this mark may be older than
 * that thread's, so the function puts another one. Returns false if there is no room, or nothing to
 * tell. */
static bool thin_take_step(struct thread *thread, enum step step, uint32_t level)
{
	uint64_t word = __atomic_load_n(&law.told, __ATOMIC_ACQUIRE);
	struct told then = thin_unpack(word);
	bool owed = step == TELL;

	while (next_step(step, level, &then) && thin_put(thread, then)) {
		if (__atomic_compare_exchange_n(&law.told, &word, thin_pack(then), false,
						__ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
			return true;
		then = thin_unpack(word);
		owed = true;
	}
	if (owed)
		set_untold(true);
	return false;
}

static bool thin_tell(struct thread *thread)
{
	set_untold(false);
	return thin_take_step(thread, TELL, 0);
}

void thin_tell_again(void)
{
	if (told_now().openings || law.halvings)
		set_untold(true);
}

/* ---- the set ---- */

static bool thin_keeps(uint64_t entry)
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
		if (!thin_keeps(entry))
			sample_drop(line, i, entry);
		else
			__atomic_compare_exchange_n(&line->entry[i], &entry, entry ^ 1, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

/* Chooses the blocks that a halving may remove: at least a quarter of the set, including larger
 * blocks if necessary. */
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
	for (; class < 3; class ++) {
		below += count[class];
		if (4 * below >= all)
			break;
	}
	return keep[class] > law.keep ? keep[class] : law.keep;
}

/* Tells the decided state, and then applies it to the set. */
static bool thin_settle(struct thread *thread)
{
	if (is_untold() && !thin_tell(thread))
		return false;
	if (law.unswept)
		for (uint64_t i = 0; i < law.lines; i++)
			sweep_line(&law.set[i]);
	law.unswept = false;
	return true;
}

static void new_generation(void)
{
	__atomic_store_n(&law.generation, law.generation + 1, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void all_look(void)
{
	__atomic_fetch_add(&shim.control, 1, __ATOMIC_RELEASE);
}

static bool halve(struct thread *thread, uint32_t generation)
{
	if (law.generation != generation) /* another thread has halved the set */
		return true;
	if (!thin_settle(thread))
		return false;
	law.keep = keep_from();
	law.halvings++;
	law.unswept = true;
	set_untold(true);
	new_generation();
	return thin_settle(thread);
}

/* Raises the lower limit for this thread's interval, and so for all threads. */
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

/* Returns the words at the end of the slice that events may still use. */
static uint64_t left_to_events(const struct thread *thread)
{
	uint64_t end = thread->head + thin_marks(thread);

	return thread->end > end ? thread->end - end : 0;
}

/* Thins the thread more if so much room has been used up that it must be. Returns whether it was.
 */
static bool thinned_more(struct thread *thread)
{
	uint64_t left = left_to_events(thread);
	uint32_t steps = left < THINNED_LAST ? THINNED_MOST : left < THINNED_NEAR ? 3 : 1;

	if (left > thread->spare_step && thread->spare_step)
		return false;
	thread->spare_step = left - left / 8 - 1;
	if (thread->policy == RING_THIN && thread->thinned < THINNED_MOST)
		thread->thinned = thread->thinned + steps < THINNED_MOST ? thread->thinned + steps
									 : THINNED_MOST;
	sample_look(thread);
	return true;
}

void thin_more(struct thread *thread, bool frees)
{
	if (!thinned_more(thread) || !frees || thread->thinned < THINNED_HALVES ||
	    !try_lock(thread))
		return;
	halve(thread, law.generation);
	unlock();
}

/* ---- opening and closing ---- */

/*
 * Opens the set before the mark is stamped: blocks allocated later are certain to be in it, and
 * until then all frees are recorded (the level is 0). In the opposite order, a thread that is
 * already sampled would omit blocks that it allocates between the two. Several threads may open the
 * set at the same time, because they tell the same state.
 */
static void open_set(struct thread *thread)
{
	if (thin_take_step(thread, OPEN, 0))
		all_look();
}

/*
 * Closes the set. From here on all frees are recorded, including those of threads that are still
 * sampled. No thread puts a block in while the set is closed; a thread that has looked before sees
 * that the generation has changed. The set is empty before any thread may open it again.
 */
static void close_set(struct thread *thread)
{
	struct told then = told_now(), before;

	then.level = 0;
	then.set = CLOSING;
	before = thin_unpack(__atomic_exchange_n(&law.told, thin_pack(then), __ATOMIC_ACQ_REL));
	if (before.level)
		set_untold(true);
	__atomic_store_n(&shim_page.set, NULL, __ATOMIC_SEQ_CST);
	law.unswept = false;
	law.keep = 0;
	new_generation();
	__atomic_store_n(&law.interval_least, 0, __ATOMIC_RELAXED);
	memset(law.set, 0, law.lines * sizeof(*law.set));
	then.set = CLOSED;
	__atomic_store_n(&law.told, thin_pack(then), __ATOMIC_RELEASE);
	thin_settle(thread);
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

/* Returns the level that fits the thread's thinning. Each step of thinning halves the share of
 * blocks that is followed. Later the level rises in larger steps, because marks take room, and
 * finally each step quarters the share, because little room is left. The mark comes first. */
static uint32_t level_wanted(const struct thread *thread)
{
	uint32_t steps =
		thread->thinned < THINNED_FAR ? thread->thinned : 2 * thread->thinned - THINNED_FAR;
	uint32_t level = steps < 4 ? steps : (steps + 1) & ~1u;

	return level < THINNING_LEVEL_MAX ? level : THINNING_LEVEL_MAX;
}

static bool must_open(const struct thread *thread)
{
	return thread->interval && law.set && told_now().set == CLOSED;
}

static bool must_lower(const struct thread *thread)
{
	struct told told = told_now();

	return thread->thinned && told.set == OPENED && level_wanted(thread) > told.level &&
	       __atomic_load_n(&shim.recorded, __ATOMIC_RELAXED);
}

/* Returns true if this thread may close the set, or finish closing it: the thread that was closing
 * it may be gone. */
static bool may_close(const struct thread *thread)
{
	struct told told = told_now();

	return told.set == CLOSING ||
	       (!thread->interval && thread->allocations && told.set == OPENED);
}

static void obey(struct thread *thread)
{
	if (told_now().set == CLOSING || (may_close(thread) && !anybody_sampled()))
		close_set(thread);
	thin_settle(thread);
}

void thin_obey(struct thread *thread)
{
	if (thread->end > thread->head + 2 * thread->spare)
		thread->spare_step = 0;
	__atomic_store_n(&thread->looked_beat, thin_beat(), __ATOMIC_RELAXED);
	if ((is_untold() || law.unswept || may_close(thread)) && try_lock(thread)) {
		obey(thread);
		unlock();
	}
	if (must_open(thread))
		open_set(thread);
	if (must_lower(thread)) {
		thin_take_step(thread, RAISE, level_wanted(thread));
		if (thread->spare_step) /* the mark has taken room, too */
			thinned_more(thread);
	}
	if (is_untold() || law.unswept || must_open(thread) || must_lower(thread))
		thread->control--; /* again at the next event */
}

void thin_init(struct ring_set_line *set, uint64_t lines, uint64_t seed)
{
	memset(&law, 0, sizeof(law));
	law.set = set;
	law.lines = lines;
	law.seed = seed;
	law.tells_sizes = tells_sizes();
	law.told = thin_pack((struct told){.cut = cut_now(), .set = set ? OPENED : CLOSED});
}
