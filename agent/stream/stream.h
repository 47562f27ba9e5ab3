#pragma once
/*
 * One recorded process, from its beginning to the acknowledgement of its last batch. It lives in a
 * slot, whose memory was set aside at the start, and is the sink of a capture source
 * (agent/core/capture.h).
 *
 * Owner: the drain thread fills it, the main loop reads spool and tables for its links; `lock`
 * guards all of it. State:
 *
 *   FREE --stream_open--> LIVE --the process ends--> ENDING
 *   ENDING --last batch in the spool--> ENDED --delivered--> FREE
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/capture.h"
#include "agent/stream/batch.h"
#include "agent/core/budget.h"
#include "agent/hold/cull.h"
#include "agent/watch/figures.h"
#include "agent/hold/flight.h"
#include "agent/watch/maps.h"
#include "agent/core/modules.h"
#include "agent/ring/ring_source.h"
#include "agent/spool/spool.h"
#include "agent/core/stacks.h"
#include "agent/hold/sums.h"
#include "agent/core/target.h"
#include "agent/core/threads.h"
#include "proto/discovery.h"

#define STREAM_CLOSE_NS	 250000000  /* longest that an event waits in a batch */
#define STREAM_LEDGER_NS 1000000000 /* a batch for the ledger alone */

#define STREAM_FIGURES_MAX 16 /* that wait for a batch */

/* A process that descends from this one and is not recorded. */
struct unrecorded {
	uint32_t pid;
	bool counted; /* else it is only known that it was there */
	char name[16];
	uint64_t events, allocations, frees, bytes;
};

#define STREAM_UNRECORDED_MAX 32 /* that wait for a batch */

enum stream_state { STREAM_FREE, STREAM_LIVE, STREAM_ENDING, STREAM_ENDED };

/* Does the collector know what stream.maps says it knows? */
enum stream_maps {
	STREAM_MAPS_KNOWN,
	STREAM_MAPS_LOST, /* regions are to be told again */
	STREAM_MAPS_NEW,  /* and it is another stream */
};

struct stream {
	pthread_mutex_t lock;
	enum stream_state state; /* written under the lock; stream_state reads it without */
	struct maps maps;	 /* the observer's; the drain's while `maps_ready` */
	uint8_t id[STREAM_ID_SIZE];
	uint32_t incarnation;
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	uint64_t start_wall_ns; /* CLOCK_REALTIME */
	const uint8_t *agent_id;
	struct target_info target;
	struct target_said said;
	struct target_end end;
	uint64_t end_ns; /* stream time */
	int mode;
	uint64_t sample_interval;
	int resume_mode;     /* to go on in after a stop */
	uint64_t snapshots;  /* the last one's number */
	bool stopped_itself; /* the program's own last word: heapcast_stop */
	bool frees_have_stacks;
	uint8_t parent_stream[STREAM_ID_SIZE];
	uint64_t parent_event;
	uint64_t ran_before_ns; /* joined in mid-life: how long it had run */
	uint64_t marked_ns;	/* the last mark of a thread, */
	uint32_t marked_by;	/* and which thread's */
	bool has_parent;
	uint32_t image;
	bool process_news;
	bool exec_pending; /* set by the main loop: drain the old image, then clear it */

	struct capture_source *capture; /* where its events come from: &source.source, or one that
					   stream_attach was given */
	struct ring_source source;	/* open only in the first case: see stream_ring */
	struct stacks stacks;
	struct modules modules;
	struct threads threads;
	struct cull cull; /* one of these two may hold events back */
	struct flight flight;
	struct sums sums;	  /* of what they do not send */
	struct stacks_path *lane; /* and one more, of what is held back */
	uint32_t lane_count;
	/* A place that grows: see stream_grow. */
	struct budget *budget;
	uint32_t level;
	uint8_t *stacks_room[2]; /* where the table lies at an even level, and at an odd one */
	uint32_t *path;		 /* nodes of the lanes */
	bool grow_wanted;
	uint64_t refused_ns;  /* CLOCK_MONOTONIC of when the room had not so much; 0: it had */
	bool refused_must;    /* what was refused then was needed */
	uint64_t renewed_ns;  /* and of the last renewal of the table */
	uint32_t depth_max;   /* frames of a lane */
	uint32_t nodes_until; /* up to this node there is room in batch and table for sure; 0: look
			       */
	struct batch batch;
	struct spool spool;
	struct packer *packer; /* the drain thread's */
	size_t frame_pending;  /* a frame in batch.memory that the spool has no room for yet */

