#pragma once
/*
 * The ring as a source of events (agent/core/capture.h): merges all slices of a ring by stamp.
 *
 * A round has four phases. If a run is full, the round stops between two events, and continues
 * there with the next run.
 *   look     Finds the slices that are owned, dead or left. Reads `entered`, then `head` of each
 *            slice, and computes the limit and the watermark from them.
 *   modules  Reads the module channel. Its content is now older than any event up to those heads.
 *   merge    Takes events up to the limit, always from the slice with the oldest stamp.
 *   reap     Settles the empty slices of dead owners, ends their threads, and frees the slices.
 *
 * The limit is the oldest stamp that a record not yet published can have. A thread that stays in
 * one hook for more than STALL_NS (a page fault, a stopped process) does not delay the others: the
 * limit ignores that thread, the watermark does not. While a slice fills up, the bound is
 * STALL_FULL_NS, because the thread may just lack a processor that others use.
 */
#include <sys/types.h>

#include "agent/core/arena.h"
#include "agent/core/capture.h"
#include "agent/core/clock.h"
#include "agent/core/modules.h"
#include "agent/watch/filters.h"
#include "agent/ring/ring_memory.h"
#include "agent/ring/ring_reader.h"

struct ring_lane {
	struct ring_reader reader;
	bool active;
	bool dead; /* the owner was dead at the last look, before `head` was read */
	bool left;
	bool settled; /* its last account is in a run; free the slice when that is taken */
	bool damaged;
	bool has_next;
	bool restarts; /* the next event begins a stack history */
	bool read_on;  /* the last run has records of this lane */
	/* The records so far were written for another agent. They are counted and dropped
	 * (ring_takeup.c). */
	bool restart_awaited;
	bool named_epoch;
	uint32_t tid;
	uint32_t epoch;
	struct ring_record next;
	uint64_t last_stamp;
	uint64_t read;	  /* events */
	uint64_t counted; /* the part of ring_slice.events that the stream knows */
	uint64_t counted_not_sampled;
	uint64_t waited_ns;  /* the part of ring_slice.waited_ns that the stream knows */
	uint64_t waits_told; /* stamp of the last report of waits */
	/* Sum of RING_LOST records. While `restart_awaited`: sum of the dropped records. */
	struct ring_losses announced;
	struct ring_losses gapped; /* put into runs as gaps */
	uint64_t first;		   /* events of this thread in slices before this one */
	uint64_t claimed;	   /* stamp */
	/* Events of this thread that sampling skipped in slices before this one. Only for lanes
	 * that were taken over. */
	uint64_t earlier_not_sampled;
};

enum ring_phase { RING_LOOK, RING_MODULES, RING_MERGE, RING_REAP };

struct ring_source {
	struct capture_source source;
	struct ring_memory *ring;
	const struct ring_shape *shape; /* of the budget */
	struct clock *counter;		/* the agent's clock */
	const struct clock *clock;	/* the clock of this ring's stamps */
	struct clock plain;
	uint64_t start_ns; /* CLOCK_MONOTONIC at stream time 0 */
	struct ring_lane *lane;
	uint32_t *active; /* indices of active lanes */
	uint32_t active_count;
	uint32_t *heap; /* of lanes, by next.stamp */
	uint32_t heap_count;
	uint32_t read_on[RUN_ITEMS]; /* lanes whose records the last run has */
	uint32_t read_count;
	/* The module of the last run, with its path and build id. */
	struct run_module module;
	uint8_t module_path[MODULE_PATH_MAX];
	uint8_t module_build_id[MODULE_BUILD_ID_MAX];
	enum ring_phase phase;
	bool filling;	  /* as of the last round: see capture_ops.filling */
	bool round_final; /* this round has looked at a ring that has no writers any more */
	bool ready;	  /* the program has filled in its part of the header */
	/* The ring is not in the byte order that the program announced. Nothing is read. */
	bool foreign;
	uint32_t owner_word; /* offset, checked */
	/* The process, if an emulator runs it; else 0. qemu-user has no robust futexes, so the
	 * kernel does not flag dead threads. The agent looks for them in /proc, provided that the
	 * program has the same pid for itself as for the agent. */
	pid_t emulated;
	bool looks_itself;     /* this look checks /proc */
	uint64_t looked;       /* stamp of the last look */
	uint64_t tick_begin;   /* stamp: start of the last event's tick */
	uint64_t tick_length;  /* in stamps */
	uint64_t tick_ns;      /* stream time of the tick */
	uint64_t searched;     /* stamp of the last look at all slices */
	uint64_t waits_looked; /* stamp of the last look at the time that threads have waited */
	uint32_t claims;       /* ring_header.claims at that time */
	uint32_t modules_left; /* bytes of the module channel that this round has to read */
	uint64_t future;       /* stamp: later stamps are invalid */
	uint64_t limit;
	uint64_t watermark;
	uint64_t modules_tail;
	uint64_t records_damaged;
	struct ring_losses no_slice; /* as reported */
	uint64_t no_slice_ns;	     /* stream time up to which `no_slice` is complete */
	uint32_t incarnation;
	/* All lanes that the previous agent left were taken over. Always true in the first
	 * incarnation. */
	bool taken_up;
	bool moved; /* a thread has moved to another slice: look at all slices */
	/* Number of slices in this search whose thread's first slice was not seen yet. */
	uint32_t ahead;
	bool takes_ahead; /* take slices although the thread's first slice is missing */
	/* Stream time up to which the ring was read before this agent took it over. */
	uint64_t away_ns;
	/* Stamp: losses before this one happened because no agent was running. 0: none did. */
	uint64_t back;
	uint64_t before; /* events that the program began before it had a ring */
	/* Values of ring_header.wants: the last one that was handled, and the last one that was
	 * seen. */
	uint32_t wants_heard, wants_seen;
};

