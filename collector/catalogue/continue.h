#pragma once
/*
 * Turns recordings in files into a stream of the store, or into the rest of a stream. An agent has
 * written them to a file, or left them in its spool in several files, because its collector was
 * gone or too slow.
 *
 *        store:  | 1 | 2 | 3 | 4 |                what its collector has stored
 *        file:           | c | 3 | 4 | 5 | 6 |     c: all definitions again
 *        store:  | 1 | 2 | 3 | 4 | 5 | 6 |
 *
 * Batches and definitions that are already stored are skipped. Nothing can be inserted later: if
 * batches are missing in between, the account has a gap, and what falls into one that is stored is
 * not taken. The batches of all files are therefore taken in the order of their numbers (merge.h).
 */
#include <stdbool.h>
#include <stdint.h>

#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"

struct stream_continued {
	struct stream_id id;
	char name[64];
	uint32_t pid;
	uint64_t before, events; /* before: already stored; events: added */
	uint64_t cut_bytes; /* a half-written frame that was cut off the end of what was stored */
	uint64_t missing;   /* batches in between that neither the store nor a file has */
	uint64_t unplaced;  /* batches of the files that the store lacks, and that it can't take any
			     * more, because later ones are stored */
	char held_by[64];   /* the collector that has some of `missing`; empty: unknown */
	const char *damaged; /* the damaged file, whose bytes from `damaged_at` on were not taken;
			      * NULL: none */
	uint64_t damaged_at;
	bool ended;
};

/*
 * Adds files of one stream, in any order, to a store opened for writing. On return everything
 * taken is durable and its rows are derived. Returns 0; -EBADMSG if a file is no recording, or of
 * another stream, or its batches do not follow; -EBUSY if the stream is being written; or another
 * negative errno. Errors come with a sentence, and nothing was taken.
 */
int store_continue(struct store *store, const char *const *paths, size_t count,
		   int (*progress)(void *context, uint64_t done, uint64_t of), void *context,
		   struct stream_continued *ret_continued, struct err_text *err);
