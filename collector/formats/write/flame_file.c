/*
 * Writes the page's flame graph as one file: collector/page/alone.html with its data inside, as
 * json_flame writes them.
 *
 *	before                 <!doctype html>... <script id="held" type="application/json">
 *	data                   {"title": ..., "flame": {...}}, without a '<': no name can end the
 *			       element, or begin another
 *	behind                 </script><script>the page's own</script>
 *
 * By hashes, the file's policy allows the script and the style that the build put into it. It
 * allows no other script and no request.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collector/formats/write/export.h"
#include "collector/answers/json.h"
#include "collector/answers/weight.h"
#include "collector/answers/results.h"
#include "collector/page/page.h"

#include "base/ban.h"

/* Replaces '<' by an escape. It occurs only inside strings. */
static void put_without_markup(struct buf *out, const struct buf *json)
{
	const uint8_t *at = json->data, *end = json->data + json->length;

	while (at < end) {
		const uint8_t *next = memchr(at, '<', (size_t)(end - at));
		size_t length = (size_t)((next ? next : end) - at);

		buf_append(out, at, length);
		at += length;
		if (next) {
			buf_string(out, "\\u003c");
			at++;
		}
	}
}

static int put_held(const struct tree *tree, const struct flame_file_options *options,
		    struct buf *out)
{
	struct json json;
	int r;

	json_init(&json, out);
	json_object(&json, NULL);
	json_string(&json, "title", options->title ? options->title : "heapcast");
	json_string(&json, "subtitle", options->subtitle ? options->subtitle : "");
	json_string(&json, "incomplete", options->incomplete ? options->incomplete : "");
	json_string(&json, "weight", options->weight == EXPORT_BYTES ? "bytes" : "blocks");
	json_bool(&json, "reversed", options->reversed);
	json_object(&json, "flame");
	r = json_flame(&json, tree, options->flame);
	json_end(&json, '}');
	json_end(&json, '}');
	return r ? r : buf_error(out);
}

int export_flame_file(const struct tree *tree, const struct flame_file_options *options,
		      struct buf *out, struct err_text *err)
{
	cleanup(buf_done) struct buf page = {0}, held = {0};
	const uint8_t *place;
	size_t before, behind;
	int r;

	if (!page_alone.packed_bytes)
		return err_set(
			err, -ENOTSUP,
			"this collector was built without its page, which a flame graph as HTML is "
			"a part of. "
			"Install node (deploy/install-packages build) and build it again. "
			"As SVG it can be drawn without");
	r = page_unpack(&page_alone, &page);
	if (!r)
		r = put_held(tree, options, &held);
	if (r < 0)
		return err_set(err, r, "a flame graph can't be written: %s", strerror(-r));
	place = memmem(page.data, page.length, PAGE_ALONE_PLACE, strlen(PAGE_ALONE_PLACE));
	if (!place)
		return err_set(err, -EIO, "the page has no place for what it shows");
	before = (size_t)(place - page.data);
	behind = before + strlen(PAGE_ALONE_PLACE);
	buf_append(out, page.data, before);
	put_without_markup(out, &held);
	buf_append(out, page.data + behind, page.length - behind);
	return buf_error(out);
}