/* Returns the bytes that ring_source_init takes from an arena that is aligned to 64 bytes. */
size_t ring_source_bytes(const struct ring_shape *shape);
/* Initializes the source; `ring` is opened later, before the first drain. `shape` is the budget's,
 * and must outlive the source. Returns 0 or -ENOMEM. */
int ring_source_init(struct ring_source *source, struct arena *arena,
		     const struct ring_shape *shape, struct clock *counter);
/* Creates the memory of the next ring in advance. If that fails, ring_source_open tries again and
 * reports the error. */
void ring_source_prepare(struct ring_source *source);
/* Creates a ring and resets the source. Returns 0 or a negative errno. */
int ring_source_open(struct ring_source *source, const struct ring_settings *settings,
		     uint64_t start_ns);
/* The data that the previous agent has left in the ring, after checks. */
struct ring_inheritance {
	struct ring_account account;
	struct ring_gone gone;
	uint64_t delivered, lost; /* sums over all threads */
};
/* Takes over a ring whose agent is gone, as the next incarnation (ring_takeup.c). `lock` is a
 * locked descriptor of the ring (ring_memory_adopt), which is closed on failure. Returns 0, -EXDEV
 * if the ring does not belong to agents with this `mark`, -ESTALE if its agent had detached the
 * program, or a negative errno of ring_memory_adopt. */
int ring_source_adopt(struct ring_source *source, int lock, const uint8_t *mark,
		      struct ring_inheritance *ret_inheritance);
/* Tells the program that this agent reads the ring now. */
void ring_source_begin(struct ring_source *source);
/* Does nothing if the ring is closed, or if the source was never initialized. */
void ring_source_close(struct ring_source *source);
/* Returns the number of backed bytes of the open or prepared ring. */
static inline size_t ring_source_memory(const struct ring_source *source)
{
	return source->ring && source->ring->header ? source->ring->backed : 0;
}

/* Shared by the files of this source. */

