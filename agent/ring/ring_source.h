#pragma once
/*
 * The ring as a source of events (agent/core/capture.h): all slices of one ring, merged by stamp.
 *
 * A round has four steps, and may be left and entered again between any two events when the batch
 * is full:
 *   look     which slices are owned, dead or left; `entered`, then `head` of each: from these the
 *            limit and the watermark
 *   modules  what is in the module channel now is older than any event up to those heads
 *   merge    events up to the limit, the slice with the oldest stamp first
 *   reap     slices of dead owners that are empty now: account, end of the thread, free
 *
 * The limit is the oldest stamp that a record still to be published can have. A thread that stays
 * in one hook for more than STALL_NS (a page fault, a stopped process), or while a slice fills for
 * more than STALL_FULL_NS (others have its processor), does not hold the others up: the limit
 * leaves it out, the watermark does not.
 */
#include <sys/types.h>

#include "agent/core/capture.h"
#include "agent/core/budget.h"
#include "agent/core/clock.h"
#include "agent/watch/filters.h"
#include "agent/ring/ring_memory.h"
#include "agent/ring/ring_reader.h"

struct ring_lane {
	struct ring_reader reader;
	bool active;
	bool dead; /* the owner is; as of the last look, before `head` was read */
	bool left;
	bool damaged;
	bool has_next;
	bool cut_awaited; /* its records so far were for another agent: they are counted and dropped
			     (ring_takeup.c) */
	bool named_epoch;
	uint32_t tid;
	uint32_t epoch;
	struct thread *thread;
	struct ring_record next;
	uint64_t last_stamp;
	uint64_t read;	  /* events */
	uint64_t counted; /* of ring_slice.events, told to the stream */
	uint64_t counted_not_sampled;
	uint64_t waited_ns;  /* of ring_slice.waited_ns, told to the stream */
	uint64_t waits_told; /* stamp: when */
	struct ring_losses
		announced; /* sum of RING_LOST records; while cut_awaited: what was dropped */
	struct ring_losses gapped; /* told to the stream as gaps */
	uint64_t first;		   /* events of this thread in slices before this one */
	uint64_t passed; /* passed over by sampling in them; of lanes that were taken up */
};

enum ring_phase { RING_LOOK, RING_MODULES, RING_MERGE, RING_REAP };

struct ring_source {
	struct capture_source source;
	struct ring_memory *ring;
	struct clock *counter;	   /* the agent's */
	const struct clock *clock; /* of this ring's stamps */
	struct clock plain;
	uint64_t start_ns; /* CLOCK_MONOTONIC at stream time 0 */
	struct ring_lane *lane;
	uint32_t *active; /* lanes that are */
	uint32_t active_count;
	uint32_t *heap; /* of lanes, by next.stamp */
	uint32_t heap_count;
	enum ring_phase phase;
	bool filling;	  /* as of the last round: see capture_ops.filling */
	bool round_final; /* this round looked at a ring that nobody writes any more */
	bool ready;	  /* the program has filled in its part of the header */
	bool foreign;	  /* it is not of the byte order that its program told: nothing is read */
	uint32_t owner_word; /* offset, checked */
	/* The process, if an emulator runs it, else 0. qemu-user has no robust futexes, so the
	 * kernel flags no ends of its threads: they are looked for in /proc, if the program knows
	 * itself by the same number as we do. */
	pid_t emulated;
	bool looks_itself;    /* in this look */
	uint64_t looked;      /* stamp */
	uint64_t tick_begin;  /* stamp: the last event's tick */
	uint64_t tick_length; /* in stamps */
	uint64_t tick_ns;     /* the tick's stream time */
	uint64_t searched;    /* stamp: when all slices were last looked at */
	uint32_t claims;      /* ring_header.claims then */
	uint64_t future;      /* stamp: what is beyond it is a lie */
	uint64_t limit;
	uint64_t watermark;
	uint64_t modules_tail;
	uint64_t records_damaged;
	struct ring_losses no_slice; /* as told */
	uint64_t no_slice_ns;	     /* stream time: that was all until then */
	uint32_t incarnation;
	bool taken_up;	  /* the lanes that there were have all been taken over; always true in the
			     first incarnation */
	bool moved;	  /* a thread was found to have gone on elsewhere: look at all slices */
	uint32_t ahead;	  /* slices, in this search, of threads whose first one was not seen yet */
	bool takes_ahead; /* there is no such first one */
	uint64_t away_ns; /* stream time: until then the agent before us, or we before we were
			     stopped, had read */
	uint64_t back; /* stamp: what was lost before this was lost for lack of an agent; 0: nothing
			  was */
	uint64_t *scratch; /* RING_EVENT_WORDS: a record, a mark's text, an announcement; the drain
			      thread's */
	uint64_t before;   /* events that the program had begun when it had no ring */
	uint32_t wants_heard; /* of ring_header.wants */
};

/* `ring` is open or will be before the first drain. 0 or -ENOMEM. `shape` is that of the budget. */
int ring_source_init(struct ring_source *source, struct arena *arena,
		     const struct ring_shape *shape, struct clock *counter);
/* Makes the memory for the ring that is opened next. If there is none, ring_source_open will say
 * so. */
