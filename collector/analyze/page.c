/*
 * Renders a report as an HTML page, to read in a browser and to print (A4). Its style is inline, it
 * has no script, and it fetches nothing. Names come from outside, so put_markup escapes all text,
 * and no text goes into an attribute.
 */
#include <stdio.h>
#include <string.h>

#include "base/cli/program.h"
#include "base/buf.h"
#include "base/parse.h"
#include "collector/analyze/report.h"
#include "collector/formats/write/put.h"
#include "page-style.h"

#include "base/ban.h"

#define DRILL_SHOWN 200
#define SAFETY                                                                                     \
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "    \
	"'unsafe-inline'\">\n"

struct page {
	const struct analysis_report *report;
	const struct analysis_result *result;
	struct buf *out;
};

/* Appends "<TAG class=...>text</TAG>"; `tag` includes its attributes. */
static void put_element(struct buf *out, const char *tag, const char *text)
{
	buf_printf(out, "<%s>", tag);
	put_markup(out, text);
	buf_printf(out, "</%.*s>", (int)strcspn(tag, " "), tag);
}

static void page_put_amount(const struct page *p, uint64_t value)
{
	char amount[32];

	put_element(p->out, "td class=n", analysis_amount(amount, value, p->report->counts));
	buf_printf(p->out, "<td class=p>%.1f&#8239;%%</td>", analysis_percent(p->result, value));
}

/* Appends a bar of the length value / longest. */
static void put_bar(const struct page *p, uint64_t value, uint64_t longest)
{
	buf_printf(p->out, "<td class=b><span class=bar style=\"width:%.1f%%\"></span></td>",
		   longest ? 100.0 * (double)value / (double)longest : 0);
}

static void page_put_name(const struct page *p, const char *name)
{
	buf_string(p->out, "<td><code>");
	put_markup(p->out, name);
	buf_string(p->out, "</code></td>");
}

/* ---- parts ---- */

static void put_figure(const struct page *p, const char *value, const char *what)
{
	buf_string(p->out, "<div>");
	put_element(p->out, "b", value);
	put_element(p->out, "span", what);
	buf_string(p->out, "</div>");
}

static void page_put_head(const struct page *p)
{
	const struct analysis_report *report = p->report;
	char text[REPORT_NEXT];

	buf_string(p->out,
		   "<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n"
		   "<meta name=viewport content=\"width=device-width\">\n" SAFETY "<title>");
	put_markup(p->out, report->title);
	buf_string(p->out, " - allocations</title>\n<style>\n");
	buf_append(p->out, page_style, sizeof(page_style));
	buf_string(p->out, "</style>\n<header>\n");
	put_element(p->out, "h1", report->title);
	if (report->incomplete && report->incomplete[0])
		put_element(p->out, "p class=missing", report->incomplete);
	if (report->counted)
		put_element(p->out, "p class=quiet", report->counted);
	if (report->about)
		put_element(p->out, "p class=quiet", report->about);
	buf_string(p->out, "<div class=figures>");
	put_figure(p, analysis_amount(text, p->result->total, report->counts),
		   report->counts ? "blocks" : "in all");
	if (p->result->blocks_known && !report->counts)
		put_figure(p, format_count(text, p->result->blocks), "blocks");
	put_figure(p, format_count(text, p->result->stacks), "stack traces");
	put_figure(p, format_count(text, p->result->frames), "functions");
	snprintf(text, sizeof(text), "%.1f %%", analysis_percent(p->result, p->result->grown));
	put_figure(p, text, "by growing blocks");
	buf_string(p->out, "</div>\n");
	if (report->note)
		put_element(p->out, "p class=quiet", report->note);
	buf_string(p->out, "</header>\n");
}

static void page_put_findings(const struct page *p)
{
	char headline[FINDING_TEXT], sentence[FINDING_TEXT];

	if (!p->result->finding_count)
		return;
	buf_string(p->out, "<h2>Findings</h2>\n<ol class=findings>\n");
	for (uint32_t i = 0; i < p->result->finding_count; i++) {
		analysis_finding_text(p->result, &p->result->findings[i], p->report->counts,
				      headline, sentence);
		buf_string(p->out, "<li>");
		put_element(p->out, "b", headline);
		put_markup(p->out, sentence);
		buf_string(p->out, "</li>\n");
	}
	buf_string(p->out, "</ol>\n");
}

static void page_put_subsystems(const struct page *p)
{
	const struct analysis_result *r = p->result;
	char traces[32];

	buf_string(p->out, "<h2>Subsystems</h2>\n<p class=quiet>By the rules &ldquo;");
	put_markup(p->out, p->report->rules);
	buf_string(p->out, "&rdquo;.</p>\n<table><thead><tr><th class=n>Amount<th class=p>Part<th "
			   "class=b><th>Subsystem<th class=n>Traces</thead>\n");
	for (uint32_t i = 0; i < r->subsystem_count; i++) {
		buf_string(p->out, "<tr>");
		page_put_amount(p, r->subsystems[i].value);
		put_bar(p, r->subsystems[i].value, r->subsystems[0].value);
		put_element(p->out, "td", r->subsystems[i].name);
		put_element(p->out, "td class=n", format_count(traces, r->subsystems[i].traces));
		buf_string(p->out, "\n");
	}
	buf_string(p->out, "</table>\n");
}

