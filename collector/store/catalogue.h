#pragma once
/*
 * DIR/catalogue.sqlite: the totals of each stream, so that `list` need not read the recordings. A
 * cache with a promise: a row never says more than what is durable in the recording, because it is
 * written after the recording's fdatasync. Whoever reads a row goes on from its `bytes`; without a
 * row, from the start. So it may be lost or stale at any time; a row has a checksum, and one that it does not fit is none.
 *
 * One connection, used from any thread, one at a time (a mutex).
 */
#include "collector/store/store.h"
#include "collector/store/totals.h"

struct catalogue;

/* For the writer: made, or made anew if it is damaged or of another version; ret_rebuilt says so.
 */
int catalogue_open_write(const char *path, struct catalogue **ret_catalogue, bool *ret_rebuilt,
			 struct err_text *err);
/* For readers. Negative errno if it is not there or can't be read: go without. */
int catalogue_open_read(const char *path, struct catalogue **ret_catalogue);
void catalogue_close(struct catalogue *catalogue);

/* 1: in ret_totals (totals_done); 0: no such row, or it can't be read. `catalogue` may be NULL: 0.
 */
int catalogue_get(struct catalogue *catalogue, const struct stream_id *id,
		  struct totals *ret_totals);
int catalogue_put(struct catalogue *catalogue, const struct stream_id *id,
		  const struct totals *totals, struct err_text *err);
/* The stream is gone. */
void catalogue_remove(struct catalogue *catalogue, const struct stream_id *id);
