#pragma once
/*
 * DIR/catalogue.sqlite: the totals of each stream, so that `list` need not read the recordings. It
 * is a cache with a guarantee: a row never claims more than what is durable in the recording,
 * because the recording's fdatasync precedes it. A reader continues behind the row's `bytes`, or
 * reads from the start if there is no row. The cache may therefore be lost or stale at any time. A
 * row with a wrong checksum is ignored.
 *
 * The catalogue has one connection. Any thread may use it, one at a time (a mutex).
 */
#include "collector/recording/stream_id.h"
#include "collector/recording/totals.h"

struct catalogue;

/*
 * For the writer: opens the catalogue. It is created if it is missing, damaged or of another
 * version; ret_rebuilt reports the latter two.
 */
int catalogue_open_write(const char *path, struct catalogue **ret_catalogue, bool *ret_rebuilt,
			 struct err_text *err);
/*
 * For readers. Returns a negative errno if it is missing or unreadable; the caller then works
 * without it.
 */
int catalogue_open_read(const char *path, struct catalogue **ret_catalogue);
/*
 * For processes that add streams beside the writer. Leaves a catalogue alone that is damaged or of
 * another version. Returns a negative errno; the caller then works without it.
 */
int catalogue_open_add(const char *path, struct catalogue **ret_catalogue);
void catalogue_close(struct catalogue *catalogue);
/* Returns how often the file was removed and created anew while it was open for writing. */
unsigned catalogue_lost(const struct catalogue *catalogue);

/*
 * Returns 1 with the totals in ret_totals (totals_done), or 0 if there is no readable row.
 * `catalogue` may be NULL, which gives 0.
 */
int catalogue_get(struct catalogue *catalogue, const struct stream_id *id,
		  struct totals *ret_totals);
/*
 * Writes a row. If the file was removed, a new one is created first. `catalogue` may be NULL, which
 * gives 0.
 */
int catalogue_put(struct catalogue *catalogue, const struct stream_id *id,
		  const struct totals *totals, struct err_text *err);
/*
 * Calls `each` for every row, in the order of ids; `each` may move the totals. Returns 0, or the
 * first result of `each` other than 0.
 */
int catalogue_each(struct catalogue *catalogue,
		   int (*each)(void *context, const struct stream_id *id, struct totals *totals),
		   void *context);
/*
 * Finds ids that begin with these hexadecimal digits, at most `most`. Returns their number, 0 also
 * if the catalogue cannot be read.
 */
size_t catalogue_find(struct catalogue *catalogue, const char *prefix, struct stream_id *ret_ids,
		      size_t most);
/* Returns the ids of the streams that began last, newest first. */
size_t catalogue_newest(struct catalogue *catalogue, struct stream_id *ret_ids, size_t most);
/* Removes the row of a stream. */
void catalogue_remove(struct catalogue *catalogue, const struct stream_id *id);
