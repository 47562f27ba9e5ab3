#pragma once
/*
 * The flight recorder: nothing leaves but sums, until something happens. What is kept meanwhile is
 * the live heap and the last N seconds; a trigger has all of that sent, in order, with times and
 * stacks as they were. So a stream is an ordinary one with holes that are accounted for, as with
 * culling: it is the same rule with "older than the window" for "short-lived".
 *
 * One array holds what is kept, in the order in which the source gave it, which is that of the
 * stamps:
 *
 *	first                      cursor                          head
 *	| live . . live live . live | birth  death  birth  birth  death |
 *	`- births whose block lives; -' `- the window: everything, as it came -'
 *	   found by address (index)
 *
 * The cursor follows the present at a distance of N seconds. A birth that it passes is put into the
 * index; a death that it passes is looked up there: both go, and are counted in the sums (sums.h).
 * What it can't find is the end of a block that was sent already, or that nobody saw begin: that is
 * sent. Where an address is used by two threads within the clock's error the doubtful one is sent
 * (cull.h has the same rule). So what was in use at any moment of the window is held whole, and of
 * the time before what still is.
 *
 * When there is no room the cursor hurries: the window becomes shorter, and a mark MARK_DELIVERY
 * says how long it was. When the window is empty the oldest live blocks are sent (`early` in the
 * sums): they are a part of the live heap, and the collector has them then. Holes are closed by
 * moving everything to the front, whenever that frees a part of the array (1 in 32).
 *
 * A record has 20 bytes, and 20 more if it is of a reallocation or sampled. What does not fit into
 * one (an address that is no multiple of 8, a block of 4 GiB), and what is no block of the heap, is
 * sent at once. The watermark waits for the oldest that is held: what is sent at once is ahead of
 * it, and collectors keep such events in memory; FLIGHT_AHEAD_MAX of them have everything sent.
 *
 *   ARMED --trigger--> DELIVERING --all is sent--> STREAMING --`after_ns`, or an exec--> ARMED
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/budget.h"
#include "agent/core/stacks.h"
#include "proto/event.h"

#define FLIGHT_WINDOW_MAX_NS 3600000000000
#define FLIGHT_AHEAD_MAX     (1u << 19)
/* longest that anything waits for a batch while armed */
#define FLIGHT_CLOSE_NS 10000000000
/* sums wait for so much longer a row: some 500 bytes a second */
#define FLIGHT_ROW_NS 25000000

struct stream;
struct thread;
struct event;

/* Why everything was sent. */
enum flight_cause {
	FLIGHT_NONE,
	FLIGHT_SIGNAL,
	FLIGHT_ORDER,
	FLIGHT_RSS,
	FLIGHT_GROWTH,
	FLIGHT_PRESSURE, /* the kernel says that tasks wait for memory */
	FLIGHT_LIMIT,	 /* the cgroup is near its limit, or was throttled at memory.high */
	FLIGHT_END,
	FLIGHT_EXEC,
	FLIGHT_FULL, /* collectors must not wait any longer */
	FLIGHT_CAUSES,
};

struct flight_settings {
	uint64_t window_ns; /* 0: no flight recorder */
	uint64_t after_ns;  /* all is sent for so long after a trigger */
	size_t memory;	    /* of all streams; 0: half of the limit */
};

struct flight_record {
	uint64_t address : 45; /* / 8 */
	uint64_t thread : 14;  /* index in the table of threads */
	uint64_t kind : 5;     /* 0: a hole */
	uint64_t ticks : 48;   /* of BATCH_TICK_NS */
	uint64_t more : 1;     /* struct flight_more follows */
	uint64_t indexed : 1;
	uint64_t doubled : 1; /* when it was born a block was already there */
	uint64_t unused : 13;
	uint32_t size;
} __attribute__((packed, aligned(4)));

/* In place of a record, behind one of a reallocation or of a sampled block. */
struct flight_more {
	uint64_t old_address : 48;
	uint64_t weight : 48;
	uint64_t call_ticks : 32;
	uint64_t unused : 32;
} __attribute__((packed, aligned(4)));

enum flight_state { FLIGHT_ARMED, FLIGHT_DELIVERING, FLIGHT_STREAMING };

struct flight {
	uint64_t window_ns, after_ns;
	struct flight_record *record;
	struct stacks_path *path; /* the node of each; 0: none */
	uint32_t *index;	  /* by address: number + 1 */
	uint32_t slots, places;
	uint32_t first, cursor, head;
	uint32_t holes;	  /* below head */
	uint32_t held;	  /* events */
	uint32_t ahead;	  /* blocks' events that were sent while older ones are held */
	uint32_t late;	  /* up to this one there may be some that came out of order, */
	uint64_t late_ns; /* the oldest of this time */
	uint64_t newest_ns;
	bool has_late;
	bool shrink;	   /* somebody needs room: threads, or the stack table */
	uint64_t now_ns;   /* as far as events or the watermark have come */
	uint64_t whole_ns; /* everything after this moment is held, or was sent */
	enum flight_state state;
	enum flight_cause wanted; /* not obeyed yet */
	uint64_t until_ns;	  /* STREAMING: stream time */
};

/* Takes what is left of the arena; `path` becomes the recorder's own. 0 or -ENOMEM. */
int flight_init(struct flight *flight, const struct flight_settings *settings, struct arena *arena,
		struct stacks_path *path);
/* Empty and armed, for the next program. `whole_ns`: what was before this moment is not here. */
void flight_clear(struct flight *flight, uint64_t whole_ns);
/*
 * Something has happened: all that is held is sent, from the drain thread's next turn on. With the
 * stream's lock held, from any thread. True if that is news; false: it is being sent already, or
 * there is no flight recorder. While all is sent anyway, that goes on for as long as after a
 * trigger.
 */
bool flight_trigger(struct stream *stream, enum flight_cause cause);
/* In a word, for the mark. */
const char *flight_cause_name(enum flight_cause cause);
/*
 * Takes an event of the stream in, with the node of its stack, and sends what must go. 0; -EAGAIN:
 * the batch must be closed first, and nothing was taken in.
 */
int flight_event(struct stream *stream, struct thread *thread, const struct event *event,
		 uint32_t node);
/* Does what is due. `final`: no event follows (of this image of the program): everything is sent. 0
 * or -EAGAIN. */
int flight_advance(struct stream *stream, bool final);
/* Another image of the program begins, all of the last one was sent: armed again. */
static inline void flight_begin_image(struct flight *f)
{
	f->state = FLIGHT_ARMED;
}
/* Is there something to do before more events are taken in? */
static inline bool flight_urgent(const struct flight *f)
{
	return f->wanted || f->state == FLIGHT_DELIVERING || f->shrink;
}
/* Nothing but sums goes out now, so batches can wait. */
static inline bool flight_is_quiet(const struct flight *f)
{
	return f->window_ns && f->state == FLIGHT_ARMED && !f->wanted;
}
/* Less is to be held, with the next event or turn. */
static inline void flight_shrink(struct flight *f)
{
	f->shrink = f->held != 0;
}
/* No event older than this will be sent; `watermark_ns` is what the source says. */
uint64_t flight_watermark(const struct flight *flight, uint64_t watermark_ns);
