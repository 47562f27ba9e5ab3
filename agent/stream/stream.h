#pragma once
/*
 * A stream is one recorded process, from its start to the acknowledgement of its last batch. It
 * lives in a slot, whose memory was reserved at the start, and receives the events of a capture
 * source (agent/core/capture.h).
 *
 * The drain thread fills it; the main loop reads its spool and tables for links. `lock` protects
 * all of it. States:
 *
 *    FREE --stream_begin-> LIVE --the process ends--> ENDING
 *    ENDING --last batch in the spool--> ENDED --delivered--> FREE
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/capture.h"
#include "agent/stream/batch.h"
#include "agent/core/arena.h"
#include "agent/stream/budget.h"
#include "agent/hold/cull.h"
#include "agent/watch/figures.h"
#include "agent/hold/flight.h"
#include "agent/watch/maps.h"
#include "agent/core/modules.h"
#include "agent/spool/spool.h"
#include "agent/core/stacks.h"
#include "agent/core/tags.h"
#include "agent/hold/sums.h"
#include "agent/core/target.h"
#include "agent/core/threads.h"
#include "proto/discovery.h"

#define STREAM_CLOSE_NS	 250000000  /* longest time that an event waits in a batch */
#define STREAM_LEDGER_NS 1000000000 /* interval of batches that contain only the ledger */

#define STREAM_FIGURES_MAX 16 /* figures that wait for a batch */

/* A descendant of this process that is not recorded. */
struct unrecorded {
	uint32_t pid;
	bool counted; /* false: only its existence is known */
	char name[16];
	uint64_t events, allocations, frees, bytes;
};

#define STREAM_UNRECORDED_MAX 32 /* entries that wait for a batch */

#define STREAM_PARTS_MAX 4
#define STREAM_PART_HOST 56

/* Batches that a collector has acknowledged which the agent has left for another one. A part begins
 * behind the part before. See Batch.part. */
struct stream_part {
	uint8_t collector[STREAM_ID_SIZE]; /* zeros: unknown */
	char host[STREAM_PART_HOST];	   /* for users */
	uint64_t upto;			   /* the last batch */
	uint64_t events;		   /* delivered in it */
};

enum stream_state { STREAM_FREE, STREAM_LIVE, STREAM_ENDING, STREAM_ENDED };

/* Says if the collector still has the regions and names that stream.maps counts as reported. */
enum stream_maps {
	STREAM_MAPS_KNOWN,
	STREAM_MAPS_LOST, /* report all regions again */
	STREAM_MAPS_NEW,  /* report all regions, of another stream */
};

struct stream {
	pthread_mutex_t lock;
	enum stream_state state; /* written under the lock; stream_state reads it without */
	struct maps maps;	 /* owned by the observer; by the drain thread while `maps_ready` */
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
	int resume_mode;     /* mode when recording resumes after a stop */
	uint64_t snapshots;  /* number of the last snapshot */
	bool stopped_itself; /* the program has called heapcast_stop, and no start since */
	bool frees_have_stacks;
	uint8_t parent_stream[STREAM_ID_SIZE];
	uint64_t parent_event;
	uint64_t ran_before_ns; /* time that the program had run when recording began */
	uint64_t marked_ns;	/* time of the last mark of a thread */
	uint32_t marked_by;	/* number of that thread */
	bool has_parent;
	uint32_t image;
	bool process_news;
	struct tags tags;  /* of the program, its own included */
	bool exec_pending; /* set by the main loop: drain the old image, then clear it */

