#pragma once
/*
 * A stream that is made in the store rather than received. Its recording is written in a folder
 * that does not look like a stream, and moved into place when it is complete. The remains of a
 * failure or a crash are removed.
 *
 *        streams/draft-ID/recording.heapcast  --new_stream_place--> streams/ID/recording.heapcast
 */
#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"

struct err_text;
struct new_stream;

/* Makes a draft. A store opened for reading is sufficient. */
int new_stream_new(struct store *store, struct new_stream **ret_draft, struct err_text *err);
/* Removes the draft unless it was placed. */
void new_stream_free(struct new_stream *draft);
int new_stream_fd(const struct new_stream *draft); /* returns the draft's descriptor; the file is
						      empty at first */
const struct stream_id *new_stream_id(const struct new_stream *draft);
/* Makes the written bytes durable. */
int new_stream_sync(struct new_stream *draft, struct err_text *err);
/* Moves the draft into place. It counts as being written until it is freed or closed. */
int new_stream_place(struct new_stream *draft, struct err_text *err);
/* Closes the descriptor; nothing more can be written. */
void new_stream_close(struct new_stream *draft);
/* Marks a placed draft as unusable, so that it is removed. */
void new_stream_withdraw(struct new_stream *draft);
