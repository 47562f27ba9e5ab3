#pragma once
/*
 * A recording that was compressed again, with zstd, to take less room. What the batches hold is
 * compressed together, some MiB at a time, which takes about half of what their LZ4 frames take.
 * The recording's own bytes can be restored, and are the same again.
 *
 *   | head: length and hash of the recording | piece | piece | ...
 *   head:              skippable frame | "heapcast" | version | length | XXH3 | check |
 *   piece of frames:   skippable frame | stored | content |  zstd frame of `stored` bytes
 *   piece of bytes:    skippable frame | stored | content | zstd frame of `stored` bytes |
 *
 * The content of a piece of frames is the messages of LZ4 frames, which frame_encode makes of them
 * again. So `zstd -dc` prints the message Recording, as `lz4 -dc` does for the recording. A piece
 * of bytes holds what frame_encode would not make: damage, a cut end, and frames of another version
 * of lz4. `zstd -dc` leaves it out. Numbers are little-endian; the format of zstd is RFC 8878.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err_text;

struct compressed {
	uint64_t length, hash; /* of the recording */
};

/* Bytes at the beginning of a file that compressed_begins judges. */
#define COMPRESSED_BEGINS 16
bool compressed_begins(const void *data, size_t available);
/*
 * Reads the head of the file at `path`. Returns 1; 0 if it is no compressed recording; or -EBADMSG
 * with a sentence if it is damaged or of another version; or another negative errno.
 */
int compressed_look(const char *path, int fd, struct compressed *ret, struct err_text *err);
/*
 * Compresses `length` bytes of `from` into the empty file `to`. Returns 0; -ECANCELED if `stop`
 * (may be NULL) returned true; or another negative errno with a sentence that names `path`.
 */
int compressed_write(const char *path, int from, uint64_t length, int to,
		     bool (*stop)(void *context), void *context, struct err_text *err);
/*
 * Writes the recording to `to`, or only checks that it can be restored (-1). Never writes more than
 * the length in the head. Returns 0, or a negative errno with a sentence that names `path`.
 */
int compressed_restore(const char *path, int from, int to, struct err_text *err);
