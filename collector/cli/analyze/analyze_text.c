/* Prints a report on a terminal of 80 columns or more. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/parse.h"
#include "collector/cli/analyze/analyze.h"
#include "collector/cli/terminal.h"

#include "base/ban.h"

#define AMOUNT_COLUMNS	  20 /* "  1.23 GiB  12.3 %  " */
#define RANK_COLUMNS	  4
#define BAR_COLUMNS	  20
#define SUBSYSTEM_COLUMNS 20

struct text {
	const struct analysis_report *report;
	const struct analysis_result *result;
	unsigned width;
};

static void analyze_text_put_amount(const struct text *t, uint64_t value)
{
	char amount[32];

	printf("%10s %5.1f %%  ", analysis_amount(amount, value, t->report->counts),
	       analysis_percent(t->result, value));
}

static void put_bar(unsigned columns, uint64_t value, uint64_t longest)
{
	unsigned length = longest ? (unsigned)((double)value * columns / (double)longest + 0.5) : 0;

	for (unsigned i = 0; i < columns; i++)
		fputs(i < length ? "\u2588" : " ", stdout);
	fputs("  ", stdout);
}

/* Prints the name in the rest of the line, or at least a part of it. */
static void analyze_text_put_name(const struct text *t, enum style style, const char *name,
				  unsigned used)
{
	terminal_line(style, name, t->width > used + 10 ? t->width - used : 10);
}

static void about(const char *text)
{
	terminal_paragraph(STYLE_DIM, text, 0);
}

/* ---- the head ---- */

static void analyze_text_put_head(const struct text *t)
{
	char total[REPORT_NEXT];

	if (t->report->incomplete && t->report->incomplete[0]) {
		terminal_line(STYLE_YELLOW, t->report->incomplete, 0);
	}
	if (t->report->counted)
		about(t->report->counted);
	terminal_line(STYLE_BOLD, t->report->title, t->width);
	if (t->report->about) {
		terminal_blanks(2);
		terminal_paragraph(STYLE_DIM, t->report->about, 2);
	}
	terminal_blanks(2);
	terminal_paragraph(STYLE_PLAIN, report_total(t->report, total), 2);
	if (t->result->capped) {
		terminal_blanks(2);
		terminal_paragraph(
			STYLE_RED,
			"The values add up to more than 64 bits hold: no figure below is right.",
			2);
	}
	if (t->report->note) {
		terminal_blanks(2);
		terminal_paragraph(STYLE_YELLOW, t->report->note, 2);
	}
}

static void analyze_text_put_findings(const struct text *t)
{
	char headline[FINDING_TEXT], sentence[FINDING_TEXT];

	if (!t->result->finding_count)
		return;
	terminal_heading("Findings");
	for (uint32_t i = 0; i < t->result->finding_count; i++) {
		analysis_finding_text(t->result, &t->result->findings[i], t->report->counts,
				      headline, sentence);
		printf("%3u. ", i + 1);
		analyze_text_put_name(t, STYLE_YELLOW, headline, 5);
		terminal_blanks(5);
		terminal_paragraph(STYLE_PLAIN, sentence, 5);
	}
}

static void analyze_text_put_subsystems(const struct text *t)
{
	const struct analysis_result *r = t->result;
	char heading[160];

	snprintf(heading, sizeof(heading), "Subsystems, by the rules \"%.60s\"", t->report->rules);
	terminal_heading(heading);
	for (uint32_t i = 0; i < r->subsystem_count; i++) {
		analyze_text_put_amount(t, r->subsystems[i].value);
		put_bar(BAR_COLUMNS, r->subsystems[i].value, r->subsystems[0].value);
		analyze_text_put_name(t, STYLE_PLAIN, r->subsystems[i].name,
				      AMOUNT_COLUMNS + BAR_COLUMNS + 2);
	}
}

/* ---- functions ---- */

static void analyze_text_put_functions(const struct text *t, const char *heading, const char *what,
				       const struct analysis_functions *f, unsigned bar)
{
	char more[64], count[32];

	terminal_heading(heading);
	about(what);
	for (uint32_t i = 0; i < f->count; i++) {
		analyze_text_put_amount(t, f->list[i].value);
		if (bar)
			put_bar(bar, f->list[i].value, f->list[0].value);
		analyze_text_put_name(t, STYLE_PLAIN, f->list[i].name,
				      AMOUNT_COLUMNS + (bar ? bar + 2 : 0));
	}
	if (f->of > f->count) {
		snprintf(more, sizeof(more), "and %s more", format_count(count, f->of - f->count));
		terminal_blanks(AMOUNT_COLUMNS);
		analyze_text_put_name(t, STYLE_DIM, more, AMOUNT_COLUMNS);
	}
}

