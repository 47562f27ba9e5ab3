/* "/" and /page/: the page and its files (collector/page). A file's name contains a hash of its
 * contents, so browsers can cache it. */
#include <errno.h>
#include <string.h>

#include "collector/http/server/exchange.h"
#include "collector/http/server/routes.h"
#include "collector/page/page.h"

#include "base/ban.h"

static const char without_page[] =
	"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>heapcast</title>\n"
	"<meta name=\"color-scheme\" content=\"light dark\"></head><body>\n"
	"<h1>heapcast</h1>\n"
	"<p>This collector was built without its page, as node 18.20 was not there, or npm could "
	"not "
	"fetch what it is built with. Install node (<code>deploy/install-packages build</code>) "
	"and build it again.</p>\n"
	"<p>Everything else works: <a href=\"list\">/list</a> has the recordings, "
	"<a href=\"openapi.json\">/openapi.json</a> describes the API, and <code>collector "
	"report</code> shows a recording in a terminal.</p>\n</body></html>\n";

static const struct page_asset *find_asset(const char *name)
{
	for (size_t i = 0; i < page_asset_count; i++)
		if (!strcmp(page_assets[i].name, name))
			return &page_assets[i];
	return NULL;
}

static int page_give(struct exchange *x, const struct page_asset *asset)
{
	x->asset = asset;
	x->content_type = asset->content_type;
	if (!strcmp(x->known_etag, asset->etag)) {
		x->status = 304;
		return 0;
	}
	if (!x->takes_gzip)
		return page_unpack(asset, &x->out); /* for clients that do not accept gzip */
	buf_append(&x->out, asset->packed, asset->packed_bytes);
	return buf_error(&x->out);
}

static int page_step(struct exchange *x)
{
	const struct page_asset *asset = find_asset("");

	if (asset)
		return page_give(x, asset);
	buf_string(&x->out, without_page);
	return buf_error(&x->out);
}

const struct route page_route = {
	.path = "/",
	.about = "the page",
	.content_type = "text/html; charset=utf-8",
	.step = page_step,
};

static int page_file_step(struct exchange *x)
{
	const char *name = x->rest;
	const struct page_asset *asset = name[0] ? find_asset(name) : NULL;

	if (!asset)
		return err_set(&x->err, -ENOENT,
			       "the page has no file \"%.60s\": load it again, as another version "
			       "of the collector may be running now",
			       name);
	return page_give(x, asset);
}

const struct route page_file_route = {
	.path = "/page",
	.about = "a file of the page",
	.content_type = "text/javascript; charset=utf-8",
	.rest = "file",
	.rest_about = "name of the file",
	.step = page_file_step,
};
