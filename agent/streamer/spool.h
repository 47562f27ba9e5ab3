#pragma once
/*
 * Finished batches, kept until a collector has them safe (or the file sink has written them), and for as long after that
 * as nobody needs the room: a second collector, or one that comes back, often finds what it lacks.
 *
 *   | evicted ... | acknowledged, kept while there is room | to be delivered |
 *                  ^ first                                  ^ acked + 1       ^ next
 *
 * Frames lie in one piece in a ring of bytes. A frame that is not acknowledged is never dropped: when there is no more room the
 * oldest goes to the disk, if there is a folder for it, and with that full or without one spool_put says -ENOSPC, the drain
 * stops, the ring fills, and the policy decides. What is on the disk comes right before `first`. The stream's lock guards it.
 */
#include <stddef.h>
#include <stdint.h>

#include "agent/streamer/budget.h"
#include "agent/streamer/spool_disk.h"

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
	struct spool_disk disk;
	uint64_t first; /* number of the oldest frame in memory; next: none is */
	uint64_t acked;
	uint64_t next;	/* number that the next frame will have; the first has 1 */
	struct spool_account evicted; /* of the last frame that is gone from memory and disk */
	uint64_t bytes_total;	      /* put in so far */
};

/* Of `size` bytes, and of `most` later. 0 or -ENOMEM. */
int spool_init(struct spool *spool, struct arena *arena, size_t most, size_t size);
/* It has so many bytes now; at most the `most` of spool_init. */
void spool_grow(struct spool *spool, size_t size);
void spool_clear(struct spool *spool);
/* Copies a frame in; it gets the number `next`. 0; -ENOSPC: come again after an acknowledgement; -EMSGSIZE: it is
 * longer than the spool. */
int spool_put(struct spool *spool, const void *data, size_t length, const struct spool_account *account);
/* Where a frame lies, valid until it is acknowledged and evicted, or goes to the disk. */
struct spool_place {
	const uint8_t *data; /* in memory; NULL: in the file `fd` at `offset` */
	int fd;
	off_t offset;
	size_t length;
};
/* 0; -ENOENT: it is not here; -EIO: the disk refuses it. */
int spool_find(const struct spool *spool, uint64_t number, struct spool_place *ret_place);
/* Bytes in memory that nobody has acknowledged. */
size_t spool_waiting(const struct spool *spool);
/* Number of the oldest frame, in memory or on the disk; next: none is here. */
uint64_t spool_oldest(const struct spool *spool);
/* As spool_find, in memory only; NULL: it is not there. */
const uint8_t *spool_get(const struct spool *spool, uint64_t number, size_t *ret_length);
/* Everything up to `number` is safe. A number that was never given out is refused: -EINVAL. */
int spool_ack(struct spool *spool, uint64_t number);
/* Nobody takes the rest: what there is room for goes to the disk, if there is one, and is left there for another agent to find.
 * Frames from `first` on are not there. */
void spool_leave(struct spool *spool);
/* The counts as of the end of frame `number`, which is here or the last that was evicted. */
struct spool_account spool_account_at(const struct spool *spool, uint64_t number);
