/* collector report: shows on one page where the memory of a program went. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cli/program.h"
#include "base/parse.h"
#include "collector/cli/ask/header.h"
#include "collector/cli/ask/kind.h"
#include "collector/cli/ask/sites.h"
#include "collector/cli/terminal.h"
#include "collector/answers/results.h"

#include "base/ban.h"

struct told_report {
	struct overview overview;
	const struct recorded *recorded;
};

/* Tells whether there are estimates. Their errors make the columns wider, and leave less room for
 * remarks. */
static bool has_errors(const struct report *r)
{
	return r->allocated.bytes_error > 0 || r->freed.bytes_error > 0 ||
	       r->leaked.bytes_error > 0 || r->peak.bytes_error > 0;
}

static void print_row(bool wide, const char *name, const char *bytes, const char *blocks,
		      const char *remark)
{
	printf("  %-10s %*s  %*s  %s\n", name, wide ? 21 : 12, bytes, wide ? 20 : 14, blocks,
	       remark);
}

static void print_nothing(const struct question *q, const char *name, const struct usage *usage)
{
	char most[32], text[64];

	snprintf(text, sizeof(text), "0 B + %s", format_size(most, usage_unseen(q, usage)));
	print_row(true, name, text, "0", "no sample");
}

/* Prints a total. For an estimate, the number of samples replaces the remark, unless the remark
 * belongs to this row. */
static void print_total(const struct question *q, bool wide, const char *name,
			const struct usage *usage, const char *remark, bool own)
{
	char bytes[80], blocks[80], samples[48];

	if (q->recorded.sampled && !usage->blocks) {
		print_nothing(q, name, usage);
		return;
	}
	usage_bytes(bytes, sizeof(bytes), usage);
	usage_blocks(blocks, sizeof(blocks), usage);
	usage_samples(samples, sizeof(samples), usage);
	print_row(wide, name, bytes, blocks, samples[0] && !own ? samples : remark);
}

static void print_totals(const struct question *q, const struct report *r)
{
	char peak[80], at[32], text[80], count[32];
	uint64_t share = r->duration_ns ? r->peak_ns * 100 / r->duration_ns : 0;
	bool wide = q->recorded.sampled || has_errors(r);

	putchar('\n');
	terminal_line(STYLE_DIM,
		      wide ? "                             BYTES                BLOCKS"
			   : "                    BYTES          BLOCKS",
		      0);
	snprintf(text, sizeof(text), "from %s%s", format_count(count, r->distinct_stacks),
		 r->distinct_stacks == 1 ? " backtrace" : " different backtraces");
	print_total(q, wide, "allocated", &r->allocated, text, false);
	print_total(q, wide, "freed", &r->freed,
		    q->recorded.live ? "freed so far" : "freed before the end", false);
	print_total(q, wide, question_leaked_name(q), &r->leaked,
		    q->recorded.live ? "at the last moment recorded" : question_unfreed(q, false),
		    false);
	snprintf(peak, sizeof(peak), "%sat %s (%llu %%)", wide ? "" : "in use at the peak, ",
		 format_duration(at, r->peak_ns), (unsigned long long)share);
	print_total(q, wide, "peak", &r->peak, peak, true);
	if (wide)
		printf("  The blocks came %s.\n", text);
	if (r->failed)
		printf("  %s allocation%s failed\n", format_count(count, r->failed),
		       r->failed == 1 ? "" : "s");
}

/* Formats how much of the resident memory is not shared. This figure costs more to read, so it may
 * be older than the others. */
static void share_text(char *out, size_t size, const struct figures_info *last)
{
	char share[32], at[32];

	if (last->detailed_ns == NO_TIME)
		*out = '\0';
	else if (last->detailed_ns == last->time_ns)
		snprintf(out, size, " (%s of it its own share)",
			 format_size(share, (double)last->pss));
	else
		snprintf(out, size, " (its own share was %s at %s)",
			 format_size(share, (double)last->pss),
			 format_duration(at, last->detailed_ns));
}

/* Prints the kernel's figures. The peak covers the time until the last look. With `whole`, the
 * kernel also reported the peak at the end, so it covers the whole life. */
static void print_process(const struct figures_info *last, const struct figures_info *most,
			  bool whole)
{
	char now[32], peak[32], share[80], minor[32], major[32], at[32];

	share_text(share, sizeof(share), last);
	terminal_say(STYLE_PLAIN, 2,
		     "Resident: %s at the last look, at %s%s; %s at most%s; %s minor and %s major "
		     "page faults",
		     format_size(now, (double)last->rss), format_duration(at, last->time_ns), share,
		     format_size(peak, (double)most->rss_peak), whole ? "" : " until then",
		     format_count(minor, last->minor_faults),
		     format_count(major, last->major_faults));
}

static void print_allocator(const struct allocator_info *a)
{
	char used[32], unused[32], top[32], mapped[32], at[32];

	terminal_say(STYLE_PLAIN, 2,
		     "Allocator, as of %s: %s in use and %s free in its arenas (%s of that at the "
		     "top), %s in mappings of single blocks",
		     format_duration(at, a->time_ns), format_size(used, (double)a->uordblks),
		     format_size(unused, (double)a->fordblks),
		     format_size(top, (double)a->keepcost), format_size(mapped, (double)a->hblkhd));
}

