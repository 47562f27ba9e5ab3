#pragma once
/*
 * DIR/catalogue.sqlite: the totals of each stream, so that `list` need not read the recordings. A
 * cache with a promise: a row never says more than what is durable in the recording, because it is
 * written after the recording's fdatasync. Whoever reads a row goes on from its `bytes`; without a
 * row, from the start. So it may be lost or stale at any time; a row has a checksum, and one that
 * it does not fit is none.
 *
 * One connection, used from any thread, one at a time (a mutex).
 */
#include "collector/recording/stream_id.h"
#include "collector/recording/totals.h"

struct catalogue;

/* For the writer: made, or made anew if it is damaged or of another version; ret_rebuilt says so.
 */
int catalogue_open_write(const char *path, struct catalogue **ret_catalogue, bool *ret_rebuilt,
			 struct err_text *err);
/* For readers. Negative errno if it is not there or can't be read: go without. */
int catalogue_open_read(const char *path, struct catalogue **ret_catalogue);
/* For who adds streams beside the writer: one that is damaged or of another version is left as it
 * is. Negative errno: go without. */
int catalogue_open_add(const char *path, struct catalogue **ret_catalogue);
void catalogue_close(struct catalogue *catalogue);
/* How often that was so, of one that is written. */
unsigned catalogue_lost(const struct catalogue *catalogue);

/* 1: in ret_totals (totals_done); 0: no such row, or it can't be read. `catalogue` may be NULL: 0.
 */
int catalogue_get(struct catalogue *catalogue, const struct stream_id *id,
		  struct totals *ret_totals);
/* If its file is not there any more, a new one is made first. `catalogue` may be NULL: 0. */
int catalogue_put(struct catalogue *catalogue, const struct stream_id *id,
		  const struct totals *totals, struct err_text *err);
/* Calls for each row, in the order of ids, with the totals, which are moved out of by `each`. 0, or
 * what `each` returned that was not 0. */
int catalogue_each(struct catalogue *catalogue,
		   int (*each)(void *context, const struct stream_id *id, struct totals *totals),
		   void *context);
/* Ids that begin with these hexadecimal digits, at most `most` of them. How many; 0 as well if the
 * catalogue can't be read. */
size_t catalogue_find(struct catalogue *catalogue, const char *prefix, struct stream_id *ret_ids,
		      size_t most);
/* Ids of the streams that began last, the last one first. */
size_t catalogue_newest(struct catalogue *catalogue, struct stream_id *ret_ids, size_t most);
/* The stream is gone. */
void catalogue_remove(struct catalogue *catalogue, const struct stream_id *id);
