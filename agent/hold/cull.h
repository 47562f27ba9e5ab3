#pragma once
/*
 * Culling: blocks that live shorter than a given time are not sent as two events. What is sent in
 * their stead are sums (sums.h), so that totals stay exact.
 *
 * With culling on, all events pass through a list, in the order in which the source gives them,
 * which is that of their stamps:
 *
 *	oldest                                                      newest
 *	malloc A (pending) - free X - malloc B (pending) - realloc C -> D - ...
 *	`-- sent when its time has passed, and what is behind it up to the next pending one
 *
 * The free of a pending block takes it out, and neither is sent. So what is sent is in its order,
 * and what is held back is what may still be culled and what came after that; the watermark waits
 * for it. When the list is full the oldest is sent before its time (`early`).
 *
 * At one address births and deaths alternate, and their order is trusted, with two exceptions among
 * different threads. A death that is older than the birth, because it came late, is that of an
 * earlier block. And so is one that follows within the clock's error (CULL_DOUBT_NS) a birth where
 * a block was already. Those are sent, and so is a block whose place was taken while its end is not
 * known: the collector pairs them, as it would without culling. A death takes a birth out or
 * neither goes: what is sent alternates as before.
 *
 * A chain of reallocations is culled or sent as a whole: the free of its last block takes out all
 * of it if the first one was born less than the time before. Else, and when the first one is sent,
 * all blocks of it are pending no more; and so are those of a chain that grows beyond
 * CULL_CHAIN_MOST blocks. A reallocation of a block that was sent is sent, and so is the end of
 * what it makes. Mappings, pools, failed calls and free(NULL) are always sent.
 *
 * Slots of the list and the table of addresses have a fixed size; nothing is allocated. What is
 * held back bears nodes of the stack table: cull.path keeps them when a new generation of it
 * begins.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/budget.h"
#include "agent/core/stacks.h"
#include "agent/hold/sums.h"
#include "proto/event.h"

#define CULL_DOUBT_NS	6000		/* the collector's window for repairs: 5 us and a tick */
#define CULL_CHAIN_MOST SUMS_ROWS_LEAST /* blocks: their sums find room at once */

struct stream;
struct thread;
struct event;

struct cull_settings {
	uint64_t time_ns;     /* 0: nothing is culled */
	uint64_t pending_max; /* blocks that wait for their end at most; 0: as many as there is room
				 for */
	size_t memory;	      /* of all streams; 0: an eighth of the limit */
};

struct cull_slot {
	uint64_t time_ns;
	uint64_t address;
	uint64_t size;
	uint64_t weight;
	uint64_t old_address;
	uint32_t call_ticks;
	uint32_t thread;       /* index in the table of threads */
	uint32_t older, newer; /* slots; 0: none. Of free ones, `newer` is the next */
	uint32_t serial;
	uint32_t chain; /* the next block that reallocations made of it, of the last one the first;
			   0: none did */
	uint8_t position; /* in the chain, from 0 */
	uint8_t kind;
	bool pending;
	bool doubled; /* when it was born a block was already there */
};

/* The last birth in the list at this address, if no death came behind it. */
struct cull_at {
	uint64_t address; /* 0: free */
	uint32_t slot;
};

struct cull {
	uint64_t time_ns;
	uint32_t pending_max;
	struct cull_slot *slot;	  /* from 1 */
	struct stacks_path *path; /* the node of each slot; 0: none */
	uint32_t slots, spare;	  /* `spare`: the first free one */
	uint32_t oldest, newest, held, pending;
	struct cull_at *at;
	uint32_t places;  /* of `at` */
	uint64_t now_ns;  /* as far as events or the watermark have come */
	uint64_t late_ns; /* oldest time of events that came out of order, */
	uint32_t late;	  /* up to the one with this serial */
	uint32_t serial;
	bool has_late;
	bool flush; /* all that is held back is to be sent */
};

/* Takes what is left of the arena; `path` becomes the cull's own. 0 or -ENOMEM. */
int cull_init(struct cull *cull, const struct cull_settings *settings, struct arena *arena,
	      struct stacks_path *path);
/* Empty again, for the next program. */
void cull_clear(struct cull *cull);
/*
 * Takes an event of the stream in, with the node of its stack, and sends what must go. 0; -EAGAIN:
 * the batch must be closed first, and nothing was taken in.
 */
int cull_event(struct stream *stream, struct thread *thread, const struct event *event,
	       uint32_t node);
/* Sends what has waited long enough, as of the stream's watermark; `all`: everything. 0 or
 * -EAGAIN. */
int cull_advance(struct stream *stream, bool all);
/* Everything is to be sent, with the next event or turn. */
static inline void cull_flush(struct cull *cull)
{
	cull->flush = cull->held != 0;
}
/* A mark of that kind was put: recording begins, ends or changes, or somebody wants to see all
 * there is. */
void cull_mark(struct cull *cull, int kind);
/* No event older than this will be sent; `watermark_ns` is what the source says. */
uint64_t cull_watermark(const struct cull *cull, uint64_t watermark_ns);