/* Prints the figures of the process. */
static void report_print_figures(const struct recorded *r)
{
	uint64_t peak = r->process.rss_peak;
	char most[32];

	if (r->has_figures)
		print_process(&r->figures, &r->figures_most, peak != 0);
	else if (peak) /* the process ended before its other figures were read */
		terminal_say(STYLE_PLAIN, 2, "Resident: %s at most",
			     format_size(most, (double)peak));
	if (r->has_allocator)
		print_allocator(&r->allocator);
}

static void print_sites(const struct question *q, const char *heading,
			const struct ranking *ranking, size_t count)
{
	struct site_table table = {
		.count = count, .noun = "call site", .backtraces = &ranking->backtraces};

	if (!ranking->sites.count)
		return;
	terminal_heading(heading);
	sites_print(q, &ranking->sites, &table);
}

#define NEXT	     3
#define NEXT_COMMAND 200
#define NEXT_REMARK  46 /* columns of the longest remark, and the blanks around it */

static void print_next(const struct question *q)
{
	static const struct {
		const char *command, *options, *says;
	} next[NEXT] = {
		{"top", " --value peak", "who held most at the peak, with backtraces"},
		{"leaks", "", "what was not freed"},
		{"flamegraph", "", "a picture for the browser"},
	};
	char typed[NEXT][NEXT_COMMAND];
	unsigned widest = 0, columns;
	bool apart;

	for (size_t i = 0; i < NEXT; i++) {
		char line[NEXT_COMMAND - 16];

		snprintf(line, sizeof(line), "collector %s %.120s%s", next[i].command, q->stream,
			 next[i].options);
		columns = terminal_columns(program_text(typed[i], sizeof(typed[i]), line));
		widest = columns > widest ? columns : widest;
	}
	apart = widest + NEXT_REMARK > terminal_width(); /* remark on a line of its own */
	terminal_heading("Next");
	for (size_t i = 0; i < NEXT; i++) {
		terminal_blanks(2);
		columns = terminal_text(STYLE_PLAIN, typed[i], 0);
		if (apart)
			putchar('\n');
		terminal_blanks(apart ? 6 : widest - columns + 2);
		terminal_paragraph(STYLE_PLAIN, next[i].says, apart ? 6 : widest + 4);
	}
}

static int report_print(struct question *q)
{
	const struct told_report *told = q->result;
	const struct overview *a = &told->overview;
	size_t count = q->options->count;

	header_print(q);
	if (question_is_filtered(q) && !matches_print(q, a->report.allocated.blocks))
		return EXIT_DONE;
	print_totals(q, &a->report);
	report_print_figures(&q->recorded);
	print_sites(q, "Most allocated, by call site", &a->allocated, count);
	print_sites(q, "Most in use at the peak", &a->peak, (count + 1) / 2);
	print_sites(q, q->recorded.live ? "Most in use now" : question_unfreed(q, true), &a->leaked,
		    (count + 1) / 2);
	hidden_print(q, 0);
	ledger_verdict_print(q);
	notes_print(q);
	print_next(q);
	return EXIT_DONE;
}

#define ANSWER_OF struct told_report
#define SITES(member, text)                                                                        \
	ROW_PAGE("sites_" #member, overview.member.sites.list, overview.member.sites.count,        \
		 group_answer, text)
static const struct answer_field report_fields[] = {
	ROWS_OF(report_answer, overview.report),
	ROWS_OF(recorded_figures_answer, recorded, .behind = true),
	SITES(allocated, "call sites that allocated most"),
	SITES(peak, "call sites with most in use at the peak"),
	SITES(leaked, "call sites with most that was not freed"),
	{0},
};
#undef SITES
#undef ANSWER_OF
static const struct answer told_report_answer = {"report", report_fields};

static int report_ask(struct question *q, struct err_text *err)
{
	struct told_report *told = q->result;

	told->recorded = &q->recorded;
	return query_overview(q->view, &q->filter, &told->overview, err);
}

static void report_done(void *result)
{
	overview_done(&((struct told_report *)result)->overview);
}

static const struct question_kind report_question = {
	.value = VALUE_ALLOCATED,
	.tells_notes = true,
	.tells_hidden = true,
	ASKED(struct told_report, report_ask, report_print, &told_report_answer, report_done),
};

static const struct option report_table[] = {
	OPTION_COUNT("call sites shown"),
	OPTION_FAIL_IF,
	OPTIONS_OF_NAMES,
	{0},
};

static const struct option_group groups[] = {
	{NULL, report_table},
	FILTER_GROUPS,
};

const struct command command_report = {
	.name = "report",
	.summary = "where the memory of a program went, on one page",
	.usage = "[OPTION...] [STREAM]",
	.about =
		"Totals (allocated, freed, never freed, in use at the peak), the call sites\n"
		"that matter most, and whether anything was lost on the way.\n\n"
		"A call site is the innermost function of a backtrace that does not only pass the\n"
		"allocation on (as malloc wrappers and the C++ containers do).\n",
	.examples = "  collector report last\n"
		    "  collector report last --function-regex '^parse_' --size-min 4K\n",
	.groups = groups,
	.defaults = &question_defaults,
	ASKS(report_question),
};
