#pragma once
/*
 * Keeps finished batches until their room is needed. So a second collector, or one that reconnects,
 * often finds the batches here that it lacks. An acknowledgement frees no memory by itself; files
 * on disk that all collectors have are removed at once.
 *
 *    | dropped ... | all have it | some have it | none has it yet |
 *                   ^ oldest      ^ kept + 1     ^ acked + 1       ^ next
 *
 * Frames are contiguous, in a ring buffer of bytes. When room is needed, the oldest frame goes
 * first:
 *
 *   1. Frames that all known collectors have are dropped. (A collector is known while it is
 *      connected, and for some time afterwards: collectors.h.)
 *   2. Other frames move to the disk, if there is a spool folder.
 *   3. If the folder is full or missing, frames that at least one collector has are dropped.
 *      Collectors that lack them get a gap.
 *   4. Otherwise spool_put returns -ENOSPC and the stream stalls: it takes no more from its ring,
 *      which fills up, and the policy decides. Other streams go on.
 *
 * The frames on the disk come directly before `first`. The stream's lock protects the spool.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/arena.h"
#include "agent/spool/spool_disk.h"

struct spool_frame {
	size_t offset;
	size_t length;
	struct spool_account account;
};

struct spool {
	uint8_t *memory;
	size_t size;
	struct spool_frame *frame; /* indexed by number % frame_slots */
	uint32_t frame_slots;
	struct spool_disk disk;
	uint64_t first; /* number of the oldest frame in memory; `next` if memory has none */
	uint64_t kept;	/* all collectors have the frames up to this one */
	uint64_t acked; /* some collector has the frames up to this one */
	/* Frames from this one on are not dropped, even if collectors have them, because a file is
	 * being written. UINT64_MAX: no file is. */
	uint64_t held;
	uint64_t next;		      /* number of the next frame; the first is 1 */
	struct spool_account evicted; /* counts at the end of the last dropped frame */
	uint64_t bytes_total;	      /* bytes put in so far */
};

/* Takes memory for `most` bytes, and uses `size` bytes of it at first. Returns 0 or -ENOMEM. */
int spool_init(struct spool *spool, struct arena *arena, size_t most, size_t size);
/* Grows the spool to `size` bytes; at most the `most` of spool_init. */
void spool_grow(struct spool *spool, size_t size);
/* Drops all frames, in memory and on the disk. The next frame has number 1. */
void spool_clear(struct spool *spool);
/* Copies a frame into the spool, as number `next`. Returns 0; -ENOSPC if the spool has no room (try
 * again after an acknowledgement, or when another stream has made room: spool_folder.wanted); or
 * -EMSGSIZE if the frame is longer than the spool. */
int spool_put(struct spool *spool, const void *data, size_t length,
	      const struct spool_account *account);
/* The place of a frame. It is valid until the frame is dropped or moves to the disk. */
struct spool_place {
	const uint8_t *data; /* in memory; NULL: in the file `fd` at `offset` */
	int fd;
	off_t offset;
	size_t length;
};
/* Finds a frame. Returns 0, -ENOENT if the spool does not have the frame, or -EIO if the disk can't
 * be read. */
int spool_find(const struct spool *spool, uint64_t number, struct spool_place *ret_place);
/* Returns the number of bytes in memory that no collector has acknowledged. */
size_t spool_waiting(const struct spool *spool);
/* Returns the number of the oldest frame, in memory or on the disk; `next` if the spool is
 * empty. */
uint64_t spool_oldest(const struct spool *spool);
/* Like spool_find, for memory only. Returns NULL if the frame is not there. */
const uint8_t *spool_get(const struct spool *spool, uint64_t number, size_t *ret_length);
/* Acknowledges frames: some collector has everything up to `number`, and all collectors have
 * everything up to `kept`, which must not be larger. Returns 0, or -EINVAL if frame `number` does
 * not exist yet. */
int spool_ack(struct spool *spool, uint64_t number, uint64_t kept);
/* Returns the time (CLOCK_MONOTONIC) when the oldest segment on the disk was begun, or 0 if
 * spool_drop_oldest may not drop it. */
uint64_t spool_droppable(const struct spool *spool);
/* Returns true if a stream waits for disk space that other streams use. The main loop checks
 * this. */
static inline bool spool_wants(const struct spool *spool)
{
	return spool->disk.folder && __atomic_load_n(&spool->disk.folder->wanted, __ATOMIC_RELAXED);
}
/* Drops the oldest segment on the disk. Some collector must have all of it. */
void spool_drop_oldest(struct spool *spool);
/* Moves as many frames as possible to the disk and leaves them there for another agent, because no
 * collector takes them. Afterwards the frames from `first` on are lost. */
void spool_leave(struct spool *spool);
/* Returns the counts at the end of frame `number`, which must be in the spool, or be the last one
 * that was dropped. */
struct spool_account spool_account_at(const struct spool *spool, uint64_t number);
