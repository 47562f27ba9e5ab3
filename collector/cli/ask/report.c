/* collector report: shows on one page where the memory of a program went. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/ask/fail_if.h"
#include "collector/cli/ask/figures.h"
#include "collector/cli/ask/header.h"
#include "collector/cli/ask/question.h"
#include "collector/cli/ask/sites.h"
#include "collector/cli/output.h"
#include "collector/cli/terminal.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"
#include "collector/answers/unnamed.h"
#include "collector/answers/results.h"

#include "base/ban.h"

static void report_print_total(const char *name, const struct usage *usage, const char *remark)
{
	char bytes[80], blocks[32], samples[48];

	usage_samples(samples, sizeof(samples), usage);
	printf("  %-10s %12s  %14s  %s%s%s\n", name, usage_bytes(bytes, sizeof(bytes), usage),
	       format_count(blocks, usage->blocks), remark, samples[0] ? "; " : "", samples);
}

/* There is no sample of it. Then it is below 3 sample intervals in 95 of 100 cases, since exp(-3)
 * is 0.05. */
static void print_nothing(const struct question *q, const char *name, const struct usage *usage,
			  const char *remark)
{
	double bytes = fmax(3.0 * (double)q->recorded.most_interval, usage->bytes_error);
	char most[32], text[64];

	format_size(most, bytes);
	snprintf(text, sizeof(text), "0 B + %s", most);
	printf("  %-10s %12s  %14s  %s; no sample\n", name, text, "0", remark);
}

static void print_estimate(const struct question *q, const char *name, const struct usage *usage,
			   const char *remark)
{
	if (q->recorded.sampled && !usage->blocks)
		print_nothing(q, name, usage, remark);
	else
		report_print_total(name, usage, remark);
}

static void print_totals(const struct question *q, const struct report *r)
{
	char peak[80], at[32], text[80], count[32];
	uint64_t share = r->duration_ns ? r->peak_ns * 100 / r->duration_ns : 0;

	putchar('\n');
	terminal_line(STYLE_DIM, "                    BYTES          BLOCKS", 0);
	snprintf(text, sizeof(text), "from %s%s", format_count(count, r->distinct_stacks),
		 r->distinct_stacks == 1 ? " backtrace" : " different backtraces");
	print_estimate(q, "allocated", &r->allocated, text);
	print_estimate(q, "freed", &r->temporary,
		       q->recorded.live ? "freed so far" : "freed before the end");
	print_estimate(q, question_leaked_name(q), &r->leaked,
		       q->recorded.live ? "as of the last batch" : question_unfreed(q, false));
	snprintf(peak, sizeof(peak), "in use at the peak, at %s (%llu %%)",
		 format_duration(at, r->peak_ns), (unsigned long long)share);
	print_estimate(q, "peak", &r->peak, peak);
	if (r->failed)
		printf("  %s allocation%s failed\n", format_count(count, r->failed),
		       r->failed == 1 ? "" : "s");
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

static void print_next(const struct question *q)
{
	static const struct {
		const char *command, *says;
	} next[] = {
		{"top %s --value peak", "who held most at the peak, with backtraces"},
		{"leaks %s", "what was not freed"},
		{"flamegraph %s", "a picture for the browser"},
	};

	terminal_heading("Next");
	for (size_t i = 0; i < sizeof(next) / sizeof(next[0]); i++) {
		char command[160], line[256];

		snprintf(command, sizeof(command), "%.*s%.80s%s",
			 (int)strcspn(next[i].command, "%"), next[i].command, q->stream,
			 strchr(next[i].command, '%') + 2);
		snprintf(line, sizeof(line), "  collector %-30s %s", command, next[i].says);
		terminal_line(STYLE_PLAIN, line, 0);
	}
}

static int report_print_text(const struct question *q, const struct overview *a, size_t count)
{
	header_print(q);
	print_totals(q, &a->report);
	figures_print(&q->recorded);
	print_sites(q, "Most allocated, by call site", &a->allocated, count);
	print_sites(q, "Most in use at the peak", &a->peak, (count + 1) / 2);
	print_sites(q, q->recorded.live ? "Most in use now" : question_unfreed(q, true), &a->leaked,
		    (count + 1) / 2);
	ledger_verdict_print(q);
	notes_print(q);
	print_next(q);
	return EXIT_DONE;
}

static int print_answer_json(const struct question *q, const struct overview *a, size_t count)
{
	cleanup(buf_done) struct buf out = {0};
	struct site_table table = {.count = count};
	struct json json;

	header_json_begin(&json, &out, q);
	json_report(&json, &a->report);
	json_members(&json, &recorded_figures_answer, &q->recorded, NULL);
	json_bool(&json, "ledger_adds_up", q->recorded.completeness.adds_up);
	json_bool(&json, "ledger_complete", q->recorded.completeness.complete);
	sites_json(&json, "sites_allocated", q, &a->allocated.sites, &table);
	sites_json(&json, "sites_peak", q, &a->peak.sites, &table);
	sites_json(&json, "sites_leaked", q, &a->leaked.sites, &table);
	json_notes(&json, "notes", q->symbols);
	json_end(&json, '}');
	return output_json(q->command, stdout, &out);
}

static int report_run(struct command_call *call)
{
	const struct question_options *o = call->options;
	cleanup(overview_done) struct overview answer = {0};
	struct err_text err = {0};
	struct question q;
	int r, status = fail_if_check(call, o->fail_if);

	if (!status)
		status = question_open(call, VALUE_ALLOCATED, &q);
	if (status)
		return status;
	r = query_overview(q.view, &q.filter, &answer, &err);
	if (r < 0)
		status = question_failed(&q, r, &err);
	else if (o->common.json)
		status = print_answer_json(&q, &answer, o->count);
	else
		status = report_print_text(&q, &answer, o->count);
	status = fail_if_answer(&q, o->fail_if, status);
	question_close(&q);
	return status;
}

static const struct option report_table[] = {
	OPTION_NUMBER(struct question_options, count, "count", "N", "call sites shown (10)"),
	OPTION_FAIL_IF,
	SYMBOL_OPTIONS(struct question_options, symbols),
	OPTION_TEXT(struct question_options, hide_rules, "hide-rules", "FILE",
		    "functions that only pass allocations on, beside the ones that are known"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, report_table},
	{"Filters: only allocations that fit are counted", filter_table},
	{"Common options", common_table},
	{0},
};

static const struct question_options defaults = {.common.data = DEFAULT_DATA, .count = 10};

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
	.options_size = sizeof(struct question_options),
	.defaults = &defaults,
	.arguments_max = 1,
	.run = report_run,
};
