#pragma once
/*
 * The agent's memory is a number that the user gave. Here it is divided, once, and taken from the
 * system, once.
 *
 *   limit --+-- TLS      what OpenSSL takes, if there is a key (budget_secure)
 *           +-- own      the program itself, libraries, stacks, libuv (measured, budget_own)
 *           +-- links    buffers of connections, the kernel's socket buffers included
 *           +-- work     what batches are packed into, shared by all streams
 *           +-- slots    one a recorded process:  ring | tables (stacks, modules,
 *                    threads) | batch | spool
 *
 * The ring is shared memory, made when a process comes; everything else is one private mapping,
 * populated at the start.
 *
 * With more than one process at a time slots are places of no fixed size: address space for the
 * largest, of which a process is given what it needs out of one `room`. It begins young and grows
 * level by level (stream_grow); at its end all goes back. What growing may take is limited, so that
 * those that come find a place.
 *
 *   room:  | young | young | young | ...        free        ... |  grown, a part of it at most  |
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/ring/ring_memory.h"

struct err_text;

/* with pages of 4 KiB; larger ones need more (budget_own) */
#define BUDGET_LIMIT_MIN     (2u << 20)
#define BUDGET_SLOTS_MAX     256
#define BUDGET_SESSION_BYTES (30u << 10) /* what a place takes beside: struct session */
#define MAPS_BESIDE	     2560	 /* of a batch's room for definitions, for figures */

/* What a process that has grown so far has. */
struct budget_place {
	uint32_t modules, threads;
	size_t stacks;	/* bytes of its table */
	size_t columns; /* of the batch's message, */
	size_t nodes;
	size_t definitions;
	size_t batch; /* memory for the message */
	size_t state;
	size_t spool;
	size_t maps;
	size_t cost; /* of all, the ring with it */
};

/* Memory that places share. Taken and given back by any thread. */
struct room {
	size_t size, used;
	size_t growth, grown; /* what of that growing may take, and has */
};

struct budget {
	uint64_t limit;
	size_t own;
	uint32_t slots; /* processes at a time */
	uint32_t links; /* collectors at a time */
	size_t link_out;
	size_t link_in;
	size_t socket_buffer; /* SO_SNDBUF of a link */
	size_t message;	      /* longest packed batch */
	size_t scratch;	      /* for the pieces of a batch while it is packed */
	size_t ring;	      /* of each slot, as all below */
	size_t tables;
	size_t batch; /* columns, later the compressed frame */
	size_t state; /* what the encoder predicts addresses from */
	size_t spool;
	size_t maps;	     /* 0: they are not gathered */
	size_t hold;	     /* for events that are held back (cull.h, flight.h); 0: none are */
	size_t hold_message; /* room for sums of what of that is not sent, in a message and in
				`scratch` */
	uint32_t levels;     /* sizes of a place; 1: slots are fixed */
	struct ring_shape shape;
	struct budget_place place[RING_STEPS_MAX];
	size_t virtual; /* address space of a place that grows, without its ring; 0: slots are fixed
			 */
	struct room room;
	bool alike; /* threads have room for stacks of the same depth, whatever slices a ring would
		       have */
};

/* What the program itself takes where pages have this size: each of its mappings has at least
 * one. */
size_t budget_own(size_t page);

/* The least limit that divides with the pages of this machine. */
uint64_t budget_least(void);

/* Divides. `slots` 0: as many as the limit has room for. 0; -EINVAL with the reason. */
int budget_divide(struct budget *budget, uint64_t limit, uint32_t slots, struct err_text *err);

/* As where pages have this size. */
int budget_divide_paged(struct budget *budget, uint64_t limit, uint32_t slots, size_t page,
			struct err_text *err);

/* Divides for any number of processes that each take what they need; stacks have so many frames at
 * most. `links`: there will be collectors. 0; -EINVAL with the reason. */
int budget_divide_elastic(struct budget *budget, uint64_t limit, uint32_t depth, bool links,
			  bool maps, struct err_text *err);

/* What for: a new place; one that grows, which has a part of the room at most; one that must, or it
 * loses what nothing else makes good. */
enum room_use { ROOM_YOUNG, ROOM_GROWING, ROOM_MUST };
/* Takes that much. False: there is not so much. */
bool room_take(struct room *room, size_t bytes, enum room_use use);
void room_give(struct room *room, size_t bytes, enum room_use use);

/* The same, with `memory` of it for `what`, which holds events back. 0; -EINVAL with the reason. */
int budget_divide_holding(struct budget *budget, uint64_t limit, uint32_t slots, size_t memory,
			  const char *what, struct err_text *err);

/* Takes off the limit what TLS takes, which all else is divided without. 0; -EINVAL with the
 * reason. */
int budget_secure(uint64_t *limit, struct err_text *err);

/* Once slots are as they stay: what stream_init reads of those that do not grow. */
void budget_fix(struct budget *budget);

/* Sets memory aside for what is known of each process's maps: a 128th of the limit, out of the
 * spools. */
void budget_maps(struct budget *budget);

/* Memory that is handed out from front to back and given back all at once. */
struct arena {
	uint8_t *memory;
	size_t size;
	size_t used;
};

/* Takes `size` bytes from the system, present at once. 0 or a negative errno. */
int arena_open(struct arena *arena, size_t size);
/* Address space only: pages come when they are written to, and go by arena_drop (whole pages of an
 * arena or a part of one). */
int arena_open_sparse(struct arena *arena, size_t size);
void arena_drop(struct arena *arena);
void arena_close(struct arena *arena);
/* Zeroed on first use, aligned to 64 bytes; NULL: there is not so much left. */
void *arena_take(struct arena *arena, size_t size);
/* A part of this arena as one of its own, to be emptied by arena_clear. */
struct arena arena_part(struct arena *arena, size_t size);
static inline void arena_clear(struct arena *arena)
{
	arena->used = 0;
}
/* All that the parts above add up to, without rings. */
size_t budget_private(const struct budget *budget);
