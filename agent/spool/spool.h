#pragma once
/*
 * Finished batches, kept until the room is needed: a second collector, or one that comes back,
 * often finds what it lacks. An acknowledgement frees nothing.
 *
 *   | dropped ... | all have it | somebody has it | nobody has it yet |
 *                  ^ oldest      ^ kept + 1        ^ acked + 1         ^ next
 *
 * Frames lie in one piece in a ring of bytes. Need for room goes by this order, the oldest frame
 * first:
 *
 *   1. what all collectors have is dropped (they are those that were welcomed, also while they are
 *      away: collectors.h)
 *   2. the rest goes to the disk, if there is a folder for it
 *   3. with that full, or without one, what at least one collector has is dropped: who lacks it is
 *      told of a gap
 *   4. spool_put says -ENOSPC, the drain stops, the ring fills, and the policy decides
 *
 * What is on the disk comes right before `first`. The stream's lock guards it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/budget.h"
#include "agent/spool/spool_disk.h"

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
	uint64_t kept;	/* up to here all have it */
	uint64_t acked; /* up to here somebody has it: it is safe */
	uint64_t held;	/* from here on nothing is dropped, whoever has it: a file is being written;
			   UINT64_MAX: none is */
	uint64_t next;	/* number that the next frame will have; the first has 1 */
	struct spool_account evicted; /* of the last frame that was dropped */
	uint64_t bytes_total;	      /* put in so far */
};

/* Of `size` bytes, and of `most` later. 0 or -ENOMEM. */
int spool_init(struct spool *spool, struct arena *arena, size_t most, size_t size);
/* It has so many bytes now; at most the `most` of spool_init. */
void spool_grow(struct spool *spool, size_t size);
void spool_clear(struct spool *spool);
/* Copies a frame in; it gets the number `next`. 0; -ENOSPC: come again after an acknowledgement, or
 * when another stream has made room (spool_folder.wanted); -EMSGSIZE: it is longer than the
 * spool. */
int spool_put(struct spool *spool, const void *data, size_t length,
	      const struct spool_account *account);
/* Where a frame lies, valid until it is dropped, or goes to the disk. */
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
/* Everything up to `number` is safe, and all have what is up to `kept`, which is no more than that.
 * A number that was never given out is refused: -EINVAL. */
int spool_ack(struct spool *spool, uint64_t number, uint64_t kept);
/* CLOCK_MONOTONIC of when the oldest part on the disk was begun, if spool_drop_oldest may drop it;
 * else 0. */
uint64_t spool_droppable(const struct spool *spool);
/* A stream waits for room on the disk that others have (the main loop looks). */
static inline bool spool_wants(const struct spool *spool)
{
	return spool->disk.folder && __atomic_load_n(&spool->disk.folder->wanted, __ATOMIC_RELAXED);
}
/* Drops that part: somebody has all of it. */
void spool_drop_oldest(struct spool *spool);
/* Nobody takes the rest: what there is room for goes to the disk, if there is one, and is left
 * there for another agent to find. Frames from `first` on are not there. */
void spool_leave(struct spool *spool);
/* The counts as of the end of frame `number`, which is here or the last that was dropped. */
struct spool_account spool_account_at(const struct spool *spool, uint64_t number);
