/* Adds the headers of an answer. See headers.h. */
#include "collector/http/server/headers.h"

#include <stdio.h>

#include "collector/http/server/exchange.h"
#include "collector/http/server/routes.h"
#include "collector/page/page.h"

#include "base/ban.h"

/* For answers that a browser draws or runs: they may load nothing and connect to nothing. */
#define CONTENT_POLICY                                                                             \
	"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri "     \
	"'none'; form-action 'none'"

/* For the page and its files: they may load from this server only. */
#define PAGE_POLICY                                                                                \
	"default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src " \
	"'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors "      \
	"'none'"

/* For the login page: it may only send its form. */
#define LOGIN_POLICY                                                                               \
	"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; "     \
	"frame-ancestors 'none'"

/* Adds the header that says where the time went, in ms: until the recording was found by its name,
 * and until the answer began (https://www.w3.org/TR/server-timing/). */
static int put_timing(const struct exchange *x, header_writer *put, void *context)
{
	char value[64];
	int length = 0;

	if (x->find_ns)
		length =
			snprintf(value, sizeof(value), "find;dur=%.3f, ", (double)x->find_ns / 1e6);
	snprintf(value + length, sizeof(value) - (size_t)length, "answer;dur=%.3f",
		 (double)(uv_hrtime() - x->begun_ns) / 1e6);
	return put(context, "server-timing:", value);
}

/* Adds the headers about caching. A name below /page/ changes with the file's contents, so browsers
 * may keep the file. "/" does not change. */
static int put_caching(const struct exchange *x, header_writer *put, void *context)
{
	const struct page_asset *asset = x->asset;

	if (!asset)
		return put(context, "cache-control:", "no-store") ||
		       put(context, "content-security-policy:",
			   x->is_login_page ? LOGIN_POLICY : CONTENT_POLICY);
	if (x->takes_gzip && x->status == 200 && put(context, "content-encoding:", "gzip"))
		return -1;
	return put(context, "etag:", asset->etag) || put(context, "vary:", "accept-encoding") ||
	       put(context, "cache-control:",
		   asset->name[0] ? "public, max-age=31536000, immutable" : "no-cache") ||
	       put(context, "content-security-policy:", PAGE_POLICY) ||
	       put(context, "referrer-policy:", "same-origin");
}

/* Adds headers about access: the required credentials (in a form for which browsers do not ask for
 * a password), when to try again, and the login. */
static int put_access(const struct exchange *x, header_writer *put, void *context)
{
	if (x->status == 401 && put(context, "www-authenticate:", "Bearer realm=\"heapcast\""))
		return -1;
	if (x->status == 429 && put(context, "retry-after:", "1"))
		return -1;
	if (x->location && put(context, "location:", x->location))
		return -1;
	if (x->set_cookie[0] && put(context, "set-cookie:", x->set_cookie))
		return -1;
	return x->status == 405 ? put(context, "allow:", route_methods(&x->route)) : 0;
}

int headers_put(const struct exchange *x, header_writer *put, void *context)
{
	return put_caching(x, put, context) || put(context, "x-content-type-options:", "nosniff") ||
			       put_timing(x, put, context) ||
			       (x->incomplete[0] &&
				put(context, "heapcast-incomplete:", x->incomplete)) ||
			       put_access(x, put, context)
		       ? -1
		       : 0;
}
