/* The page at "/": the recordings, with links. Everything that comes from a recording is escaped. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/parse.h"
#include "collector/http/routes.h"
#include "collector/http/sources.h"
#include "collector/http/values.h"

#include "base/ban.h"

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>heapcast</title>\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<style>\n"
	":root { color-scheme: light dark; }\n"
	"body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; "
	"padding: 0 1rem; }\n"
	"table { border-collapse: collapse; width: 100%; }\n"
	"th, td { text-align: left; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid #8884; "
	"vertical-align: top; }\n"
	"td.n { text-align: right; white-space: nowrap; }\n"
	"code { font-size: 90%; overflow-wrap: anywhere; }\n"
	"</style></head><body>\n<h1>heapcast</h1>\n";

static void put_escaped(struct buf *out, const char *text)
{
	for (; text && *text; text++) {
		switch (*text) {
		case '<':
			buf_string(out, "&lt;");
			break;
		case '>':
			buf_string(out, "&gt;");
			break;
		case '&':
			buf_string(out, "&amp;");
			break;
		case '"':
			buf_string(out, "&quot;");
			break;
		case '\'':
			buf_string(out, "&#39;");
			break;
		default:
			buf_byte(out, (unsigned char)*text < ' ' ? ' ' : (uint8_t)*text);
		}
	}
}

static void put_link(struct buf *out, const char *id, const char *path, const char *text)
{
	buf_printf(out, "<a href=\"data/%s/%s\">%s</a> ", id, path, text);
}

static void put_line(struct buf *out, const struct stream_summary *s)
{
	static const char *const states[] = {[STREAM_LIVE] = "live",
					     [STREAM_ENDED] = "ended",
					     [STREAM_INTERRUPTED] = "interrupted"};
	char id[STREAM_ID_TEXT], size[32], count[32], duration[32], when[40] = "";
	time_t seconds = (time_t)(s->start_wall_ns / 1000000000);
	struct tm tm;

	stream_id_format(id, &s->id);
	if (seconds && gmtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
	buf_printf(out, "<tr><td>%s<br><code>%.8s</code></td><td><code>", when, id);
	put_escaped(out, s->command_line && s->command_line[0] ? s->command_line : s->executable);
	if (s->is_snapshot) {
		buf_string(out, "</code><br>of many programs, merged");
	} else {
		buf_printf(out, "</code><br>pid %u on ", s->pid);
		put_escaped(out, s->host);
	}
	buf_printf(out, "</td><td>%s<br>%s</td><td class=\"n\">%s<br>%s blocks</td><td>",
		   states[s->state], format_duration(duration, s->last_ns),
		   format_size(size, (double)s->in_use_bytes),
		   format_count(count, s->in_use_blocks));
	put_link(out, id, "export/flamegraph?lifetime=only_leaked", "flame graph: not freed");
	buf_string(out, "&middot; ");
	put_link(out, id, "export/flamegraph?value=peak", "at the peak");
	buf_string(out, "&middot; ");
	put_link(out, id, "export/flamegraph", "allocated");
	buf_string(out, "<br>");
	put_link(out, id, "allocations?sort_by=size&amp;order=dsc&amp;count=25",
		 "25 biggest (JSON)");
	buf_string(out, "&middot; ");
	put_link(out, id, "export/flamegraph.pl", "collapsed stacks");
	buf_string(out, "&middot; ");
	put_link(out, id, "allocation_ascii_tree?percent_min=1", "tree");
	buf_string(out, "<br>");
	put_link(out, id, "report", "totals");
	buf_string(out, "&middot; ");
	put_link(out, id, "leaks?count=25", "leaks");
	buf_string(out, "&middot; ");
	put_link(out, id, "peak?count=25", "peak");
	buf_string(out, "&middot; ");
	put_link(out, id, "export/graph?by=site", "over time, by call site");
	buf_string(out, "&middot; ");
	put_link(out, id, "timeline", "timeline");
	buf_string(out, "&middot; ");
	put_link(out, id, "histogram", "histogram");
	buf_string(out, "</td></tr>\n");
}

int page_step(struct exchange *x)
{
	struct source_line *lines;
	size_t count;
	int r = no_parameters(x);

	if (!r)
		r = sources_list(x->sources, &lines, &count, &x->err);
	if (r < 0)
		return r;
	x->content_type = "text/html; charset=utf-8";
	buf_string(&x->out, head);
	if (!count)
		buf_string(&x->out,
			   "<p>No recording yet. <code>collector gather</code> brings some.</p>\n");
	else
		buf_string(
			&x->out,
			"<table><tr><th>began</th><th>program</th><th>state</th><th>not freed</th>"
			"<th>look at</th></tr>\n");
	for (size_t i = count; i-- > 0;)
		put_line(&x->out, &lines[i].summary);
	if (count)
		buf_string(&x->out, "</table>\n");
	buf_string(&x->out, "<p><a href=\"list\">/list</a> is this list as JSON, "
			    "<a href=\"openapi.json\">/openapi.json</a> describes the "
			    "API.</p>\n</body></html>\n");
	sources_list_free(lines, count);
	return buf_error(&x->out);
}