	struct spool_account delivered;
	struct capture_losses lost;
	uint64_t no_thread; /* events of threads without a lane */
	uint64_t stacks_cut;
	uint64_t samples_refused;
	uint32_t stacks_unknown;
	uint32_t namespaces;
	bool renewal_wanted; /* the stack table is full: a new generation once this batch is closed
			      */
	uint32_t renewal_rest; /* batches to be closed until the next one may be wanted */
	uint64_t watermark_ns;
	uint64_t watermark_told; /* its own, not held back, as of the last batch */
	uint64_t order_ns;	 /* the last mark that an order has put */
	uint64_t closed_ns;	 /* CLOCK_MONOTONIC of the last batch */
	uint64_t named_ns;	 /* when names of threads were read */
	uint64_t ledger_told;	 /* produced, in the last batch */
	uint64_t turn_ns;	 /* CLOCK_MONOTONIC of the drain thread's last turn */
	uint64_t slept_ns;	 /* clock_slept_ns as the stream has told it */
	uint64_t earlier_delivered, earlier_lost; /* in the totals: by the agents before this one */

	struct unrecorded unrecorded[STREAM_UNRECORDED_MAX];
	uint32_t unrecorded_count;
	struct unrecorded unrecorded_sum; /* of all; `pid`: how many */
	uint32_t uncounted;		  /* of these, without counts */

	/* What the observer has seen, and is to look at. */
	struct observer_settings observe;
	struct figures figures[STREAM_FIGURES_MAX];
	uint32_t figures_count;
	bool maps_ready;
	enum stream_maps maps_known;
	uint32_t allocator_told;    /* sequence of the allocator's last answer */
	uint64_t allocator_took_ns; /* what that cost the program */
};

static inline enum stream_state stream_state(const struct stream *stream)
{
	return __atomic_load_n(&stream->state, __ATOMIC_ACQUIRE);
}

/* The header of its ring; NULL: its events come from elsewhere. */
static inline struct ring_header *stream_ring(const struct stream *stream)
{
	return stream->capture == &stream->source.source ? stream->source.ring->header : NULL;
}

struct stream_settings {
	struct ring_settings ring;
	const uint8_t *agent_id;
	const uint8_t *parent_stream; /* NULL: none */
	uint64_t parent_event;
	struct target_said said; /* by the program; zeros if it says nothing */
};

/* A slot's memory, once. 0 or -ENOMEM. */
int stream_init(struct stream *stream, struct arena *arena, struct budget *budget,
		uint32_t depth_limit, struct clock *counter, struct packer *packer);
/* The same for a place that grows, each time before it is used: zeroed memory, always at the same
 * address. The stream is zeroed or FREE, and then young. */
int stream_init_place(struct stream *stream, struct arena *arena, struct budget *budget,
		      uint32_t depth_limit, struct clock *counter, struct packer *packer);
/* stream_grow.c */
/* In each turn of the drain thread: grows if the program, the tables or the spool wish for it and
 * the room has so much. True: the batch must be closed first. */
bool stream_grow_if_due(struct stream *stream);
/* It has this level from now on, which is paid for. Nothing is in the batch. 0 or a negative
 * errno. */
int stream_set_level(struct stream *stream, uint32_t level);
/* Is there a next level, that the room did not refuse a moment ago? */
bool stream_may_grow(const struct stream *stream);
/* The table of stacks began anew, or could not. */
void stream_table_renewed(struct stream *stream, bool renewed);
/* The batch has no more new nodes than the table of stacks has room for after a new generation. */
void stream_fit_batch(struct stream *stream);
/* A lane's path, behind that of the lane before it. */
struct stacks_path stream_lane(const struct stream *stream, uint32_t lane);
/* Bytes of the room that it has: as a young one, and what it has grown by. */
size_t stream_cost_young(const struct stream *stream);
size_t stream_cost_grown(const struct stream *stream);
void stream_done(struct stream *stream);
/* Blocks that live short are culled, with the memory that the budget has for that. Before anything
 * is recorded. 0 or -ENOMEM. */
int stream_use_culling(struct stream *stream, struct arena *arena, const struct budget *budget,
		       const struct cull_settings *settings);
/* Likewise: the stream is a flight recorder. */
int stream_use_flight(struct stream *stream, struct arena *arena, const struct budget *budget,
		      const struct flight_settings *settings);

/* Batches that wait for a collector may go to this folder, too. Before anything is recorded. */
void stream_use_spool(struct stream *stream, struct spool_folder *folder);
/* spool_leave, by the main loop: with a packer and link_out bytes of its own, as the drain thread
 * may be packing for another stream. */
