#pragma once
/*
 * Culling: a block that lives shorter than a given time is not sent as two events. It is added to
 * sums (sums.h) instead, so totals stay exact.
 *
 * With culling on, all events pass through a list, in the order in which the source delivers them,
 * which is the order of their stamps:
 *
 *	oldest                                                      newest
 *	malloc A (pending) - free X - malloc B (pending) - realloc C -> D - ...
 *	`-- sent when its time is over, together with what follows up to the next pending block
 *
 * The free of a pending block removes the block from the list, and neither is sent. So events are
 * sent in order. The list holds the blocks that may still be culled and the events after the oldest
 * of them, and the watermark waits for that. When the list is full, the oldest block is sent before
 * its time (`early`).
 *
 * At each address, births and deaths alternate, and their order is trusted, with two exceptions
 * between different threads. First, a death that is older than the birth came late, and belongs to
 * an earlier block. Second, so does a death that follows a birth within the clock's error
 * (CULL_DOUBT_NS), if that birth was at an address where a block was alive. Such deaths are sent. A
 * block whose address was reused before its end is known is sent, too: the collector pairs the
 * events as it does without culling. A death and its birth are either both culled or both sent, so
 * the events that are sent still alternate.
 *
 * A chain of reallocations is culled or sent as a whole. The free of its last block culls the whole
 * chain if the first block is younger than the time. Otherwise, or when the first block is sent, no
 * block of the chain is pending any more. The same happens when a chain grows beyond
 * CULL_CHAIN_MOST blocks. If a block was sent, its reallocation is sent, and so is the end of the
 * new block. Mappings, pools, failed calls and free(NULL) are always sent.
 *
 * The list and the table of addresses have a fixed size; nothing is allocated. Held events refer to
 * nodes of the stack table; `cull.path` keeps those nodes when a new generation of the table
 * begins.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/arena.h"
#include "agent/core/stacks.h"
#include "agent/hold/hold_host.h"
#include "agent/hold/sums.h"
#include "proto/event.h"
#include "proto/columns.h"

#define CULL_DOUBT_NS	6000		/* the collector's window for repairs: 5 us and a tick */
#define CULL_CHAIN_MOST SUMS_ROWS_LEAST /* blocks; the sums always have room for a whole chain */

struct cull_settings {
	uint64_t time_ns; /* 0: culling is off */
	/* Largest number of pending blocks. 0: limited by the memory only. */
	uint64_t pending_max;
	size_t memory; /* of all streams; 0: an eighth of the limit */
};

struct cull_slot {
	uint64_t time_ns;
	uint64_t address;
	uint64_t size;
	uint64_t weight;
	uint64_t old_address;
	uint32_t call_ticks;
	uint32_t thread;       /* index in the thread table */
	uint32_t older, newer; /* slots; 0: none. In a free slot, `newer` is the next free slot */
	uint32_t serial;
	/* The next block of the chain of reallocations; the last one refers to the first. 0: not in
	 * a chain. */
	uint32_t chain;
	uint8_t position; /* in the chain, from 0 */
	uint8_t kind;
	bool pending;
	bool doubled; /* a block was alive at the address when this one was born */
};

/* The last birth in the list at this address, unless a death followed. */
struct cull_at {
	uint64_t address; /* 0: free */
	uint32_t slot;
};

struct cull {
	struct hold_host host;
	uint64_t time_ns;
	uint32_t pending_max;
	struct cull_slot *slot;	  /* indices start at 1 */
	struct stacks_path *path; /* the node of each slot; 0: none */
	uint32_t slots, spare;	  /* `spare`: the first free slot */
	uint32_t oldest, newest, held, pending;
	struct cull_at *at;
	uint32_t places;  /* capacity of `at` */
	uint64_t now_ns;  /* time that events or the watermark have reached */
	uint64_t late_ns; /* oldest time of held events that came out of order */
	uint32_t late;	  /* serial of the last event that came out of order */
	uint32_t serial;
	bool has_late;
	bool flush; /* everything held is to be sent */
};

/* Takes the rest of the arena. The cull uses `path` from now on. Returns 0 or -ENOMEM. */
int cull_init(struct cull *cull, const struct cull_settings *settings, const struct hold_host *host,
	      struct arena *arena, struct stacks_path *path);
/* Empties the list, for the next program. */
void cull_clear(struct cull *cull);
/*
 * Takes over an event, with the node of its stack, and sends what is due. Returns 0,
 * or -EAGAIN if the batch must be closed first; then the event was not taken.
 */
int cull_event(struct cull *cull, struct thread *thread, const struct event *event, uint32_t node);
/* Sends the events that have waited long enough according to the source's watermark, or everything
 * if `all`. Returns 0 or -EAGAIN. */
int cull_advance(struct cull *cull, uint64_t watermark_ns, bool all);
/* Makes the next event or turn send everything. */
static inline void cull_flush(struct cull *cull)
{
	cull->flush = cull->held != 0;
}
/* Handles a mark of this kind. Sends everything if recording starts, stops or changes, or if a user
 * wants a snapshot. */
void cull_mark(struct cull *cull, int kind);
/* Returns the watermark of what is sent: no older event will follow. `watermark_ns` is the
 * source's. */
uint64_t cull_watermark(const struct cull *cull, uint64_t watermark_ns);
