#pragma once
/*
 * A recording in files becomes a stream of the store, or the rest of one: what an agent has written
 * to a file, or left in its spool in several, because its collector was gone or too slow.
 *
 *	store:  | 1 | 2 | 3 | 4 |                 what its collector has stored
 *	file:           | c | 3 | 4 | 5 | 6 |     c: all definitions again
 *	store:  | 1 | 2 | 3 | 4 | 5 | 6 |
 *
 * What is there already is passed over, and so are definitions that are known. Nothing can be put
 * in later: where batches are missing in between, the account has a gap for good. So files of one
 * stream are taken in the order of their batches.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collector/catalogue/store.h"
#include "collector/recording/stream_id.h"

/* Where a recording begins. */
struct recording_beginning {
	struct stream_id id;
	uint32_t incarnation;
	uint64_t first;	  /* batch */
	bool definitions; /* they come before it */
};
/* 0; -EBADMSG with a sentence: no recording begins there. */
int recording_beginning(const char *path, struct recording_beginning *ret_beginning,
			struct err_text *err);
/* For sorting: of one stream the earlier comes first, and definitions before batches. */
int recording_beginning_compare(const struct recording_beginning *a,
				const struct recording_beginning *b);

struct stream_continued {
	struct stream_id id;
	char name[64];
	uint32_t pid;
	uint64_t before, events; /* that were there; that came */
	uint64_t missing; /* batches that are neither there nor in the file, and lie in between */
	const char *damaged; /* the file that is; NULL: none. What lies behind this byte of it was
				not taken: */
	uint64_t damaged_at;
	bool ended;
};

/* Files of one stream, in their order; a store opened for writing. All that is taken is durable,
 * and rows are derived, when this returns. 0; -EBADMSG: one is no recording, or not of this stream,
 * or batches do not follow; -EBUSY: the stream is being written; others; each with a sentence, and
 * nothing was taken then. */
int store_continue(struct store *store, const char *const *paths, size_t count,
		   int (*progress)(void *context, uint64_t done, uint64_t of), void *context,
		   struct stream_continued *ret_continued, struct err_text *err);
