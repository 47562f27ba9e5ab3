#pragma once
/*
 * The flight recorder: only sums leave the agent until something happens. Meanwhile the agent keeps
 * the live heap and the last N seconds. A trigger sends all of that, in order, with the original
 * times and stacks. So the stream is an ordinary one, with holes that are accounted for. Culling
 * works the same way, with "short-lived" instead of "older than the window".
 *
 * One array holds what is kept, in the order in which the source delivered it, which is the order
 * of the stamps:
 *
 *	first                      cursor                          head
 *	| live . . live live . live | birth  death  birth  birth  death |
 *	`- births of live blocks, --' `- the window: all events --------'
 *	   found by address (index)
 *
 * The cursor follows the present at a distance of N seconds. When it passes a birth, it adds the
 * birth to the index. When it passes a death, it looks up the birth; both are removed and counted
 * in the sums (sums.h). If it finds no birth, the block was sent already, or its birth was not
 * recorded; the death then is sent. If two threads use an address within the clock's error, the
 * doubtful event is sent (cull.h has the same rule). So the array holds the complete live heap of
 * each moment in the window, and those older blocks that are still in use.
 *
 * When there is no room, the cursor advances early: the window becomes shorter, and a mark
 * MARK_DELIVERY says how long it was. When the window is empty, the oldest live blocks are sent
 * (`early` in the sums): they are a part of the live heap, which the collector then already has.
 * Moving everything to the front closes the holes, each time a 32nd of the array can be freed.
 *
 * A record has 20 bytes, and 20 more for a reallocation or a sampled block. Events that do not fit
 * into a record (an address that is not a multiple of 8, a block of 4 GiB), and blocks outside of
 * the heap, are sent at once. The watermark waits for the oldest held event. Events that are sent
 * at once are ahead of the watermark, and collectors keep such events in memory; after
 * FLIGHT_AHEAD_MAX of them, everything is sent.
 *
 *    ARMED --trigger--> DELIVERING --all is sent--> STREAMING --`after_ns`, or an exec--> ARMED
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/arena.h"
#include "agent/core/stacks.h"
#include "agent/hold/hold_host.h"
#include "proto/event.h"
#include "proto/columns.h"

#define FLIGHT_WINDOW_MAX_NS 3600000000000
#define FLIGHT_AHEAD_MAX     (1u << 19)
/* Longest wait for a batch while armed. */
#define FLIGHT_CLOSE_NS 10000000000
/* Sums wait longer by this for each row: about 500 bytes a second. */
#define FLIGHT_ROW_NS 25000000

/* Why everything was sent. */
enum flight_cause {
	FLIGHT_NONE,
	FLIGHT_SIGNAL,
	FLIGHT_ORDER,
	FLIGHT_RSS,
	FLIGHT_GROWTH,
	FLIGHT_PRESSURE, /* the kernel reports that tasks wait for memory */
	FLIGHT_LIMIT,	 /* the cgroup is near its limit, or was throttled at memory.high */
	FLIGHT_END,
	FLIGHT_EXEC,
	FLIGHT_FULL, /* too many events are ahead of the watermark */
	FLIGHT_CAUSES,
};

struct flight_settings {
	uint64_t window_ns; /* 0: no flight recorder */
	uint64_t after_ns;  /* how long everything is sent after a trigger */
	size_t memory;	    /* of all streams; 0: half of the limit */
};

struct flight_record {
	uint64_t address : 45; /* address / 8 */
	uint64_t thread : 14;  /* index in the thread table */
	uint64_t kind : 5;     /* 0: a hole */
	uint64_t ticks : 48;   /* in units of RUN_TICK_NS */
	uint64_t more : 1;     /* struct flight_more follows */
	uint64_t indexed : 1;
	uint64_t doubled : 1; /* a block was alive at the address when this one was born */
	uint64_t unused : 13;
	uint32_t size;
} __attribute__((packed, aligned(4)));

/* Takes the place of a record, behind the record of a reallocation or of a sampled block. */
struct flight_more {
	uint64_t old_address : 48;
	uint64_t weight : 48;
	uint64_t call_ticks : 32;
	uint64_t unused : 32;
} __attribute__((packed, aligned(4)));

