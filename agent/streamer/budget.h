#pragma once
/*
 * The agent's memory is a number that the user gave. Here it is divided, once, and taken from the system, once.
 *
 *   limit --+-- TLS      what OpenSSL takes, if there is a key (budget_secure)
 *           +-- own      the program itself, libraries, stacks, libuv (measured, budget_own)
 *           +-- links    buffers of connections, the kernel's socket buffers included
 *           +-- work     what batches are packed into, shared by all streams
 *           +-- slots    one a recorded process:  ring | tables (stacks, modules, threads) | batch | spool
 *
 * The ring is shared memory, made when a process comes; everything else is one private mapping, populated at the start.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err_text;

#define BUDGET_LIMIT_MIN (2u << 20) /* with pages of 4 KiB; larger ones need more (budget_own) */
#define BUDGET_SLOTS_MAX 64

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
	size_t maps; /* 0: they are not gathered */
	size_t hold; /* for events that are held back (cull.h, flight.h); 0: none are */
	size_t hold_message; /* room for sums of what of that is not sent, in a message and in `scratch` */
	bool alike; /* threads have room for stacks of the same depth, whatever slices a ring would have */
};

/* What the program itself takes where pages have this size: each of its mappings has at least one. */
size_t budget_own(size_t page);

/* The least limit that divides with the pages of this machine. */
uint64_t budget_least(void);

/* Divides. `slots` 0: as many as the limit has room for. 0; -EINVAL with the reason. */
int budget_divide(struct budget *budget, uint64_t limit, uint32_t slots, struct err_text *err);

/* As where pages have this size. */
int budget_divide_paged(struct budget *budget, uint64_t limit, uint32_t slots, size_t page, struct err_text *err);

/* The same, with `memory` of it for `what`, which holds events back. 0; -EINVAL with the reason. */
int budget_divide_holding(struct budget *budget, uint64_t limit, uint32_t slots, size_t memory, const char *what,
			  struct err_text *err);

/* Takes off the limit what TLS takes, which all else is divided without. 0; -EINVAL with the reason. */
int budget_secure(uint64_t *limit, struct err_text *err);

/* Sets memory aside for what is known of each process's maps: a 128th of the limit, out of the spools. */
void budget_maps(struct budget *budget);

/* Memory that is handed out from front to back and given back all at once. */
struct arena {
	uint8_t *memory;
	size_t size;
	size_t used;
};

/* Takes `size` bytes from the system, present at once. 0 or a negative errno. */
int arena_open(struct arena *arena, size_t size);
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
