#pragma once
/*
 * Files beside the rows of a stream that has ended, with what was worked out of all of it by whichever question needed it first and may
 * write there. They are caches: what is damaged or of another state of the recording is made anew and replaced.
 */
#include <stdbool.h>

#include "base/buf.h"
#include "collector/store/store.h"

/* What a recording with fewer rows tells is worked out faster than it is read. */
#define KEPT_ROWS_MIN ROWS_PER_BLOCK

/* Appends the file's bytes; they fit if they were made of *ret_frames (recording_keep). A negative errno: there is no such file. */
int kept_read(const struct recording *recording, const char *name, struct buf *out, uint64_t *ret_frames);
/* Whether there is a place for it, and of which frames it is. */
bool kept_wanted(const struct recording *recording, const char *name, uint64_t *ret_frames);
/* Readers see all of it or nothing. Silent if it can't be done. */
void kept_write(const struct recording *recording, const char *name, const struct buf *bytes);