enum flight_state { FLIGHT_ARMED, FLIGHT_DELIVERING, FLIGHT_STREAMING };

struct flight {
	struct hold_host host;
	uint64_t window_ns, after_ns;
	struct flight_record *record;
	struct stacks_path *path; /* the node of each record; 0: none */
	uint32_t *index;	  /* hash table by address: record number + 1 */
	uint32_t slots, places;
	uint32_t first, cursor, head;
	uint32_t holes;	  /* below head */
	uint32_t held;	  /* number of held events */
	uint32_t ahead;	  /* heap events sent while older ones are held */
	uint32_t late;	  /* last record that came out of order */
	uint64_t late_ns; /* oldest time of the records that came out of order */
	uint64_t newest_ns;
	bool has_late;
	bool shrink;	   /* memory is needed for threads or the stack table */
	uint64_t now_ns;   /* time that events or the watermark have reached */
	uint64_t whole_ns; /* everything after this time is held, or was sent */
	enum flight_state state;
	enum flight_cause wanted; /* not handled yet */
	uint64_t until_ns;	  /* end of STREAMING, in stream time */
};

/* Takes the rest of the arena. The recorder uses `path` from now on. Returns 0 or -ENOMEM. */
int flight_init(struct flight *flight, const struct flight_settings *settings,
		const struct hold_host *host, struct arena *arena, struct stacks_path *path);
/* Empties and arms the recorder, for the next program. `whole_ns`: what happened before is
 * missing. */
void flight_clear(struct flight *flight, uint64_t whole_ns);
/*
 * Requests that everything held is sent, from the drain thread's next turn on. Any thread may call
 * it with the stream's lock held. Returns true if this is a new request, or false if everything is
 * being sent already, or if there is no flight recorder. During STREAMING, restarts the time
 * `after_ns`. `now_ns`, here and below, is the stream's present.
 */
bool flight_trigger(struct flight *flight, enum flight_cause cause, uint64_t now_ns);
/* Returns the cause in a word, for the mark. */
const char *flight_cause_name(enum flight_cause cause);
/* Returns true if everything is to be sent. The stream then puts the mark MARK_DELIVERY and calls
 * flight_begin_delivery. */
static inline bool flight_wants_delivery(const struct flight *f)
{
	return f->wanted && f->state == FLIGHT_ARMED;
}
static inline void flight_begin_delivery(struct flight *f)
{
	f->state = FLIGHT_DELIVERING;
}
/* Does what must be done before more events are taken, if flight_urgent. Returns 0 or -EAGAIN. */
int flight_work(struct flight *flight, uint64_t now_ns);
/*
 * Takes over an event, with the node of its stack, and sends what must be sent. Returns 0, or
 * -EAGAIN if the batch must be closed first; then the event was not taken.
 */
int flight_event(struct flight *flight, struct thread *thread, const struct event *event,
		 uint32_t node);
/* Does what is due according to the source's watermark. `final`: no event of this image follows.
 * Returns 0 or -EAGAIN. */
int flight_advance(struct flight *flight, uint64_t watermark_ns, uint64_t now_ns, bool final);
/* Arms the recorder again for another image of the program. Everything of the last image was
 * sent. */
static inline void flight_begin_image(struct flight *f)
{
	f->state = FLIGHT_ARMED;
}
/* Returns true if work must be done before more events are taken. */
static inline bool flight_urgent(const struct flight *f)
{
	return f->wanted || f->state == FLIGHT_DELIVERING || f->shrink;
}
/* Returns true if only sums are sent now, so batches can wait. */
static inline bool flight_is_quiet(const struct flight *f)
{
	return f->window_ns && f->state == FLIGHT_ARMED && !f->wanted;
}
/* Makes the next event or turn hold less. */
static inline void flight_shrink(struct flight *f)
{
	f->shrink = f->held != 0;
}
/* Returns the watermark of what is sent: no older event will follow. `watermark_ns` is the
 * source's. */
uint64_t flight_watermark(const struct flight *flight, uint64_t watermark_ns);
