#pragma once
/*
 * A recording is written anew, batch by batch, for the files of collector/store only (strip.c,
 * anonymise.c):
 *
 *	while ((r = copy_next(&copy, err)) == 1) {
 *		Heapcast__Batch batch = *copy.decoded.item.batch;      and change what is to be
 *								       another
 *		r = copy_put(&copy, &batch, err);
 *	}
 *
 * What comes are the batches that a reader of the recording takes, in their order: what is damaged,
 * makes no sense or came twice is left out, so that the account of the copy says what is missing.
 * Fields that are unknown here stay where they are. Memory is that of one batch, and of the
 * definitions.
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
	int in, out; /* out: -1 unless it is to be written */
	uint64_t size;
	struct scan scan;
	struct decoded
		decoded; /* the batch at hand; its events may be changed in place, and left out */
	struct definitions definitions;
	struct stream_position position;
	bool has_id;
	struct stream_id id;
	uint64_t batches;      /* that have come, the one at hand included */
	uint64_t events_ahead; /* in the batches before */
	uint64_t written;
	struct frame_encoder *frames;
	struct buf message, frame, columns, state;
	int (*progress)(void *context, uint64_t done, uint64_t of);
	void *context;
	uint64_t reported;
};

/* `path` is used until copy_close. 0; -ENOENT and the like; -EBADMSG: it is none. */
int copy_open(struct copy *copy, const char *path, const struct copy_settings *settings,
	      struct err_text *err);
void copy_close(struct copy *copy);
/* From the first batch again. */
int copy_rewind(struct copy *copy, struct err_text *err);
/* 1: the next batch, with its events; 0: that was all; -ECANCELED; negative errno. */
int copy_next(struct copy *copy, struct err_text *err);
/* Encodes the events of decoded.events that are left. Lies in the copy's memory until the next
 * call. */
int copy_encode(struct copy *copy, Heapcast__Events *ret_events, struct err_text *err);
/* Begins a batch that tells definitions once more, behind `of`, to which its stream's id belongs:
 * they may be told at any time, in batches without a number, and a reader that does not know what
 * is in it finds one that defines nothing. */
Heapcast__Batch copy_behind(const Heapcast__Batch *of);
/* Writes the batch to `out`. */
int copy_put(struct copy *copy, const Heapcast__Batch *batch, struct err_text *err);
