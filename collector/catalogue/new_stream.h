#pragma once
/*
 * A stream that is made in the store, not received: its recording is written in a folder that
 * nobody takes for a stream, which gets its place when it is whole. What a failure, or a crash,
 * leaves of it is removed.
 *
 *	streams/draft-ID/recording.heapcast  --new_stream_place-->  streams/ID/recording.heapcast
 */
#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"

struct err_text;
struct new_stream;

/* A store opened for reading will do. */
int new_stream_new(struct store *store, struct new_stream **ret_draft, struct err_text *err);
/* What was not placed is removed. */
void new_stream_free(struct new_stream *draft);
int new_stream_fd(const struct new_stream *draft); /* the draft's, empty, at its beginning */
const struct stream_id *new_stream_id(const struct new_stream *draft);
/* Makes durable what was written. */
int new_stream_sync(struct new_stream *draft, struct err_text *err);
/* Gives it its place. Until it is freed, or closed, it counts as being written. */
int new_stream_place(struct new_stream *draft, struct err_text *err);
/* Nothing more is written: the descriptor is gone. */
void new_stream_close(struct new_stream *draft);
/* It was placed, and is of no use all the same: it will be removed. */
void new_stream_withdraw(struct new_stream *draft);
