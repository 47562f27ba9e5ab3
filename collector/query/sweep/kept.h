#pragma once
/*
 * Files beside the rows of a stream that has ended, with what was worked out of all of it by
 * whichever question needed it first and may write there. They are caches: what is damaged or of
 * another state of the recording is made anew and replaced.
 */
#include <stdbool.h>

#include "base/buf.h"
#include "collector/columns/row_block.h"

/* What a recording with fewer rows tells is worked out faster than it is read. */
#define KEPT_ROWS_MIN ROWS_PER_BLOCK

/* The bytes of such a file, mapped. */
struct recording;

struct kept {
	const uint8_t *data; /* NULL: none */
	size_t length;
};

/* The file's bytes; they fit if they were made of *ret_frames (recording_keep). A negative errno:
 * there is no such file. */
int kept_open(const struct recording *recording, const char *name, struct kept *ret_kept,
	      uint64_t *ret_frames);
void kept_close(struct kept *kept);
/* Whether there is a place for it, and of which frames it is. */
bool kept_wanted(const struct recording *recording, const char *name, uint64_t *ret_frames);
/* What is in `head` and behind it `length` bytes of `rest`. Readers see all of it or nothing.
 * Silent if it can't be done. */
void kept_write(const struct recording *recording, const char *name, const struct buf *head,
		const uint8_t *rest, size_t length);
