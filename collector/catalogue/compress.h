#pragma once
/*
 * Compresses recordings where they lie, and restores them. The new file is made beside the old one,
 * checked, made durable, and only then moved to its place, with the mode and the time of the last
 * change of the old one. Whoever is killed meanwhile leaves the old file, and a draft that the next
 * one overwrites.
 */
#include <stdbool.h>

struct err_text;

/*
 * Compresses the recording at `path`. Returns 0; 1 if it is compressed already, or would not become
 * smaller; -EBUSY if a process is writing it; -ECANCELED if `stop` (may be NULL) returned true; or
 * another negative errno.
 */
int recording_compress(const char *path, bool (*stop)(void *context), void *context,
		       struct err_text *err);
/*
 * Restores the compressed recording at `path`. `from` is the open file: if it is marked as being
 * written (written.h), the new one is so, too. `ret_fd` receives the new file's descriptor; NULL:
 * it is closed. Returns 0; -EBUSY if another description marked the file; or another negative
 * errno.
 */
int recording_decompress(const char *path, int from, int *ret_fd, struct err_text *err);

/* Marks the file that is at `path` as being written. Returns 0; -ESTALE if `fd` is another file by
 * now; or what recording_mark_written returns. */
int recording_mark_at(int fd, const char *path);
