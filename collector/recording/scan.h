#pragma once
/*
 * Walks the batches of a recording, which may be growing, cut off or damaged.
 *
 *   | frame | frame | damage ....... | frame | half a fra
 *                     ^ skipped      ^ found again by its magic, its length and its checksum
 *                                            ^ offset: the rest is not a whole frame (yet)
 *
 * The file is read with pread through one window and not mapped, because the writer may truncate a
 * half-written tail meanwhile. The search for the next valid frame after damage costs at most
 * RESYNC_BUDGET bytes of work for the whole file, so that a crafted file cannot make it slow.
 * Everything behind that point counts as cut off.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "proto/columns.h"
#include "heapcast.pb-c.h"

struct message_reader;

struct scan {
	int fd; /* not owned by the scan */
	struct message_reader *messages;
	struct buf window; /* bytes of the file from `window_offset` on */
	uint64_t window_offset;
	uint64_t offset; /* offset of the next frame; at the end: of the first byte that is in no
			  * whole frame */
	uint64_t resync_spent;
	uint64_t skipped_bytes, damaged_places, first_damage; /* first_damage: UINT64_MAX if there
							       * is no damage */
	struct err_text *damage; /* may be NULL; receives the reason of the first damage */
};

/* A batch. It is in the scan's memory until the next call. */
struct scan_item {
	uint64_t offset;
	size_t length; /* length of the frame */
	const Heapcast__Batch *batch;
};

/* A scan's position and its findings so far. */
struct scan_place {
	uint64_t offset, resync_spent, skipped_bytes, damaged_places, first_damage;
	struct err_text reason; /* reason of the first damage */
};

/* Format for a file, by its path, that holds no whole frame and no damage, only the beginning of
 * its first frame. */
#define SCAN_NOTHING "%s is cut off before its first event: nothing of it can be read"

int scan_init(struct scan *scan, int fd, uint64_t offset, struct err_text *damage);
void scan_done(struct scan *scan);
/*
 * Returns 1 with the next batch, 0 if no whole frame follows up to `size` (the caller's view of the
 * file's length), or a negative errno.
 */
int scan_next(struct scan *scan, uint64_t size, struct scan_item *ret_item);
/*
 * After the last batch, for a file that has no writer any more: classifies the bytes from `offset`
 * to `size`. Returns 1 if they are damaged, 0 if they are the beginning of a frame that was cut off
 * (or there are none), or a negative errno.
 */
int scan_tail(struct scan *scan, uint64_t size);
/* Counts the frame of the batch that was just returned as damaged, because the batch is invalid. */
void scan_reject(struct scan *scan, const struct scan_item *item, const struct err_text *reason);
void scan_tell(const struct scan *scan, struct scan_place *ret_place);
/* Returns to an earlier position. */
void scan_return(struct scan *scan, const struct scan_place *place);