void stream_leave_spool(struct stream *stream, struct packer *packer, uint8_t *out);

/* FREE to LIVE: makes the ring. 0 or a negative errno. */
int stream_open(struct stream *stream, const struct target_info *target,
		const struct stream_settings *settings);
/* FREE to LIVE with the ring of an agent that is gone: `lock` is taken over, see ring_source_adopt.
 * -EXDEV: it is not of our `mark`. 0 or another negative errno. */
int stream_take_up(struct stream *stream, const struct target_info *target, int lock,
		   const uint8_t *mark, const uint8_t *agent_id);
/* FREE to LIVE with another source than a ring, which must outlive the stream; of `settings->ring`
 * count mode, sample_interval and frees_have_stacks. 0 or a negative errno. */
int stream_attach(struct stream *stream, const struct target_info *target,
		  const struct stream_settings *settings, struct capture_source *capture);
/* To FREE: everything was delivered, or given up. */
void stream_close(struct stream *stream);
/* What holds for this one, where it was opened just now, with the lock held: what is looked at, and
 * the time of culling, if there is memory for that (stream_use_culling). */
void stream_settle(struct stream *stream, const struct observer_settings *observe,
		   uint64_t cull_ns);
/* LIVE to ENDING. */
void stream_end(struct stream *stream, const struct target_end *end);

enum stream_work {
	STREAM_IDLE,	/* nothing to do until the program writes more */
	STREAM_MORE,	/* there is more at once */
	STREAM_STALLED, /* the spool is full */
};

/* One turn of the drain thread, with the lock held. */
enum stream_work stream_drain(struct stream *stream);

/* From the observer, with the lock held: goes into the next batch. Where too many wait the last one
 * gives way. */
void stream_put_figures(struct stream *stream, const struct figures *figures);
/* The machine has slept for so long since it was started: the stream says so if that is news. With
 * the lock held. */
void stream_tell_sleep(struct stream *stream, uint64_t slept_ns);

/* It goes into the next batch, and into the account. With the lock held. */
void stream_tell_unrecorded(struct stream *stream, const struct unrecorded *unrecorded);
/* What is held back takes room that others need: with the next turn it is less. */
void stream_hold_less(struct stream *stream);
/* A mark from outside the program, of somebody who is called `by`. Into the open batch, with the
 * lock held. 0; -EAGAIN: no room. */
int stream_mark(struct stream *stream, int kind, uint64_t value, uint64_t time_ns,
		const uint8_t *text, uint32_t text_length, const char *by);
/* What is in the open batch is sent with the next turn of the drain thread. With the lock held. */
static inline void stream_hurry(struct stream *s)
{
	s->batch.opened_ns = 1; /* long ago */
}

/* Nanoseconds since the start, now. */
uint64_t stream_now(const struct stream *stream);

struct stream_ledger {
	uint64_t produced, delivered, culled, not_sampled, lost, pending;
};
struct stream_ledger stream_ledger(const struct stream *stream);

/* Are events held back, and some of them never sent? */
static inline bool stream_holds(const struct stream *s)
{
	return s->cull.time_ns || s->flight.window_ns;
}

/* How many events came from the source: delivered, culled, or held back. */
static inline uint64_t stream_taken(const struct stream *s)
{
	return s->delivered.events + s->delivered.culled + sums_events(&s->sums) + s->cull.held +
	       s->flight.held;
}

/* What the batches tell: no event that is older follows. */
static inline uint64_t stream_watermark(const struct stream *s)
{
	return flight_watermark(&s->flight, cull_watermark(&s->cull, s->watermark_ns));
}

/* Counts an event that has gone into the batch. */
static inline void stream_account(struct stream *s, struct thread *thread,
				  const struct event *event)
{
	bool is_free = event->class == EVENT_CLASS_FREE, is_call = event->class == EVENT_CLASS_CALL;

	thread->counts.delivered++;
	thread->counts_news = true;
	s->delivered.events++;
	if (is_free)
		s->delivered.frees++;
	if (is_free || is_call)
		return;
	s->delivered.allocations++;
	s->delivered.bytes += event->size;
}

/* The same for a number of allocations and frees of one thread. */
static inline void stream_account_sum(struct stream *s, struct thread *thread,
				      const struct spool_account *sum)
{
	uint64_t events = sum->allocations + sum->frees;

	thread->counts.delivered += events;
	thread->counts_news |= events != 0;
	s->delivered.events += events;
	s->delivered.frees += sum->frees;
	s->delivered.allocations += sum->allocations;
	s->delivered.bytes += sum->bytes;
}