/* ---- stack traces ---- */

/* Prints "a <- b <- c", beginning at column `indent`, with line breaks between frames. */
static void put_way(const struct text *t, const uint32_t *frames, uint32_t count, unsigned indent)
{
	const struct analysis *a = t->result->analysis;
	cleanup(buf_done) struct buf name = {0};
	unsigned room = t->width - indent, at = 0;

	for (uint32_t i = 0; i < count; i++) {
		const char *text;
		size_t length;

		buf_clear(&name);
		analysis_name(analysis_frame(a, frames[i]), &name);
		text = buf_text(&name) ? buf_text(&name) : "";
		length = strlen(text) + (i ? 3 : 0);
		if (i && at + 1 + length > room) {
			putchar('\n');
			terminal_blanks(indent);
			at = 0;
		}
		if (i)
			at += (unsigned)printf("%s<- ", at ? " " : "");
		at += terminal_text(STYLE_PLAIN, text, room > at + 10 ? room - at : 10);
	}
	putchar('\n');
}

/* Prints the innermost frames that mean something; all of them if `most` is 0. */
static void analyze_text_put_frames(const struct text *t, const struct analysis_trace *trace,
				    uint32_t most, unsigned indent)
{
	const struct analysis *a = t->result->analysis;
	cleanup(cleanup_free) uint32_t *frames = calloc((size_t)trace->count + 1, sizeof(*frames));
	uint32_t count = 0;

	for (uint32_t i = trace->count; frames && i; i--)
		if (!most || (count < most && !analysis_is_noise(a, trace->frames[i - 1])))
			frames[count++] = trace->frames[i - 1];
	for (uint32_t i = trace->count; frames && !count && i; i--)
		frames[count++] = trace->frames[i - 1];
	put_way(t, frames, frames ? count : 0, indent);
}

static void put_summary(const struct text *t)
{
	const struct analysis_result *r = t->result;
	char heading[64];
	uint32_t count = r->top.count < ANALYSIS_SUMMARY ? r->top.count : ANALYSIS_SUMMARY;

	snprintf(heading, sizeof(heading), "Summary: the %u heaviest stack traces", count);
	terminal_heading(heading);
	for (uint32_t i = 0; i < count; i++) {
		const struct analysis_trace *trace = &r->top.list[i];
		cleanup(buf_done) struct buf label = {0};
		uint32_t inner = trace->count;
		unsigned used;

		while (inner && analysis_is_noise(r->analysis, trace->frames[inner - 1]))
			inner--;
		inner = inner ? inner : trace->count;
		if (inner)
			analysis_name(analysis_frame(r->analysis, trace->frames[inner - 1]),
				      &label);
		printf("%3u ", i + 1);
		analyze_text_put_amount(t, trace->value);
		used = terminal_text(STYLE_DIM,
				     analysis_subsystem_name(r->analysis, trace->subsystem),
				     SUBSYSTEM_COLUMNS);
		terminal_blanks(SUBSYSTEM_COLUMNS - used + 2);
		analyze_text_put_name(t, STYLE_PLAIN,
				      buf_text(&label) ? buf_text(&label) : "(unknown)",
				      RANK_COLUMNS + AMOUNT_COLUMNS + SUBSYSTEM_COLUMNS + 2);
	}
}

static void analyze_text_put_traces(const struct text *t, const struct analysis_traces *traces,
				    uint32_t most_frames)
{
	for (uint32_t i = 0; i < traces->count; i++) {
		printf("%3u ", i + 1);
		analyze_text_put_amount(t, traces->list[i].value);
		analyze_text_put_frames(t, &traces->list[i], most_frames,
					RANK_COLUMNS + AMOUNT_COLUMNS);
	}
}

