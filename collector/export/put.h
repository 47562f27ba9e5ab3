#pragma once
/* Texts and bytes as other formats want them. */
#include <stddef.h>
#include <stdint.h>

struct buf;
struct recording;

/* Appends `data` as a gzip file. 0 or -ENOMEM. */
int put_gzip(struct buf *out, const void *data, size_t length);
/* Appends a text of unknown origin as UTF-8 without control characters. */
void put_utf8(struct buf *out, const char *text);
/* What a recording does not hold (recording/completeness.h), between `before` and `after`; nothing
 * where there is nothing to say. */
void put_incomplete(struct buf *out, const char *before, const struct recording *recording,
		    const char *after);
/* The same of a line that is there already; NULL is as "". */
void put_incomplete_line(struct buf *out, const char *before, const char *line, const char *after);
/* What became of a block (enum block_end). NULL: no such end. */
const char *block_end_name(uint8_t end);
/* Appends a text that no markup survives in, for XML. At most `most` characters, the last one an
 * ellipsis if there are more. */
void put_markup_cut(struct buf *out, const char *text, size_t most);
void put_markup(struct buf *out, const char *text);
