#pragma once
/*
 * Reads the batches of several recordings of one stream in the order of their numbers, whatever
 * files they are in. An agent that moved among collectors and came back leaves each of them some:
 *
 *   desk1:  | 1 | 2 | 3 |        c 7 | 8 |       c: all definitions again
 *   desk2:            c 3 | 4 | 5 | 6 |
 *   merged: | 1 | 2 | 3 | c 3 | 4 | 5 | 6 | c 7 | 7 | 8 |
 *
 * What two of them have comes twice. A file is open only while its batches are due, so files that
 * follow each other cost no more than one. Behind damage a file is not read, nor is any other: it
 * is not known what would be missing.
 */
#include <stddef.h>
#include <stdint.h>

#include "collector/recording/scan.h"
#include "collector/recording/stream_id.h"

struct merge;

/* A batch. It is in the memory of the merge until the next call. */
struct merge_item {
	const char *path;
	int fd;
	const struct scan_item *frame;
	uint64_t done, of; /* bytes of all files that came before it, and bytes of all files */
};

/* Opens the files; the paths stay the caller's until merge_close. Returns 0; -EBADMSG if one is no
 * recording, or of another stream than the first; or another negative errno. Errors come with a
 * sentence. */
int merge_open(const char *const *paths, size_t count, struct merge **ret_merge,
	       struct err_text *err);
const struct stream_id *merge_id(const struct merge *merge);
/* Returns 1 with the next batch; 0 behind the last one, or at damage; or a negative errno. */
int merge_next(struct merge *merge, struct merge_item *ret_item, struct err_text *err);
/* Returns the damaged file, and from where on it is; NULL: none was met so far. */
const char *merge_damaged(const struct merge *merge, uint64_t *ret_at);
void merge_close(struct merge *merge);
