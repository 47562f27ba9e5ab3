#pragma once
/*
 * Walks the batches of a recording, which may be growing, cut or damaged.
 *
 *   | frame | frame | damage ....... | frame | half a fra
 *                     ^ skipped        ^ found again by its magic, its length and its checksum
 *                                                ^ offset: the rest is not a whole frame (yet)
 *
 * The file is read with pread through one window, not mapped: the writer may cut a half-written
 * tail off under us. Looking for the next good frame after damage costs at most RESYNC_BUDGET bytes
 * of work for the whole file, so that a file made to be slow is not; what follows then counts as
 * cut.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "proto/columns.h"
#include "heapcast.pb-c.h"

struct message_reader;

struct scan {
	int fd; /* not the scan's */
	struct message_reader *messages;
	struct buf window; /* bytes of the file from `window_offset` on */
	uint64_t window_offset;
	uint64_t offset; /* of the next frame; after the end: of the first byte that is not in a
			    whole frame */
	uint64_t resync_spent;
	uint64_t skipped_bytes, damaged_places, first_damage; /* first_damage: UINT64_MAX if none */
	struct err_text *damage; /* may be NULL: gets the reason of the first damage */
};

/* What was read. The batch lies in the scan's memory until the next call. */
struct scan_item {
	uint64_t offset;
	size_t length; /* of the frame */
	const Heapcast__Batch *batch;
};

/* How far it has come, and what it has found till then. */
struct scan_place {
	uint64_t offset, resync_spent, skipped_bytes, damaged_places, first_damage;
	struct err_text reason; /* of the first damage */
};

int scan_init(struct scan *scan, int fd, uint64_t offset, struct err_text *damage);
void scan_done(struct scan *scan);
/* 1: the next batch; 0: no whole frame follows up to `size` (the file's length as the caller sees
 * it); negative errno. */
int scan_next(struct scan *scan, uint64_t size, struct scan_item *ret_item);
/* After the last: are the bytes from `offset` up to `size`, where nobody writes any more, damaged,
 * or how a frame begins that was cut off? 1: damaged, 0: cut off (or there are none); negative
 * errno. */
int scan_tail(struct scan *scan, uint64_t size);
/* The batch just returned makes no sense: counts its frame as damaged. */
void scan_reject(struct scan *scan, const struct scan_item *item, const struct err_text *reason);
void scan_tell(const struct scan *scan, struct scan_place *ret_place);
/* Goes back to a place where it has been. */
void scan_return(struct scan *scan, const struct scan_place *place);
