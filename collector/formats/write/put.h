#pragma once
/* Text and bytes in the encodings of other formats. */
#include <stddef.h>
#include <stdint.h>

struct buf;
struct recording;

/* Appends `data` as a gzip file. Returns 0 or -ENOMEM. */
int put_gzip(struct buf *out, const void *data, size_t length);
/* Appends a text of unknown origin as UTF-8 without control characters. */
void put_utf8(struct buf *out, const char *text);
/* Appends what a recording does not hold (recording/completeness.h), between `before` and `after`.
 * Appends nothing if the recording is complete. */
void put_incomplete(struct buf *out, const char *before, const struct recording *recording,
		    const char *after);
/* Does the same with a line that the caller already has. NULL means "". */
void put_incomplete_line(struct buf *out, const char *before, const char *line, const char *after);
/* Returns the name of a block's end (enum block_end), or NULL for an unknown value. */
const char *block_end_name(uint8_t end);
/* Appends a text escaped for XML: at most `most` characters, the last one an ellipsis if the text
 * is longer. */
void put_markup_cut(struct buf *out, const char *text, size_t most);
void put_markup(struct buf *out, const char *text);
