#pragma once
/* A recording in memory, for the files of collector/store only. */
#include <pthread.h>

#include "base/error.h"
#include "collector/recording/ahead.h"
#include "collector/recording/apart.h"
#include "collector/recording/culled.h"
#include "collector/recording/definitions.h"
#include "collector/derive/derived.h"
#include "collector/derive/pairing.h"
#include "collector/columns/rows.h"
#include "collector/recording/info.h"
#include "proto/columns.h"
#include "collector/recording/scan.h"
#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"

struct recording {
	char *path;
	int fd;
	struct scan scan;
	struct err_text damage; /* reason of the first damage */
	bool has_id;
	struct stream_id id;
	struct stream_position position;
	uint64_t announced; /* by a catch-up: the number that comes next though others were expected
			     */
	uint64_t watermark_ns, end_ns;
	bool flushed; /* nobody writes it any more: what waited for the watermark was taken */
	struct definitions definitions;
	struct rows rows;
	struct pairing pairing;
	struct culled culled;
	struct aparts aparts;
	bool asleep; /* read from a state: pairing.live is not filled yet */
	struct ledger_info ledger;
	struct decoded decoded; /* the batch at hand, if nobody reads ahead */
	struct derived derived;
	struct unpacked *unpacked; /* reader.c */
};

/* What the last ledger told goes to recording.ledger. */
void recording_tell_ledger(struct recording *recording);
/* Of no file. 0 or -ENOMEM. */
int recording_new(struct recording **ret_recording);
/* Nothing of its frames has been read. */
void recording_clear(struct recording *recording);
struct block_limits recording_limits(const struct recording *recording);
/* take.c: takes a batch. 0; -EBADMSG with a sentence: it makes no sense, and nothing of it was
 * taken; -ENOMEM and the like. */
int recording_take(struct recording *recording, struct decoded *decoded, struct err_text *err);
/* Whose batch, and which, for a reader who has come to `position` of the stream `id` (NULL: of none
 * yet). 1: wanted; 0: it was there already; -EBADMSG. */
int batch_wanted(const struct stream_position *position, const struct stream_id *id,
		 const Heapcast__Batch *batch, struct err_text *err);
/* What its rows and numbers need to go on with the frames, after a state was read. 0, -ENOMEM, or
 * rows can't be read. */
int recording_wake(struct recording *recording);

/* A recording whose rows are kept beside it, for its writer (writer.c). ret_cut: bytes of rows that
 * no state knew of. */
int recording_open_writing(const char *path, struct recording **ret_recording, uint64_t *ret_cut,
			   struct err_text *err);
/* Takes frames up to `size`, some `budget` bytes of them. 1: there is more; 0. */
int recording_derive(struct recording *recording, uint64_t size, uint64_t budget,
		     struct err_text *err);
/* After all frames: what is known at the end is settled, put in order and saved. */
int recording_finish(struct recording *recording, struct err_text *err);
/* Saves what was taken, so that whoever opens it next goes on from there. Close it then. */
int recording_park(struct recording *recording, struct err_text *err);
/* Bytes that it holds, nearly. */
size_t recording_memory(const struct recording *recording);
/* As recording_open, of the frames up to `size` alone. */
int recording_open_frames(const char *path, uint64_t size, struct recording **ret_recording,
			  struct err_text *err);

/* For the catalogue: what is in use, and what is missing (totals.summed_up), as of the frames that
 * were taken. */
struct totals;
int recording_sum_up(struct recording *recording, struct totals *totals, struct err_text *err);
int recording_sum_up_of(const char *path, struct totals *totals, struct err_text *err);

/* reader.c: at the beginning and end of a recording, and whenever its rows have changed. */
int unpacked_init(struct recording *recording);
void unpacked_done(struct recording *recording);
void unpacked_changed(struct recording *recording);
