/* The page's files are embedded compressed. */
#define ZLIB_CONST
#include "collector/page/page.h"

#include <errno.h>
#include <stdint.h>
#include <zlib.h>

#include "base/buf.h"

#include "base/ban.h"

/* What is unpacked was made by our own build. */
int page_unpack(const struct page_asset *asset, struct buf *out)
{
	z_stream z = {.next_in = asset->packed, .avail_in = (uInt)asset->packed_bytes};
	uint8_t slice[16384];
	int r = inflateInit2(&z, 15 + 16);

	if (r != Z_OK)
		return -ENOMEM;
	while (r == Z_OK) {
		z.next_out = slice;
		z.avail_out = sizeof(slice);
		r = inflate(&z, Z_NO_FLUSH);
		buf_append(out, slice, sizeof(slice) - z.avail_out);
	}
	inflateEnd(&z);
	return r == Z_STREAM_END ? buf_error(out) : -EIO;
}