	struct capture_source *source; /* of the events; NULL: the stream is FREE */
	struct stacks stacks;
	struct modules modules;
	struct threads threads;
	struct cull cull; /* at most one of `cull` and `flight` is in use */
	struct flight flight;
	struct sums sums;	  /* of the events that `cull` or `flight` does not send */
	struct stacks_path *lane; /* one path for each lane, and one for held events */
	struct stacks_path saved; /* the nodes of the lanes' numbered stacks, RUN_SAVED_MAX each */
	struct thread **lane_thread; /* NULL: the lane has no thread */
	uint32_t lane_count;
	struct run run; /* what the source has found, and the batch has not taken yet */
	/* A place that grows: see stream_grow.c. */
	struct budget *budget;
	uint32_t level;
	uint8_t *stacks_room[2]; /* memory of the stack table at even and odd levels */
	uint32_t *path;		 /* nodes of the lanes */
	bool grow_wanted;
	/* CLOCK_MONOTONIC when the room last refused to grow; 0: it did not */
	uint64_t refused_ns;
	bool refused_must;   /* the refused growth was necessary (ROOM_MUST) */
	uint64_t renewed_ns; /* CLOCK_MONOTONIC of the last renewal of the stack table */
	uint32_t depth_max;  /* frames of a lane */
	/* Batch and table certainly have room up to this node number. 0: unknown. */
	uint32_t nodes_until;
	struct batch batch;
	struct spool spool;
	struct packer *packer; /* of the drain thread */
	/* Length of a frame in batch.memory that did not fit into the spool yet. */
	size_t frame_pending;

	struct spool_account delivered;
	struct run_losses lost;
	uint64_t no_thread; /* lost events of threads without a lane */
	uint64_t stacks_cut;
	uint64_t samples_refused;
	uint32_t stacks_unknown;
	uint32_t namespaces;
	uint64_t before; /* copied from capture_totals, like `unready` */
	bool unready;
	/* The stack table is full: begin a new generation when this batch is closed. */
	bool renewal_wanted;
	uint32_t renewal_rest; /* batches until the next renewal may be requested */
	uint64_t watermark_ns;
	uint64_t watermark_told; /* `watermark_ns` (without held events) at the last batch */
	uint64_t order_ns;	 /* time of the last mark from outside the program */
	uint64_t closed_ns;	 /* CLOCK_MONOTONIC of the last batch */
	uint64_t named_ns;	 /* CLOCK_MONOTONIC of the last read of thread names */
	uint64_t ledger_told;	 /* `produced` in the last batch */
	uint64_t turn_ns;	 /* CLOCK_MONOTONIC of the drain thread's last turn */
	uint64_t slept_ns;	 /* clock_slept_ns as reported so far */
	/* Part of the totals that earlier agents have accounted for. */
	uint64_t earlier_delivered, earlier_lost;

	struct stream_part part[STREAM_PARTS_MAX];
	uint32_t parts;

	struct unrecorded unrecorded[STREAM_UNRECORDED_MAX];
	uint32_t unrecorded_count;
	struct unrecorded unrecorded_sum; /* sum of all; its `pid` counts them */
	uint32_t uncounted;		  /* how many of these have no counts */

	/* The observer's settings and results. */
	struct observer_settings observe;
	struct figures figures[STREAM_FIGURES_MAX];
	uint32_t figures_count;
	bool maps_ready;
	enum stream_maps maps_known;
	/* Sequence number of the allocator's last answer that was sent. */
	uint32_t allocator_told;
	uint64_t allocator_took_ns; /* time that this answer took the program */
};

/* Reads the state without the lock. */
static inline enum stream_state stream_state(const struct stream *stream)
{
	return __atomic_load_n(&stream->state, __ATOMIC_ACQUIRE);
}

struct stream_settings {
	uint32_t mode; /* enum ring_mode */
	uint64_t sample_interval;
	bool frees_have_stacks;
	bool runs; /* the program has run before, unrecorded */
	const uint8_t *agent_id;
	const uint8_t *parent_stream; /* NULL: no parent */
	uint64_t parent_event;
	struct target_said said; /* reported by the program, or zeros */
};

/* A stream that an earlier agent has begun. */
struct stream_past {
	uint8_t id[STREAM_ID_SIZE];
	uint32_t incarnation; /* of this agent */
	uint64_t start_ns, start_wall_ns;
	bool has_parent;
	uint8_t parent_stream[STREAM_ID_SIZE];
	uint64_t parent_event;
	struct target_said said;
	struct capture_orders orders;
	bool frees_have_stacks;
	uint32_t level; /* level to which its place had grown */
	/* What the earlier agent had taken. */
	struct capture_account account;
	uint64_t events;	       /* delivered, of all threads */
	uint32_t threads;	       /* the highest thread number */
	struct thread_counts finished; /* of all threads that have ended */
	uint64_t no_thread;
};

/* Initializes a slot of fixed size, once. The part of the memory that belongs to the source
 * (budget.source) is not touched. Returns 0 or -ENOMEM. */
