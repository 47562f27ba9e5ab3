/* Writes text and bytes in the encodings of other formats. See put.h. */
#include "collector/formats/write/put.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "collector/columns/row_block.h"
#include "collector/recording/completeness.h"

#include "base/ban.h"

#define GZIP_WINDOW 31 /* the widest window, with the header of a gzip file */
#define ROOM	    65536

/* Deflates until the input is consumed; with Z_FINISH, until the end has been written. */
static int deflate_some(z_stream *z, int flush, struct buf *out)
{
	int r;

	do {
		uint8_t *room = buf_reserve(out, ROOM);

		if (!room)
			return -ENOMEM;
		z->next_out = room;
		z->avail_out = ROOM;
		r = deflate(z, flush);
		out->length += ROOM - z->avail_out;
		if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
			return -ENOMEM;
	} while (!z->avail_out || (flush == Z_FINISH && r != Z_STREAM_END));
	return 0;
}

int put_gzip(struct buf *out, const void *data, size_t length)
{
	z_stream z = {.next_in = data};
	int r = 0;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	while (!r && length) {
		z.avail_in = length < UINT_MAX ? (uInt)length : UINT_MAX;
		length -= z.avail_in;
		r = deflate_some(&z, length ? Z_NO_FLUSH : Z_FINISH, out);
	}
	deflateEnd(&z);
	return r;
}

void put_utf8(struct buf *out, const char *text)
{
	size_t left = strlen(text), n;
	uint32_t code;

	for (; left; text += n, left -= n) {
		n = utf8_next(text, left, &code);
		if (!n || !utf8_shows(code))
			buf_string(out, UTF8_REPLACEMENT);
		else
			buf_append(out, text, n);
		n = n ? n : 1;
	}
}

/* Tells whether XML 1.0 allows the character, and a screen can show it. */
static bool is_text(uint32_t code)
{
	return utf8_shows(code) && (code & 0xfffe) != 0xfffe;
}

void put_markup_cut(struct buf *out, const char *text, size_t most)
{
	size_t left = strlen(text), done = 0, n;
	uint32_t code;

	for (; left; text += n, left -= n, done++) {
		if (done + 1 >= most && left > 1) {
			buf_string(out, "\xe2\x80\xa6");
			return;
		}
		n = utf8_next(text, left, &code);
		if (!n || !is_text(code))
			buf_string(out, UTF8_REPLACEMENT);
		else if (code == '<')
			buf_string(out, "&lt;");
		else if (code == '>')
			buf_string(out, "&gt;");
		else if (code == '&')
			buf_string(out, "&amp;");
		else if (code == '"')
			buf_string(out, "&quot;");
		else if (code == '\'')
			buf_string(out, "&#39;");
		else
			buf_append(out, text, n);
		n = n ? n : 1;
	}
}

void put_markup(struct buf *out, const char *text)
{
	put_markup_cut(out, text, SIZE_MAX);
}

const char *block_end_name(uint8_t end)
{
	static const char *const names[] = {
		[BLOCK_IN_USE] = "in_use",	     [BLOCK_FREED] = "freed",
		[BLOCK_REALLOCATED] = "reallocated", [BLOCK_INFERRED] = "inferred",
		[BLOCK_CENSORED] = "censored",	     [BLOCK_EXEC] = "exec",
	};

	return end < sizeof(names) / sizeof(*names) ? names[end] : NULL;
}

void put_incomplete_line(struct buf *out, const char *before, const char *line, const char *after)
{
	if (!line || !*line)
		return;
	buf_string(out, before);
	buf_string(out, line);
	buf_string(out, after);
}

void put_incomplete(struct buf *out, const char *before, const struct recording *recording,
		    const char *after)
{
	struct completeness c;

	recording_completeness(recording, &c);
	put_incomplete_line(out, before, c.line, after);
}