static void analyze_text_put_stack(const struct text *t, const struct analysis_trace *trace)
{
	const struct analysis *a = t->result->analysis;
	cleanup(buf_done) struct buf name = {0};

	for (uint32_t i = trace->count; i; i--) {
		uint32_t frame = trace->frames[i - 1];
		bool noise = analysis_is_noise(a, frame);

		buf_clear(&name);
		analysis_name(analysis_frame(a, frame), &name);
		printf("  [%2u] ", trace->count - i + 1);
		terminal_text(noise ? STYLE_DIM : STYLE_PLAIN,
			      buf_text(&name) ? buf_text(&name) : "",
			      t->width - 8 - (noise ? 9 : 0));
		puts(noise ? "  [noise]" : "");
	}
}

static void analyze_text_put_stacks(const struct text *t, const char *heading,
				    const struct analysis_traces *traces, uint32_t most)
{
	char amount[32];

	terminal_heading(heading);
	for (uint32_t i = 0; i < traces->count && i < most; i++) {
		printf("%s#%u: %s (%.1f %%)\n", i ? "\n" : "", i + 1,
		       analysis_amount(amount, traces->list[i].value, t->report->counts),
		       analysis_percent(t->result, traces->list[i].value));
		analyze_text_put_stack(t, &traces->list[i]);
	}
}

/* ---- search and drill ---- */

static void put_part(const struct text *t, const char *what, const char *name, uint64_t value,
		     uint64_t traces)
{
	char line[FINDING_TEXT], amount[32], count[32];

	snprintf(line, sizeof(line), "%s \"%.100s\"", what, name);
	terminal_heading(line);
	printf("%s (%.1f %%) on %s stack trace%s\n",
	       analysis_amount(amount, value, t->report->counts),
	       analysis_percent(t->result, value), format_count(count, traces),
	       traces == 1 ? "" : "s");
}

static void put_search(const struct text *t, const struct analysis_search *s)
{
	put_part(t, "Search:", analysis_searched(t->result->analysis), s->value, s->traces);
	if (!s->traces)
		return;
	putchar('\n');
	analyze_text_put_traces(t, &s->top, 4);
	analyze_text_put_functions(t, "Who calls it",
				   "Functions next to it, one frame further out.", &s->callers, 0);
	analyze_text_put_functions(t, "What it calls",
				   "Functions next to it, one frame further in.", &s->callees, 0);
	analyze_text_put_stacks(t, "Its heaviest stacks", &s->top, ANALYSIS_SEARCH_FULL);
}

static void put_drill(const struct text *t, const struct analysis_drill *d)
{
	put_part(t, "Subsystem", d->name, d->value, d->traces.count);
	putchar('\n');
	analyze_text_put_traces(t, &d->traces, 0);
	if (d->traces.count)
		analyze_text_put_stacks(t, "Its heaviest stacks", &d->traces, ANALYSIS_DRILL_FULL);
}

static void put_next(const struct text *t)
{
	char command[REPORT_NEXT], why[REPORT_NEXT], typed[REPORT_NEXT];

	terminal_heading("What to ask next");
	for (unsigned i = 0; report_next(t->report, i, command, why); i++) {
		terminal_blanks(2);
		terminal_line(STYLE_BOLD, program_text(typed, sizeof(typed), command), 0);
		terminal_blanks(6);
		analyze_text_put_name(t, STYLE_DIM, why, 6);
	}
}

static void put_report(const struct text *t)
{
	const struct analysis_result *r = t->result;

	analyze_text_put_findings(t);
	analyze_text_put_subsystems(t);
	put_summary(t);
	analyze_text_put_functions(
		t, "Why: the outermost functions that mean something",
		"The operations that began it; what only leads to them is skipped.", &r->outermost,
		10);
	analyze_text_put_functions(
		t, "Where: the innermost functions that mean something",
		"The code that asked for memory; allocators and containers are skipped.",
		&r->innermost, 0);
	analyze_text_put_functions(t, "Its callers", "The functions that called those.",
				   &r->callers, 0);
	terminal_heading("The heaviest stack traces");
	analyze_text_put_traces(t, &r->top, 4);
	analyze_text_put_stacks(t, "Full stacks", &r->top, ANALYSIS_FULL);
}

void analyze_text(const struct analysis_report *report)
{
	struct text text = {report, report->result, terminal_width()}, *t = &text;

	analyze_text_put_head(t);
	if (report->result->search)
		put_search(t, report->result->search);
	if (report->result->drill)
		put_drill(t, report->result->drill);
	if (!report->result->search && !report->result->drill)
		put_report(t);
	put_next(t);
}
