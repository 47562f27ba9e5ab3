#pragma once
/*
 * Files kept beside the rows of a stream that has ended. They hold results over all rows. The first
 * query that needs a result and may write there creates its file. The files are caches: a file that
 * is damaged, or belongs to another state of the recording, is made again and replaced.
 */
#include <stdbool.h>

#include "base/buf.h"
#include "collector/columns/row_block.h"

/* With fewer rows, computing a result is faster than reading it. */
#define RESULT_FILE_ROWS_MIN ROWS_PER_BLOCK

/* The bytes of such a file, mapped. */
struct recording;

struct result_file {
	const uint8_t *data; /* NULL: none */
	size_t length;
};

/* Maps the file. It is valid if it was made from *ret_frames (recording_keep). Returns a negative
 * errno if there is no such file. */
int result_file_open(const struct recording *recording, const char *name,
		     struct result_file *ret_kept, uint64_t *ret_frames);
void result_file_close(struct result_file *kept);
/* Returns true if there is a place for the file. *ret_frames is then the state of the recording to
 * store in it. */
bool result_file_wanted(const struct recording *recording, const char *name, uint64_t *ret_frames);
/* Writes `head` and `length` bytes of `rest` behind it. Readers see all of the file or nothing.
 * Failure is ignored. */
void result_file_write(const struct recording *recording, const char *name, const struct buf *head,
		       const uint8_t *rest, size_t length);
