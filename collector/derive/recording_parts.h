#pragma once
/*
 * The members of a recording in memory. Only the files in collector that implement recordings and
 * the store use them.
 */
#include <pthread.h>

#include "base/error.h"
#include "collector/recording/ahead.h"
#include "collector/recording/other_events.h"
#include "collector/recording/culled.h"
#include "collector/recording/definitions.h"
#include "collector/derive/derived.h"
#include "collector/derive/pairing.h"
#include "collector/columns/rows.h"
#include "collector/recording/file.h"
#include "collector/recording/info.h"
#include "proto/columns.h"
#include "collector/recording/scan.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"

struct recording {
	char *path;
	struct recording_file file; /* filled when frames are read */
	struct scan scan;
	struct err_text damage; /* reason of the first damage */
	bool has_id;
	struct stream_id id;
	struct stream_position position;
	uint64_t announced; /* from a catch-up: number of the next batch */
	uint64_t watermark_ns, end_ns;
	bool flushed; /* no writer is active any more; waiting events were taken */
	struct definitions definitions;
	struct rows rows;
	struct pairing pairing;
	struct culled culled;
	struct other_events other_events;
	bool asleep; /* read from a saved state: pairing.live is not filled yet */
	struct ledger_info ledger;
	struct decoded decoded; /* the current batch, without read-ahead */
	struct derived derived;
	struct unpacked *unpacked; /* owned by row_reader.c */
};

/* Copies the figures of the last ledger to recording.ledger. */
void recording_tell_ledger(struct recording *recording);
/* Makes a recording without a file. Returns 0 or -ENOMEM. */
int recording_new(struct recording **ret_recording);
/* Resets the recording to a state in which no frame was read. */
void recording_clear(struct recording *recording);
struct block_limits recording_limits(const struct recording *recording);
/*
 * take.c: takes a batch. Returns 0, -EBADMSG with a sentence if it is invalid, and nothing of it
 * was taken, or another negative errno.
 */
int recording_take(struct recording *recording, struct decoded *decoded, struct err_text *err);
/*
 * Tells whether a reader at `position` of the stream `id` (NULL: none yet) wants this batch.
 * Returns 1 if so, 0 if the batch was read before, or -EBADMSG.
 */
int batch_wanted(const struct stream_position *position, const struct stream_id *id,
		 const Heapcast__Batch *batch, struct err_text *err);
/*
 * Completes a recording that was read from a state, so that it can continue with the frames.
 * Returns 0, -ENOMEM, or the error with which rows could not be read.
 */
int recording_wake(struct recording *recording);

/*
 * Opens a recording whose rows are kept beside it, for its writer (writer.c). `ret_cut` receives
 * the bytes of rows that no state refers to and that were cut off.
 */
int recording_open_writing(const char *path, struct recording **ret_recording, uint64_t *ret_cut,
			   struct err_text *err);
/*
 * Takes about `budget` bytes of frames, at most up to `size`. Returns 1 if more are left, 0 if not,
 * or a negative errno.
 */
int recording_derive(struct recording *recording, uint64_t size, uint64_t budget,
		     struct err_text *err);
/* Called after all frames. Settles what is known at the end, sorts the rows and saves them. */
int recording_finish(struct recording *recording, struct err_text *err);
/*
 * Saves what was taken, so that the next opening continues from there. The caller closes the
 * recording afterwards.
 */
int recording_park(struct recording *recording, struct err_text *err);
/* Returns roughly the bytes of memory that the recording holds. */
size_t recording_memory(const struct recording *recording);
/* Does the same as recording_open, with only the frames up to `size` and without saved rows. */
int recording_open_frames(const char *path, uint64_t size, struct recording **ret_recording,
			  struct err_text *err);

/*
 * For the catalogue: computes what is in use and what is missing (totals.summed_up), from the
 * frames taken so far.
 */
struct totals;
int recording_sum_up(struct recording *recording, struct totals *totals, struct err_text *err);
int recording_sum_up_of(const char *path, struct totals *totals, struct err_text *err);

/*
 * Defined in row_reader.c. Called at the beginning and the end of a recording, and whenever its
 * rows have changed.
 */
int unpacked_init(struct recording *recording);
void unpacked_done(struct recording *recording);
void unpacked_changed(struct recording *recording);