static void page_put_functions(const struct page *p, const char *heading, const char *about,
			       const struct analysis_functions *f)
{
	put_element(p->out, "h2", heading);
	put_element(p->out, "p class=quiet", about);
	buf_string(p->out,
		   "<table><thead><tr><th class=n>Amount<th class=p>Part<th class=b><th>Function"
		   "</thead>\n");
	for (uint32_t i = 0; i < f->count; i++) {
		buf_string(p->out, "<tr>");
		page_put_amount(p, f->list[i].value);
		put_bar(p, f->list[i].value, f->list[0].value);
		page_put_name(p, f->list[i].name);
		buf_string(p->out, "\n");
	}
	buf_string(p->out, "</table>\n");
	if (f->of > f->count)
		buf_printf(p->out, "<p class=quiet>and %u more</p>\n", f->of - f->count);
}

static void put_brief(const struct page *p, const struct analysis_trace *trace)
{
	struct buf brief = {0};

	analysis_brief(p->result->analysis, trace, &brief);
	buf_string(p->out, "<td class=way><code>");
	put_markup(p->out, buf_text(&brief) ? buf_text(&brief) : "");
	buf_string(p->out, "</code></td>");
	buf_done(&brief);
}

static void page_put_traces(const struct page *p, const struct analysis_traces *traces,
			    uint32_t most)
{
	buf_string(p->out, "<table><thead><tr><th class=i>#<th class=n>Amount<th class=p>Part<th "
			   "class=s>Subsystem<th>Innermost functions</thead>\n");
	for (uint32_t i = 0; i < traces->count && i < most; i++) {
		buf_printf(p->out, "<tr><td class=i>%u</td>", i + 1);
		page_put_amount(p, traces->list[i].value);
		put_element(
			p->out, "td class=s",
			analysis_subsystem_name(p->result->analysis, traces->list[i].subsystem));
		put_brief(p, &traces->list[i]);
		buf_string(p->out, "\n");
	}
	buf_string(p->out, "</table>\n");
	if (traces->count > most)
		buf_printf(p->out, "<p class=quiet>and %u more</p>\n", traces->count - most);
}

static void page_put_stack(const struct page *p, const struct analysis_trace *trace)
{
	const struct analysis *a = p->result->analysis;
	struct buf name = {0};

	buf_string(p->out, "<ol class=stack>\n");
	for (uint32_t i = trace->count; i; i--) {
		uint32_t frame = trace->frames[i - 1];

		buf_clear(&name);
		analysis_name(analysis_frame(a, frame), &name);
		put_element(p->out, analysis_is_noise(a, frame) ? "li class=noise" : "li",
			    buf_text(&name) ? buf_text(&name) : "");
		buf_string(p->out, "\n");
	}
	buf_string(p->out, "</ol>\n");
	buf_done(&name);
}

static void page_put_stacks(const struct page *p, const char *heading,
			    const struct analysis_traces *traces, uint32_t most)
{
	char amount[32], title[128];

	put_element(p->out, "h2", heading);
	for (uint32_t i = 0; i < traces->count && i < most; i++) {
		snprintf(title, sizeof(title), "#%u: %s (%.1f %%)", i + 1,
			 analysis_amount(amount, traces->list[i].value, p->report->counts),
			 analysis_percent(p->result, traces->list[i].value));
		put_element(p->out, "h3", title);
		page_put_stack(p, &traces->list[i]);
	}
}

static void put_part(const struct page *p, const char *what, const char *name, uint64_t value,
		     uint64_t traces)
{
	char amount[32], count[32];

	buf_printf(p->out, "<h2>%s &ldquo;", what);
	put_markup(p->out, name);
	buf_printf(p->out, "&rdquo;</h2>\n<p>%s (%.1f %%) on %s stack traces.</p>\n",
		   analysis_amount(amount, value, p->report->counts),
		   analysis_percent(p->result, value), format_count(count, traces));
}

static void put_asked(const struct page *p)
{
	const struct analysis_search *s = p->result->search;
	const struct analysis_drill *d = p->result->drill;

	if (s) {
		put_part(p, "Search:", analysis_searched(p->result->analysis), s->value, s->traces);
		page_put_traces(p, &s->top, ANALYSIS_SEARCH_TOP);
		page_put_functions(p, "Who calls it", "Functions one frame further out.",
				   &s->callers);
		page_put_functions(p, "What it calls", "Functions one frame further in.",
				   &s->callees);
		page_put_stacks(p, "Its heaviest stacks", &s->top, ANALYSIS_SEARCH_FULL);
	}
	if (d) {
		put_part(p, "Subsystem", d->name, d->value, d->traces.count);
		page_put_traces(p, &d->traces, DRILL_SHOWN);
		page_put_stacks(p, "Its heaviest stacks", &d->traces, ANALYSIS_DRILL_FULL);
	}
}

void report_page(const struct analysis_report *report, struct buf *out)
{
	struct page page = {report, report->result, out}, *p = &page;

	page_put_head(p);
	page_put_findings(p);
	put_asked(p);
	page_put_subsystems(p);
	page_put_functions(
		p, "Why",
		"The operation that began it: the outermost function that means something.",
		&p->result->outermost);
	page_put_functions(p, "Where",
			   "The code that asked for memory: the innermost function that means "
			   "something.",
			   &p->result->innermost);
	page_put_functions(p, "Its callers", "The function that called that one.",
			   &p->result->callers);
	put_element(out, "h2", "The heaviest stack traces");
	page_put_traces(p, &p->result->top, UINT32_MAX);
	page_put_stacks(p, "Full stacks", &p->result->top, ANALYSIS_FULL);
	buf_string(out, "<footer>heapcast " HEAPCAST_VERSION ", ");
	program_words(out, "collector analyze ");
	put_markup(out, report->source);
	buf_string(out, "</footer>\n</html>\n");
}
