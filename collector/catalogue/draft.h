#pragma once
/*
 * A stream that is made in the store, not received: its recording is written in a folder that
 * nobody takes for a stream, which gets its place when it is whole. What a failure, or a crash,
 * leaves of it is removed.
 *
 *	streams/draft-ID/recording.heapcast  --stream_draft_place-->  streams/ID/recording.heapcast
 */
#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"

struct err_text;
struct stream_draft;

/* A store opened for reading will do. */
int stream_draft_new(struct store *store, struct stream_draft **ret_draft, struct err_text *err);
/* What was not placed is removed. */
void stream_draft_free(struct stream_draft *draft);
int stream_draft_fd(const struct stream_draft *draft); /* the draft's, empty, at its beginning */
const struct stream_id *stream_draft_id(const struct stream_draft *draft);
/* Makes durable what was written. */
int stream_draft_sync(struct stream_draft *draft, struct err_text *err);
/* Gives it its place. Until it is freed, or closed, it counts as being written. */
int stream_draft_place(struct stream_draft *draft, struct err_text *err);
/* Nothing more is written: the descriptor is gone. */
void stream_draft_close(struct stream_draft *draft);
/* It was placed, and is of no use all the same: it will be removed. */
void stream_draft_withdraw(struct stream_draft *draft);