void ring_source_prepare(struct ring_source *source, const struct ring_shape *shape);
/* Makes a ring and begins anew. 0 or a negative errno. */
int ring_source_open(struct ring_source *source, const struct ring_shape *shape,
		     const struct ring_settings *settings, uint64_t start_ns);
/* What the agent before us has left, checked. */
struct ring_inheritance {
	struct ring_account account;
	struct ring_gone gone;
	uint64_t delivered, lost; /* sums over all threads */
};
/* ring_takeup.c: takes over `lock`, a locked descriptor of a ring whose agent is gone
 * (ring_memory_adopt), as the next incarnation. 0; -EXDEV: it does not belong to the agents of this
 * `mark`; -ESTALE: the program was told that nobody wants it any more; or a negative errno as of
 * ring_memory_adopt. `lock` is closed then, too. */
int ring_source_adopt(struct ring_source *source, const struct ring_shape *shape, int lock,
		      const uint8_t *mark, struct ring_inheritance *ret_inheritance);
/* Says to the program that this agent reads now. */
void ring_source_begin(struct ring_source *source);
void ring_source_close(struct ring_source *source);
/* Bytes of the ring that is open, or prepared. */
static inline size_t ring_source_memory(const struct ring_source *source)
{
	return source->ring->header ? source->ring->backed : 0;
}

/* Between the files of this source. */

/* All but the memory, for a stream that began then (CLOCK_MONOTONIC). */
void ring_source_clear(struct ring_source *source, uint64_t start_ns);
/* Back to the program, as if new: all zeros, in any byte order. */
void ring_slice_free(struct ring_slice *slice);
/* A slice that has an owner becomes a lane of this thread. */
void ring_lane_begin(struct ring_source *source, struct stream *stream, uint32_t index,
		     struct thread *thread);

/* ring_takeup.c: the account in the ring; capture_ops.seal. */
void ring_account_write(struct capture_source *source, const struct stream *stream);
/* The lane's part of it. */
void ring_account_lane(const struct ring_source *source, uint32_t index);
/* The thread of this slice is over, and counted: the account has it from now on, once. */
void ring_account_end(struct ring_source *source, uint32_t index);
/* For a lane whose thread was known to another agent. 0 or -EAGAIN. */
int ring_lane_take_up(struct ring_source *source, struct stream *stream, uint32_t index);
/* A record of such a lane. */
int ring_lane_drop(struct ring_source *source, struct stream *stream, uint32_t index);
/* What it lacks up to this event of its slice, as a gap. 0 or -EAGAIN. */
int ring_lane_tell_away(struct ring_source *source, struct stream *stream, struct ring_lane *lane,
			uint64_t events, uint64_t stamp);

/* A stamp of the ring as stream time. */
static inline uint64_t ring_stream_ns(const struct ring_source *s, uint64_t stamp)
{
	uint64_t ns = clock_ns(s->clock, stamp);

	return ns > s->start_ns ? ns - s->start_ns : 0;
}

/* How much a counter of the program has grown; what goes backwards has not. */
static inline uint64_t ring_grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* ring_order.c: what the ring's header tells the program. As capture_ops has them. */
void ring_turn(struct capture_source *source, bool away);
void ring_begin_image(struct capture_source *source, const struct stream *stream);
void ring_obey(struct capture_source *source, const struct stream *stream);
void ring_detach(struct capture_source *source);
/* Is it to be looked at each millisecond: nobody rings? */
bool ring_polled(const struct ring_source *source);
/* Tells the program of filters that it has not told us of. Under the stream's lock. */
void ring_filtered(struct ring_source *source, const struct filters *seen);

/* ring_settle.c */
struct ring_losses ring_losses_read(bool swapped, const struct ring_losses *shared);
/* Settles and frees slices whose owners are gone and that are read to the end. 0 or -EAGAIN. */
int ring_reap(struct ring_source *source, struct stream *stream);
/* capture_ops.count. */
void ring_count_lanes(struct capture_source *source, struct stream *stream);
/* capture_ops.uncounted. */
uint64_t ring_count_untold(const struct capture_source *source);
/* Tells the stream what `upto` has more than `told`, lost between the stamps `from` and `to`, and
 * notes that in `told`. 0 or -EAGAIN. */
int ring_tell_losses(struct ring_source *source, struct stream *stream, struct thread *thread,
		     struct ring_losses *told, const struct ring_losses *upto, int reason,
		     uint64_t from, uint64_t to);
/* The same, between two points of the stream's time. */
int ring_tell_losses_between(struct stream *stream, struct thread *thread, struct ring_losses *told,
			     const struct ring_losses *upto, int reason, uint64_t from_ns,
			     uint64_t to_ns);
/* ring_modules.c: all that is in the module channel. 0 or -EAGAIN. */
int ring_read_modules(struct ring_source *source, struct stream *stream);
/* What the slice holds can't be right: it is read on behind all that. */
void ring_lane_damaged(struct ring_source *source, struct stream *stream, uint32_t index);
/* ring_deliver.c: puts the lane's next record in front; false: it has none. */
bool ring_lane_next(struct ring_source *source, struct stream *stream, uint32_t index);
/* Hands over the record in front of this lane, and then those behind it whose stamps are not above
 * `until`. 0; or -EAGAIN: the one that is in front then is to be offered again in the next
 * batch. */
int ring_deliver(struct ring_source *source, struct stream *stream, uint32_t index, uint64_t until);
