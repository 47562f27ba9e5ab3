#pragma once
/* The page's files, as collector/page/build.mjs embeds them. Without node there are none, and page_asset_count is 0. */
#include <stddef.h>

struct page_asset {
	const char *name; /* below /page/; "": the page itself, at / */
	const char *content_type;
	const char *etag; /* with its quotes (RFC 9110, section 8.8.3) */
	const unsigned char *packed; /* by gzip */
	size_t packed_bytes, bytes;
};

extern const struct page_asset page_assets[];
extern const size_t page_asset_count;
