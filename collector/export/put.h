#pragma once
/* Texts and bytes as other formats want them. */
#include <stddef.h>
#include <stdint.h>

struct buf;

/* Appends `data` as a gzip file. 0 or -ENOMEM. */
int put_gzip(struct buf *out, const void *data, size_t length);
/* Appends a text of unknown origin as UTF-8 without control characters. */
void put_utf8(struct buf *out, const char *text);
/* What became of a block (enum block_end). NULL: no such end. */
const char *block_end_name(uint8_t end);
/* Appends a text that no markup survives in, for XML. At most `most` characters, the last one an ellipsis if there are more. */
void put_markup_cut(struct buf *out, const char *text, size_t most);
void put_markup(struct buf *out, const char *text);