int stream_init(struct stream *stream, struct arena *arena, struct budget *budget,
		uint32_t depth_limit, struct packer *packer);
/* Initializes a place that grows, each time before it is used. Its memory is zeroed, always at the
 * same address. The stream must be zeroed or FREE, and starts at the smallest level. Returns 0 or
 * -ENOMEM. */
int stream_init_place(struct stream *stream, struct arena *arena, struct budget *budget,
		      uint32_t depth_limit, struct packer *packer);
/* ---- stream_grow.c ---- */
/* Called in each turn of the drain thread: grows if the program, the tables or the spool need it
 * and the room has the memory. Returns true if the batch must be closed first. */
bool stream_grow_if_due(struct stream *stream);
/* Grows to this level, even beyond the room's share for growth. The batch must be empty. Returns 0,
 * -ENOSPC if the room has too little memory, or another negative errno. */
int stream_set_level(struct stream *stream, uint32_t level);
/* Returns true if a next level exists and the room did not just refuse it. */
bool stream_may_grow(const struct stream *stream);
/* Reports that the stack table was renewed, or that renewing it failed. */
void stream_table_renewed(struct stream *stream, bool renewed);
/* Limits the new nodes in a batch to what the stack table has room for after a renewal. */
void stream_fit_batch(struct stream *stream);
/* Returns a lane's path, which follows the path of the previous lane in memory. */
struct stacks_path stream_lane(const struct stream *stream, uint32_t lane);
/* Tells the source how many frames of numbered stacks the stack table has room for. */
void stream_allow_saved(struct stream *stream);
/* Return the bytes that the stream has taken from the room: for its first level, and for its
 * growth. */
size_t stream_cost_young(const struct stream *stream);
size_t stream_cost_grown(const struct stream *stream);
void stream_done(struct stream *stream);
/* Enables culling, with the budget's memory for it. Call this before anything is recorded. Returns
 * 0 or -ENOMEM. */
int stream_use_culling(struct stream *stream, struct arena *arena, const struct budget *budget,
		       const struct cull_settings *settings);
/* Enables the flight recorder, with the budget's memory for it. Call this before anything is
 * recorded. Returns 0 or -ENOMEM. */
int stream_use_flight(struct stream *stream, struct arena *arena, const struct budget *budget,
		      const struct flight_settings *settings);

/* Lets batches that wait for a collector move to this folder. Call this before anything is
 * recorded. */
void stream_use_spool(struct stream *stream, struct spool_folder *folder);
/* Calls spool_leave from the main loop. The caller provides a packer, and `out` with `link_out`
 * bytes, because the drain thread may be packing for another stream. */
void stream_leave_spool(struct stream *stream, struct packer *packer, uint8_t *out);

/* A stream goes from FREE to LIVE in two calls, because some sources must know the stream before
 * they begin. stream_prepare gives the stream an id and a start, and returns 0 or -EIO.
 * stream_begin gives it the source, which must outlive the stream. */
int stream_prepare(struct stream *stream, const struct target_info *target,
		   const struct stream_settings *settings);
void stream_begin(struct stream *stream, struct capture_source *source, uint32_t incarnation);
/* FREE to LIVE: continues a stream where an earlier agent has stopped. Returns 0, -ENOSPC if the
 * room has too little memory, or another negative errno; then the stream is still FREE. */
int stream_resume(struct stream *stream, const struct target_info *target,
		  const struct stream_past *past, const uint8_t *agent_id,
		  struct capture_source *source);
/* Makes the stream FREE: everything was delivered or given up. */
void stream_close(struct stream *stream);
/* Sets what the observer reads, and the time of culling if stream_use_culling has given memory to
 * it. Call this directly after the stream was opened, with the lock held. */
void stream_settle(struct stream *stream, const struct observer_settings *observe,
		   uint64_t cull_ns);
/* Sets the tags. If they change, collectors get them with the next batch. The caller holds the
 * lock. */
void stream_tag(struct stream *stream, const struct tags *tags);
/* LIVE to ENDING: the process has ended. */
void stream_end(struct stream *stream, const struct target_end *end);

/* Takes the rest of `run` (stream_take.c). Returns false if the batch has no room for the next
 * item. The caller then closes the batch and calls this again. */
