#pragma once
/*
 * Finished batches, kept until a collector has them safe (or the file sink has written them), and for as long after that
 * as nobody needs the room: a second collector, or one that comes back, often finds what it lacks.
 *
 *   | evicted ... | acknowledged, kept while there is room | to be delivered |
 *                  ^ first                                  ^ acked + 1       ^ next
 *
 * Frames lie in one piece in a ring of bytes. A frame that is not acknowledged is never dropped: spool_put says -ENOSPC,
 * the drain stops, the ring fills, and the policy decides. The stream's lock guards it.
 */
#include <stddef.h>
#include <stdint.h>

#include "agent/streamer/budget.h"

/* Cumulative counts of delivered events as of the end of a batch. */
struct spool_account {
	uint64_t events;
	uint64_t allocations;
	uint64_t frees;
	uint64_t bytes;
	uint64_t time_ns;
	uint32_t nodes; /* highest number of a node that was defined by then */
};

struct spool_frame {
	size_t offset;
	size_t length;
	struct spool_account account;
};

struct spool {
	uint8_t *memory;
	size_t size;
	struct spool_frame *frame; /* number % frame_slots */
	uint32_t frame_slots;
	uint64_t first; /* number of the oldest frame here; next: none is here */
	uint64_t acked;
	uint64_t next;	/* number that the next frame will have; the first has 1 */
	struct spool_account evicted; /* of the last frame that is gone */
	uint64_t bytes_total;	      /* put in so far */
};

int spool_init(struct spool *spool, struct arena *arena, size_t size);
void spool_clear(struct spool *spool);
/* Copies a frame in; it gets the number `next`. 0; -ENOSPC: come again after an acknowledgement; -EMSGSIZE: it is
 * longer than the spool. */
int spool_put(struct spool *spool, const void *data, size_t length, const struct spool_account *account);
/* The frame in place, valid until it is acknowledged and evicted; NULL: it is not here. */
const uint8_t *spool_get(const struct spool *spool, uint64_t number, size_t *ret_length);
/* Everything up to `number` is safe. A number that was never given out is refused: -EINVAL. */
int spool_ack(struct spool *spool, uint64_t number);
/* The counts as of the end of frame `number`, which is here or the last that was evicted. */
struct spool_account spool_account_at(const struct spool *spool, uint64_t number);
