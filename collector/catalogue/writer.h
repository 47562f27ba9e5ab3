#pragma once
/* Appends to a stream of the store: for ingest, which receives frames, and for files that compose
 * streams. Only one process writes; see store.h. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/recording/stream_id.h"
#include "collector/recording/stream_position.h"
#include "proto/columns.h"

struct err_text;
struct store;
struct stream_writer;

/* Returns how far the stream is stored according to the catalogue, without reading its
 * recording. */
struct stream_position store_position(struct store *store, const struct stream_id *id);
/* Opens a stream for appending, and creates it if it does not exist. Cuts a damaged tail
 * (ret_cut_bytes). */
int stream_writer_open(struct store *store, const struct stream_id *id,
		       struct stream_writer **ret_writer, uint64_t *ret_cut_bytes,
		       struct err_text *err);
void stream_writer_close(struct stream_writer *writer);
/* Closes the writer after a failed sync. Cuts off data that is not durable, so that the agent sends
 * it again. The kernel reports a page that it could not write only once; a second sync would
 * succeed without that page. */
void stream_writer_abandon(struct stream_writer *writer);
struct stream_position stream_writer_position(const struct stream_writer *writer);
/* Appends a frame that holds `batch`. Returns 0; 1 if the batch is a duplicate (after a reconnect)
 * and was dropped; -EBADMSG if it is damaged, belongs to another stream, or skips numbers without a
 * catch-up; or -ENOSPC and the like: nothing was appended. */
int stream_writer_append(struct stream_writer *writer, const uint8_t *frame, size_t length,
			 const Heapcast__Batch *batch, struct err_text *err);
/* Makes the appended data durable, and returns in ret_durable how far it is. May block: call it
 * from a worker thread. Appending meanwhile is allowed. */
int stream_writer_sync(struct stream_writer *writer, struct stream_position *ret_durable,
		       struct err_text *err);
/* Derives rows from about 2 MiB of durable frames. Returns 1 if more frames are left, 0 if not, or
 * a negative errno: readers will then derive the rows that cannot be kept. Call it from one worker
 * thread at a time; appending and syncing meanwhile is allowed. */
int stream_writer_derive(struct stream_writer *writer, struct err_text *err);
/* Computes what is in use, for store_list, as of the derived rows, if they are not parked. The
 * rules of stream_writer_derive apply, and the two must not run at once. */
int stream_writer_sum_up(struct stream_writer *writer, struct err_text *err);
/* Saves the derived rows and releases their memory; the next stream_writer_derive reads them again.
 * The rules of stream_writer_derive apply, and the two must not run at once. */
int stream_writer_park(struct stream_writer *writer, struct err_text *err);
/* stream_writer_memory returns roughly the bytes that deriving holds (0: parked);
 * stream_writer_behind, the bytes of durable frames whose rows are not derived. Neither may be
 * called while another thread derives. */
size_t stream_writer_memory(const struct stream_writer *writer);
uint64_t stream_writer_behind(const struct stream_writer *writer);
/* After the last sync of a stream that has ended: derives the rest, sorts the rows, and computes
 * what is in use at the end, for store_list. The rules of stream_writer_derive apply, and the two
 * must not run at once. Answers are correct without this call, but slower. */
int stream_writer_finish(struct stream_writer *writer, struct err_text *err);
/* Returns true with a sentence about saved rows that were cut off or have to be derived again since
 * deriving began; each is reported once. Returns false if there are none. Must not be called while
 * another thread derives. */
bool stream_writer_take_news(struct stream_writer *writer, struct err_text *ret_news);
uint64_t stream_writer_bytes(const struct stream_writer *writer);
uint64_t stream_writer_events(const struct stream_writer *writer);