/* Resets everything but the memory, for a stream that began at `start_ns` (CLOCK_MONOTONIC). */
void ring_source_clear(struct ring_source *source, uint64_t start_ns);
/* Raises a counter to `least` if it is smaller. Returns its old value. */
static inline uint64_t ring_source_lift(uint64_t *shared, uint64_t least)
{
	uint64_t was = __atomic_load_n(shared, __ATOMIC_SEQ_CST);

	while (was < least && !__atomic_compare_exchange_n(shared, &was, least, true,
							   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	return was;
}

/* Gives a slice back to the program, as if new: all zeros. */
void ring_slice_free(struct ring_slice *slice);
/* Makes an owned slice a lane. */
void ring_lane_begin(struct ring_source *source, uint32_t index);

/* Returns the lane's thread, or NULL if no run with it was taken yet. */
static inline struct thread *ring_thread(const struct ring_source *s, uint32_t index)
{
	return s->source.thread[index];
}
/* Returns how many events of the lane's thread were taken from the ring or are known to be lost,
 * including those in the run. */
uint64_t ring_thread_taken(const struct ring_source *source, const struct run *run, uint32_t index);

/* Writes the account into the ring (ring_takeup.c). This is capture_ops.seal. */
void ring_account_write(struct capture_source *source, const struct capture_account *account);
/* Writes the lane's part of the account. */
void ring_account_lane(const struct ring_source *source, uint32_t index);
/* Adds the thread of this slice to the account of ended threads, exactly once. The thread has ended
 * and is fully counted. */
void ring_account_end(struct ring_source *source, uint32_t index);
/* Starts a lane whose thread another agent knew. Returns true if it put something into the run,
 * which must be taken before this is called again. */
bool ring_lane_take_up(struct ring_source *source, struct run *run, uint32_t index);
/* Counts and drops a record that a lane's thread wrote for an earlier agent. */
void ring_lane_drop(struct ring_source *source, struct run *run, uint32_t index);
/* Puts the events that are missing before event `events` of the slice into the run, as a gap. */
void ring_lane_put_away(struct ring_source *source, struct run *run, uint32_t index,
			uint64_t events, uint64_t stamp);

/* Converts a stamp of the ring to stream time. */
static inline uint64_t ring_stream_ns(const struct ring_source *s, uint64_t stamp)
{
	uint64_t ns = clock_ns(s->clock, stamp);

	return ns > s->start_ns ? ns - s->start_ns : 0;
}

/* Returns how much a counter of the program has grown. A counter that went backwards has not
 * grown. */
static inline uint64_t ring_grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Tell the program something in the ring's header (ring_order.c). These are members of
 * capture_ops. */
void ring_turn(struct capture_source *source, bool away);
void ring_begin_image(struct capture_source *source, uint32_t image,
		      const struct target_info *target);
void ring_obey(struct capture_source *source, const struct capture_orders *orders);
void ring_allow_saved(struct capture_source *source, uint32_t frames);
void ring_detach(struct capture_source *source);
struct capture_bell ring_sleep(struct capture_source *source);
void ring_wake(struct capture_source *source);
void ring_ask(struct capture_source *source);
void ring_filtered(struct capture_source *source, const struct filters *seen);
/* More members of capture_ops: growth, and the allocator's answer (ring_growth.c). */
enum capture_need ring_need(struct capture_source *source);
int ring_grow(struct capture_source *source, uint32_t level);
void ring_hear_wants(struct capture_source *source, bool refused);
uint32_t ring_answer(const struct capture_source *source, uint32_t after,
		     struct capture_allocator *ret);

/* Reads a sum of losses from the ring (ring_settle.c). */
struct ring_losses ring_losses_read(const struct ring_losses *shared);
/* Settles slices whose owners are gone and that are completely read, and frees those that are
 * settled. Returns false if nothing was left to do. Else the run must be taken before this is
 * called again. */
bool ring_reap(struct ring_source *source, struct run *run);
/* capture_ops.count, .totals and .uncounted. */
struct capture_counts ring_count_lane(struct capture_source *source, uint32_t lane);
struct capture_totals ring_totals(const struct capture_source *source);
uint64_t ring_count_untold(const struct capture_source *source);
/* Puts the difference of `upto` and `told` into the run, as lost between two stream times, and adds
 * it to `told`. */
void ring_put_losses(struct run *run, uint32_t lane, struct ring_losses *told,
		     const struct ring_losses *upto, int reason, uint64_t from_ns, uint64_t to_ns);
/* Notes how far this round reads the module channel (ring_modules.c). Without this bound, a program
 * that loads and unloads a file all the time could keep the round reading. The module table would
 * then forget places that earlier events still need. */
void ring_look_at_modules(struct ring_source *source);
/* Puts the next module of the channel into the run, which must be empty. Returns false if there is
 * none in this round. */
bool ring_read_module(struct ring_source *source, struct run *run);
/* Skips everything that is published in the slice, because its content is invalid. */
void ring_lane_damaged(struct ring_source *source, const struct run *run, uint32_t index);
/* Reads the lane's next record into `next` (ring_records.c). Returns false if there is none. */
bool ring_lane_next(struct ring_source *source, const struct run *run, uint32_t index);
/* Takes the lane's `next` record, and then those behind it with stamps up to `until`, while the run
 * has room. */
void ring_take_records(struct ring_source *source, struct run *run, uint32_t index, uint64_t until);
