#pragma once
/* The page's files, as collector/page/build.mjs embeds them. Without node there are none, and
 * page_asset_count is 0. */
#include <stddef.h>

struct page_asset {
	const char *name; /* below /page/; "": the page itself, at / */
	const char *content_type;
	const char *etag;	     /* with its quotes (RFC 9110, section 8.8.3) */
	const unsigned char *packed; /* by gzip */
	size_t packed_bytes, bytes;
};

extern const struct page_asset page_assets[];
extern const size_t page_asset_count;

/* The flame graph as a file of its own: "{{held}}" in it, once, is where what it shows belongs, as
 * JSON without a '<'. packed_bytes 0: built without node. */
extern const struct page_asset page_alone;
#define PAGE_ALONE_PLACE "{{held}}"

struct buf;
/* Appends the file as it was before it was packed. 0, -ENOMEM, -EIO. */
int page_unpack(const struct page_asset *asset, struct buf *out);
