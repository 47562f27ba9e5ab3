#pragma once
/*
 * Rewrites a recording batch by batch; private to strip.c, anonymise.c and similar files:
 *
 *        while ((r = copy_next(&copy, err)) == 1) {
 *                Heapcast__Batch batch = *copy.decoded.item.batch;      change it as needed
 *                r = copy_put(&copy, &batch, err);
 *        }
 *
 * copy_next returns the batches that a reader of the recording takes, in order. Damaged, invalid
 * and duplicate batches are skipped, so the copy's account shows what is missing. Unknown fields
 * are preserved. Memory is bounded by one batch and the definitions.
 */
#include "base/buf.h"
#include "collector/recording/ahead.h"
#include "collector/recording/definitions.h"
#include "proto/columns.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"
#include "collector/rewrite/rewrite.h"

struct frame_encoder;

struct copy {
	const char *path;
	int in, out; /* out: -1 if nothing is written */
	const char *out_name;
	uint64_t size;
	struct scan scan;
	struct decoded decoded; /* the current batch; its events may be changed or removed */
	struct definitions definitions;
	struct stream_position position;
	bool has_id;
	struct stream_id id;
	uint64_t batches;      /* number of batches so far, with the current one */
	uint64_t events_ahead; /* events in the earlier batches */
	uint64_t written;
	struct frame_encoder *frames;
	struct buf message, frame, columns, state;
	int (*progress)(void *context, uint64_t done, uint64_t of);
	void *context;
	uint64_t reported;
};

/*
 * Opens a recording. `path` is used until copy_close. Returns 0, -EBADMSG if it is not a recording,
 * or another negative errno.
 */
int copy_open(struct copy *copy, const char *path, const struct copy_settings *settings,
	      struct err_text *err);
void copy_close(struct copy *copy);
/* Starts again at the first batch. */
int copy_rewind(struct copy *copy, struct err_text *err);
/*
 * Returns 1 with the next batch and its events, 0 if there is none, -ECANCELED, or another negative
 * errno.
 */
int copy_next(struct copy *copy, struct err_text *err);
/*
 * Encodes the remaining events of decoded.events. The result is in the copy's memory until the next
 * call.
 */
int copy_encode(struct copy *copy, Heapcast__Events *ret_events, struct err_text *err);
/*
 * Begins a batch that repeats definitions behind `of`, whose stream id it borrows. Definitions may
 * appear at any time in batches without a number; a reader that does not know their contents sees a
 * batch that defines nothing.
 */
Heapcast__Batch copy_behind(const Heapcast__Batch *of);
/* Writes the batch to `out`. */
int copy_put(struct copy *copy, const Heapcast__Batch *batch, struct err_text *err);
