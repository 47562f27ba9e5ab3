#pragma once
/* Appends to a stream of the store: for ingest, which receives frames, and for what composes
 * streams. One process writes; see store.h. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"
#include "proto/columns.h"

struct err_text;
struct store;
struct stream_writer;

/* How far the catalogue knows a stream to be stored, without a look at its recording. */
struct stream_position store_position(struct store *store, const struct stream_id *id);
/* Opens a stream for appending, made if it is not there; cuts a damaged tail (ret_cut_bytes). */
int stream_writer_open(struct store *store, const struct stream_id *id,
		       struct stream_writer **ret_writer, uint64_t *ret_cut_bytes,
		       struct err_text *err);
void stream_writer_close(struct stream_writer *writer);
/* As stream_writer_close, after a sync that failed: what is not durable is cut off, for the agent
 * to send again. The kernel tells of a page that it could not write only once; a second sync would
 * succeed without it. */
void stream_writer_abandon(struct stream_writer *writer);
struct stream_position stream_writer_position(const struct stream_writer *writer);
/* Appends a frame that holds `batch`. 0; 1: it was there already (a duplicate after a reconnect)
 * and was dropped; -EBADMSG: damaged, not of this stream, or a number passed over without a
 * catch-up; -ENOSPC and the like: nothing was appended. */
int stream_writer_append(struct stream_writer *writer, const uint8_t *frame, size_t length,
			 const Heapcast__Batch *batch, struct err_text *err);
/* Makes what was appended durable, and returns in ret_durable how far it is. May block: call it
 * from a worker thread; appending meanwhile is allowed. */
int stream_writer_sync(struct stream_writer *writer, struct stream_position *ret_durable,
		       struct err_text *err);
/* Derives rows from frames that are durable, some of them (about 2 MiB). 1: there are more; 0: that
 * was all; negative errno: what can't be kept is left for readers to work out. From a worker
 * thread, one at a time; appending and syncing meanwhile is allowed. */
int stream_writer_derive(struct stream_writer *writer, struct err_text *err);
/* What is in use, for store_list, as of the rows that are derived and not parked. As
 * stream_writer_derive, and not beside it. */
int stream_writer_sum_up(struct stream_writer *writer, struct err_text *err);
/* Saves what is derived and lets go of its memory; the next stream_writer_derive reads it again. As
 * stream_writer_derive, and not beside it. */
int stream_writer_park(struct stream_writer *writer, struct err_text *err);
/* Bytes that deriving holds, nearly; 0: parked. And bytes of frames that are durable and not
 * derived. Not while another thread derives. */
size_t stream_writer_memory(const struct stream_writer *writer);
uint64_t stream_writer_behind(const struct stream_writer *writer);
/* After the last sync of a stream that has ended: derives the rest, puts the rows in order, and
 * works out what is in use at the end, for store_list. As stream_writer_derive, and not beside it.
 * Not needed for anything to be right, only quick. */
int stream_writer_finish(struct stream_writer *writer, struct err_text *err);
/* What of the rows that were kept was cut off or has to be made anew, since deriving began: a
 * sentence, told once. False: nothing. Not while another thread derives. */
bool stream_writer_take_news(struct stream_writer *writer, struct err_text *ret_news);
uint64_t stream_writer_bytes(const struct stream_writer *writer);
uint64_t stream_writer_events(const struct stream_writer *writer);
