#pragma once
/*
 * Divides the agent's memory limit, which the user sets. This happens once, at the start.
 * (serve/agent_memory.c takes the memory from the system.)
 *
 *   limit --+-- TLS      what OpenSSL takes, if there is a key (budget_secure)
 *           +-- own      the program itself, libraries, stacks, libuv (measured, budget_own)
 *           +-- links    buffers of connections, including the kernel's socket buffers
 *           +-- work     buffers for packing batches, shared by all streams
 *           +-- slots    one for each recorded process:
 *                        ring | tables (stacks, modules, threads) | batch | spool
 *
 * The ring is shared memory, which the agent creates when a process connects. Everything else is
 * one private mapping, populated at the start if slots have a fixed size.
 *
 * If the agent records any number of processes (budget_divide_elastic), slots have no fixed size. A
 * slot then is address space for the largest size, and its memory is charged to a shared `room`. A
 * process starts at the smallest level ("young") and grows level by level (stream_grow); when it
 * ends, all its memory returns to the room. Growth may use only a part of the room, so that new
 * processes still find memory.
 *
 *   room:  | young | young | young | ...          free          ... | grown, up to a share of it |
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/ring/ring_memory.h"

struct err_text;

/* The smallest limit with pages of 4 KiB. Larger pages need more (budget_own). */
#define BUDGET_LIMIT_MIN (2u << 20)
#define BUDGET_SLOTS_MAX 256
/* Memory of a struct session, in addition to the place's own memory. */
#define BUDGET_SESSION_BYTES (37u << 10)
/* Bytes of a batch's room for definitions that Figures take; the maps get the rest. */
#define MAPS_BESIDE 2560

/* The memory of a process at one level of growth. */
struct budget_place {
	uint32_t modules, threads;
	size_t stacks; /* bytes of the stack table */
	/* The batch's message consists of columns, nodes and definitions, in bytes. */
	size_t columns;
	size_t nodes;
	size_t definitions;
	size_t batch; /* memory for the message */
	size_t state;
	size_t spool;
	size_t maps;
	size_t cost; /* of all parts, the ring included */
};

/* Memory that places share. Any thread may take from it and give back to it. */
struct room {
	size_t size, used;
	size_t growth, grown; /* the bytes that growth may take, and those that it has taken */
};

struct budget {
	uint64_t limit;
	size_t own;
	uint32_t slots; /* processes at a time */
	uint32_t links; /* collectors at a time */
	size_t link_out;
	size_t link_in;
	size_t socket_buffer; /* SO_SNDBUF of a link */
	size_t message;	      /* size of the longest packed batch */
	size_t scratch;	      /* memory for the pieces of a batch while it is packed */
	size_t ring;	      /* of each slot, as all sizes below */
	size_t tables;
	size_t source; /* the part of `tables` that the source of events takes */
	size_t batch;  /* for columns, later for the compressed frame */
	size_t state;  /* the encoder predicts addresses from it */
	size_t spool;
	size_t maps; /* 0: maps are not recorded */
	size_t hold; /* for events that are held back (cull.h, flight.h); 0: none are */
	/* Room for the sums of events that are not sent, both in a message and in `scratch`. */
	size_t hold_message;
	uint32_t levels; /* number of sizes of a place; 1: slots are fixed */
	struct ring_shape shape;
	struct budget_place place[RING_STEPS_MAX];
	/* Address space of a place that grows, without its ring. 0: slots are fixed. */
	size_t virtual;
	struct room room;
	/* All threads have room for stacks of the same depth, even if the slices of a ring
	 * differ. */
	bool alike;
};

/* Returns the bytes that the program itself takes if pages have this size. The page size matters
 * because each of the program's mappings takes at least one page. */
size_t budget_own(size_t page);

/* Returns the smallest limit, in bytes, that can be divided with this machine's page size. */
uint64_t budget_least(void);

/* Divides `limit` bytes among `slots` processes; 0: as many as the limit has room for. Returns 0,
 * or -EINVAL with the reason. */
int budget_divide(struct budget *budget, uint64_t limit, uint32_t slots, struct err_text *err);

/* Like budget_divide, for pages of `page` bytes. */
int budget_divide_paged(struct budget *budget, uint64_t limit, uint32_t slots, size_t page,
			struct err_text *err);

/* Divides `limit` bytes for any number of processes, each of which takes what it needs. Backtraces
 * have at most `depth` frames. `links`: collectors may connect; `maps`: maps are recorded. Returns
 * 0, or -EINVAL with the reason. */
int budget_divide_elastic(struct budget *budget, uint64_t limit, uint32_t depth, bool links,
			  bool maps, struct err_text *err);

/* The use of memory of the room. ROOM_YOUNG: a new place. ROOM_GROWING: a place that grows, which
 * is limited to a part of the room. ROOM_MUST: a place that has to grow, because otherwise it would
 * lose data that nothing can replace. */
enum room_use { ROOM_YOUNG, ROOM_GROWING, ROOM_MUST };
/* Takes `bytes` from the room. Returns false if the room has fewer left for this use. */
bool room_take(struct room *room, size_t bytes, enum room_use use);
/* Gives back `bytes` that room_take took for the same use. */
void room_give(struct room *room, size_t bytes, enum room_use use);

/* Like budget_divide, with `memory` bytes of the limit reserved for held events. `what` names the
 * user of that memory in messages. Returns 0, or -EINVAL with the reason. */
int budget_divide_holding(struct budget *budget, uint64_t limit, uint32_t slots, size_t memory,
			  const char *what, struct err_text *err);

/* Subtracts the memory of TLS from the limit; divide what remains. Besides the links, `peers`
 * connections at a time may have a TLS session: those whose handshake is not over. Returns 0, or
 * -EINVAL with the reason. */
int budget_secure(uint64_t *limit, uint32_t peers, struct err_text *err);

/* Fills in `place[0]`, which stream_init reads, for slots of a fixed size. Call it after the other
 * budget_* functions, when the sizes no longer change. */
void budget_fix(struct budget *budget);

/* Returns the number of lanes of a place with so many levels. */
static inline uint32_t budget_lanes(const struct budget *b, uint32_t levels)
{
	return ring_slice_count(&b->shape, levels);
}
/* Returns the most frames that a backtrace of this lane can have: a program writes none that is
 * longer than half a slice. */
uint32_t budget_frames(const struct budget *budget, uint32_t lane);

/* Reserves memory for the maps of each process: a 128th of the limit, taken from the spools. */
void budget_maps(struct budget *budget);

/* Returns the sum of all parts above, in bytes, without the rings. */
size_t budget_private(const struct budget *budget);