bool stream_take(struct stream *stream);
/* Updates the counts of live threads, and the totals, from the source. */
void stream_count(struct stream *stream);
/* Marks a thread as ended. This function and the next two return false if the batch has no room. */
bool stream_end_thread(struct stream *stream, struct thread *thread, uint64_t time_ns);
/* Takes a RUN_MARK (stream_marks.c). */
bool stream_take_mark(struct stream *stream, const struct run_item *item);
/* Puts a mark of the whole program into the batch. `text` may be NULL. */
bool stream_put_mark(struct stream *stream, int kind, uint64_t value, uint64_t time_ns,
		     const char *text);
/* Tells the source how the program is to record from now on. The caller holds the lock. */
void stream_obey(struct stream *stream);

enum stream_work {
	STREAM_IDLE,	/* nothing to do until the program writes more */
	STREAM_MORE,	/* more work is available at once */
	STREAM_STALLED, /* the spool is full */
};

/* Runs one turn of the drain thread (stream_turn.c). The caller holds the lock. */
enum stream_work stream_drain(struct stream *stream);

/* Adds figures from the observer to the next batch. If too many wait, they replace the last ones.
 * The caller holds the lock. */
void stream_put_figures(struct stream *stream, const struct figures *figures);
/* Adds a mark if the machine has slept. `slept_ns` is the time that it has slept since boot. The
 * caller holds the lock. */
void stream_tell_sleep(struct stream *stream, uint64_t slept_ns);

/* Adds an unrecorded process to the next batch and to the ledger. The caller holds the lock. */
void stream_tell_unrecorded(struct stream *stream, const struct unrecorded *unrecorded);
/* ---- stream_hold.c ---- */
/* Takes an event while culling or the flight recorder is on. Returns 0, or -EAGAIN if the batch
 * must be closed first; then the event was not taken. */
int stream_hold_event(struct stream *stream, struct thread *thread, const struct event *event,
		      uint32_t node);
/* Sends held events that are due; all of them if `final`. Returns 0 or -EAGAIN. */
int stream_hold_advance(struct stream *stream, bool final);
/* Makes the next turn hold fewer events, because others need the memory. */
void stream_hold_less(struct stream *stream);
/* Adds a mark from outside the program to the open batch; `by` names its author. The caller holds
 * the lock. Returns 0, or -EAGAIN if the batch has no room. */
int stream_mark(struct stream *stream, int kind, uint64_t value, uint64_t time_ns,
		const uint8_t *text, uint32_t text_length, const char *by);
/* Makes the next turn of the drain thread send the open batch. The caller holds the lock. */
static inline void stream_hurry(struct stream *s)
{
	s->batch.opened_ns = 1; /* long ago */
}

/* Returns the current stream time, in nanoseconds since the start. */
uint64_t stream_now(const struct stream *stream);

/* The account of all events so far: produced = delivered + culled + not_sampled + lost +
 * pending. */
struct stream_ledger {
	uint64_t produced, delivered, culled, not_sampled, lost, pending;
};
struct stream_ledger stream_ledger(const struct stream *stream);

/* Returns true if culling or the flight recorder is on: events are held back, and some are never
 * sent. */
static inline bool stream_holds(const struct stream *s)
{
	return s->cull.time_ns || s->flight.window_ns;
}

/* Returns the number of events taken from the source: delivered, culled, or held. */
static inline uint64_t stream_taken(const struct stream *s)
{
	return s->delivered.events + s->delivered.culled + sums_events(&s->sums) + s->cull.held +
	       s->flight.held;
}

/* Returns the watermark of the batches: no older event follows. */
static inline uint64_t stream_watermark(const struct stream *s)
{
	return flight_watermark(&s->flight, cull_watermark(&s->cull, s->watermark_ns));
}

/* Counts an event that was put into the batch. */
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

/* Counts several events of one thread. */
static inline void stream_account_sum(struct stream *s, struct thread *thread,
				      const struct spool_account *sum)
{
	thread->counts.delivered += sum->events;
	thread->counts_news |= sum->events != 0;
	s->delivered.events += sum->events;
	s->delivered.frees += sum->frees;
	s->delivered.allocations += sum->allocations;
	s->delivered.bytes += sum->bytes;
}
