/* collector fleet: what differs between the boards and the builds of a fleet. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/answers/fleet.h"
#include "collector/answers/fleet_top.h"
#include "collector/answers/json.h"
#include "collector/cli/ask/fail_if.h"
#include "collector/cli/ask/symbol_sources.h"
#include "collector/cli/commands.h"
#include "collector/cli/fleet/fleet_source.h"
#include "collector/cli/fleet/fleet_top.h"
#include "collector/cli/output.h"
#include "collector/cli/progress.h"
#include "collector/cli/terminal.h"
#include "collector/fleet/source.h"
#include "collector/query/query.h"

#include "base/ban.h"

#define ROWS_SHOWN   10
#define BOARDS_SHOWN 5
#define BUILD_SHOWN  8 /* digits */
#define INDENT	     5

/* ---- as text ---- */

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* "1.5 MiB", "-12 B" */
static const char *bytes_text(char out[40], int64_t bytes)
{
	char size[32];

	snprintf(out, 40, "%s%s", bytes < 0 ? "-" : "",
		 format_size(size, bytes < 0 ? -(double)bytes : (double)bytes));
	return out;
}

/* "10 s", "2 min", "1 h 30 min" */
static const char *span_text(char out[32], uint64_t ns)
{
	static const struct {
		uint64_t seconds;
		const char *unit;
	} units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
	const size_t last = sizeof(units) / sizeof(*units) - 1;
	uint64_t seconds = ns / 1000000000, rest;
	size_t i = 0;

	while (i < last && seconds < units[i].seconds)
		i++;
	rest = i < last ? seconds % units[i].seconds / units[i + 1].seconds : 0;
	snprintf(out, 32, "%" PRIu64 " %s", seconds / units[i].seconds, units[i].unit);
	if (rest)
		snprintf(out + strlen(out), 32 - strlen(out), " %" PRIu64 " %s", rest,
			 units[i + 1].unit);
	return out;
}

/* A moment of the report: a time of day, or an age. */
static const char *moment_text(char out[32], const struct fleet_report *r, uint64_t ns)
{
	return r->by_age ? span_text(out, ns) : fleet_time_text(out, ns);
}

static void print_fleet(const struct fleet_report *r)
{
	char from[32], to[32], step[32];

	terminal_say(STYLE_PLAIN, 0,
		     "Fleet: %" PRIu64 " board%s, %" PRIu64 " program%s in %" PRIu64
		     " build%s, %" PRIu64 " stream%s; %u moment%s from %s to %s, every %s%s",
		     r->boards, plural(r->boards), r->programs, plural(r->programs), r->builds,
		     plural(r->builds), r->streams, plural(r->streams), r->moments,
		     plural(r->moments), moment_text(from, r, r->from_ns),
		     moment_text(to, r, r->to_ns), span_text(step, r->step_ns),
		     r->by_age ? ", since the start of each process" : "");
	if (r->unread)
		terminal_say(STYLE_YELLOW, 0,
			     "%" PRIu64 " stream%s could not be read. The first: %s", r->unread,
			     plural(r->unread), r->unread_why);
	fleet_left_out_print(&r->left_out);
	if (r->cut)
		terminal_say(STYLE_YELLOW, 0,
			     "There is older data; these are the last %u moments (a longer --step "
			     "reaches further)",
			     r->moments);
	if (r->too_short)
		terminal_say(STYLE_YELLOW, 0,
			     "%" PRIu64 " of %" PRIu64 " board%s cannot be judged: growth takes 8 "
			     "moments without a restart",
			     r->too_short, r->boards, plural(r->boards));
}

/* "1 of 200 boards: gw-17", or "12 of 200 boards: gw-17, gw-18 and 10 more" */
static void boards_text(struct buf *out, const struct fleet_finding *f)
{
	buf_printf(out, "%zu of %zu board%s", f->count, f->of, plural(f->of));
	for (size_t i = 0; i < f->count && i < BOARDS_SHOWN; i++)
		buf_printf(out, "%s %s", i ? "," : ":", f->boards[i].host);
	if (f->count > BOARDS_SHOWN)
		buf_printf(out, " and %zu more", f->count - BOARDS_SHOWN);
}

static bool is_growth(const struct fleet_finding *f)
{
	return f->kind == FLEET_LEAK_ON_BOARDS || f->kind == FLEET_GROWTH_IN_BUILD ||
	       f->kind == FLEET_GROWTH;
}

/* Prints "Leak: parse_header, in libhttp.so of gateway". */
static void print_kind(const struct fleet_finding *f)
{
	static const char *const words[FLEET_KINDS] = {
		[FLEET_LEAK_ON_BOARDS] = "Leak",
		[FLEET_GROWTH_IN_BUILD] = "Growth in build",
		[FLEET_GROWTH] = "Growth",
		[FLEET_MORE_IN_BUILD] = "More memory in build",
		[FLEET_MORE_ON_BOARDS] = "More memory",
	};
	char line[64];
	unsigned columns;

	snprintf(line, sizeof(line), "%s%s%.*s: ", words[f->kind], f->build ? " " : "", BUILD_SHOWN,
		 f->build ? f->build : "");
	columns = INDENT + terminal_text(STYLE_BOLD, line, 0);
	terminal_name(STYLE_RED, f->function ? f->function : "?", terminal_width() - columns);
	putchar('\n');
}

static void print_place(const struct fleet_finding *f)
{
	cleanup(buf_done) struct buf line = {0};

	if (f->module && strcmp(f->module, f->program) != 0)
		buf_printf(&line, "in %s of ", f->module);
	else
		buf_string(&line, "in ");
	buf_printf(&line, "%s, on ", f->program);
	boards_text(&line, f);
	terminal_say(STYLE_PLAIN, INDENT, "%s", buf_text(&line) ? buf_text(&line) : "?");
}

static void print_beside(const struct fleet_finding *f)
{
	char median[40], p95[40], whose[64] = "the other boards";

	if (f->of == f->count && !f->earlier)
		return;
	if (f->earlier)
		snprintf(whose, sizeof(whose), "boards with build %.*s before", BUILD_SHOWN,
			 f->earlier);
	terminal_say(STYLE_PLAIN, INDENT, "%s: median %s, 95 %% at most %s", whose,
		     bytes_text(median, f->others_median), bytes_text(p95, f->others_p95));
}

static void print_finding(const struct fleet_report *r, const struct fleet_finding *f,
			  size_t number)
{
	char bytes[40], when[32], since[64] = "during the whole time shown";

	printf("%3zu. ", number);
	print_kind(f);
	print_place(f);
	if (f->since_ns)
		snprintf(since, sizeof(since), r->by_age ? "from an age of %s on" : "since %s",
			 moment_text(when, r, f->since_ns));
	terminal_say(STYLE_PLAIN, INDENT, "%s %s%s%s, %s", is_growth(f) ? "grew by" : "held",
		     bytes_text(bytes, f->median), is_growth(f) ? "" : " more",
		     f->count > 1 ? " on the median board" : "", since);
	print_beside(f);
}

/* Says what could not have been told, too. */
static void print_nothing(const struct fleet_report *r)
{
	printf("\nNothing stands out.\n");
	if (r->most_boards < FLEET_BOARDS_LEAST)
		terminal_say(
			STYLE_PLAIN, 0,
			"Too few boards to tell that one differs from the others: that takes %u. "
			"The table and 'collector leaks' tell of each.",
			FLEET_BOARDS_LEAST);
	if (r->builds > r->programs && r->most_of_build < FLEET_BUILD_LEAST)
		terminal_say(STYLE_PLAIN, 0,
			     "Too few boards to compare builds: that takes %u with each.",
			     FLEET_BUILD_LEAST);
}

static void print_findings(const struct fleet_report *r, uint64_t count)
{
	if (r->finding_count)
		terminal_heading("What stands out");
	else
		print_nothing(r);
	for (size_t i = 0; i < r->finding_count && i < count; i++)
		print_finding(r, &r->findings[i], i + 1);
	if (r->finding_count > count)
		printf("and %zu more (--count)\n", (size_t)(r->finding_count - count));
}

/*
 * Prints what each function has grown by:
 *
 *	    GROWTH    MEDIAN        +-       P95  GROWING  FUNCTION
 *	  41.2 MiB       0 B       0 B  12.1 KiB    1/200  cache_put
 */
static void print_functions(const struct fleet_report *r, uint64_t count)
{
	terminal_heading("Growth by function, during the whole time shown");
	terminal_line(STYLE_DIM, "    GROWTH    MEDIAN        +-       P95    GROWING  FUNCTION",
		      0);
	for (size_t i = 0; i < r->function_count && i < count; i++) {
		const struct fleet_function *f = &r->functions[i];
		char growth[40], median[40], error[40], p95[40], growing[48];
		int columns;

		snprintf(growing, sizeof(growing), "%" PRIu64 "/%" PRIu64, f->growing, f->boards);
		columns = f->boards
				  ? printf("%10s %9s %9s %9s %10s  ", bytes_text(growth, f->growth),
					   bytes_text(median, f->median),
					   bytes_text(error, f->median_error),
					   bytes_text(p95, f->p95), growing)
				  : printf("%10s %9s %9s %9s %10s  ", "-", "-", "-", "-", "-");
		terminal_name(STYLE_PLAIN, f->function ? f->function : "?",
			      terminal_width() > (unsigned)columns + 8
				      ? terminal_width() - (unsigned)columns
				      : 8);
		putchar('\n');
		if (f->most_host && f->growing < f->boards) {
			terminal_blanks((unsigned)columns);
			terminal_text(STYLE_DIM, "most on ", 0);
			terminal_text(STYLE_DIM, f->most_host, 24);
			putchar('\n');
		}
	}
	if (r->function_count > count)
		printf("and %zu more (--count)\n", (size_t)(r->function_count - count));
}

static uint64_t rows_of(const struct fleet_options *o)
{
	return o->count != FLEET_COUNT_DEFAULT ? o->count : ROWS_SHOWN;
}

static int show(const struct command_call *call, const struct fleet_report *r)
{
	const struct fleet_options *o = call->options;
	char digest[FLEET_DIGEST_TEXT];
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	if (o->common.json) {
		output_json_begin(call->command, &json, &out);
		if (json_fleet(&json, r) < 0)
			return command_fault(call->command, -ENOMEM, NULL);
		json_end(&json, '}');
		return output_json(call->command, stdout, &out);
	}
	print_fleet(r);
	print_findings(r, rows_of(o));
	if (r->function_count)
		print_functions(r, rows_of(o));
	if (*fleet_digest(r, digest))
		printf("\nSHA-256 of the report (--json):\n%s\n", digest);
	return EXIT_DONE;
}

/* ---- --fail-if ---- */

#define VALUES (FLEET_KINDS + 7)

static void fleet_values(struct sql_named values[VALUES], const struct fleet_report *r)
{
	static const char *const names[FLEET_KINDS] = {
		[FLEET_LEAK_ON_BOARDS] = "leaks_on_boards",
		[FLEET_GROWTH_IN_BUILD] = "growths_in_builds",
		[FLEET_GROWTH] = "growths",
		[FLEET_MORE_IN_BUILD] = "more_in_builds",
		[FLEET_MORE_ON_BOARDS] = "more_on_boards",
	};
	double most = 0;

	for (size_t i = 0; i < FLEET_KINDS; i++)
		values[i] = (struct sql_named){names[i], 0};
	for (size_t i = 0; i < r->finding_count; i++) {
		values[r->findings[i].kind].value++;
		if ((double)r->findings[i].bytes > most)
			most = (double)r->findings[i].bytes;
	}
	values[FLEET_KINDS] = (struct sql_named){"findings", (double)r->finding_count};
	values[FLEET_KINDS + 1] = (struct sql_named){"most_bytes", most};
	values[FLEET_KINDS + 2] = (struct sql_named){"boards", (double)r->boards};
	values[FLEET_KINDS + 3] = (struct sql_named){"too_short", (double)r->too_short};
	values[FLEET_KINDS + 4] = (struct sql_named){"unread", (double)r->unread};
	values[FLEET_KINDS + 5] = (struct sql_named){"left_out", (double)r->left_out.count};
	values[FLEET_KINDS + 6] = (struct sql_named){NULL, 0};
}

static int fleet_judge(const struct command_call *call, const struct fleet_report *r)
{
	const struct fleet_options *o = call->options;
	struct sql_named values[VALUES];

	if (r->too_short == r->boards) {
		command_note(call->command,
			     "--fail-if can't be judged: no board has enough moments");
		return EXIT_FAULT;
	}
	fleet_values(values, r);
	return fail_if_judge(call->command, o->fail_if, values);
}

static int fleet_check(const struct command_call *call)
{
	const struct fleet_options *o = call->options;
	const struct fleet_report nothing = {0};
	struct sql_named values[VALUES];

	if (o->step_ns % 1000000000)
		return command_usage_error(call->command,
					   "--step takes whole seconds: 10s, 1m, 1h, 1d");
	if (o->align && strcmp(o->align, "clock") != 0 && strcmp(o->align, "start") != 0)
		return command_usage_error(call->command,
					   "--align takes \"clock\" or \"start\", not \"%.60s\"",
					   o->align);
	if (o->top || o->at)
		return fleet_top_check(call);
	if (!o->fail_if)
		return EXIT_DONE;
	fleet_values(values, &nothing);
	return fail_if_known(call->command, o->fail_if, values);
}

/* ---- asking ---- */

static int fleet_compare_of(const struct fleet_source *source, const struct fleet_options *o,
			    const struct site_rules *rules, void *ret_report, struct err_text *err)
{
	const struct fleet_question question = {
		.select = o->common.select,
		.last_ns = o->last_ns,
		.step_ns = o->step_ns,
		.by_age = o->align && !strcmp(o->align, "start"),
		.build_tag = o->by,
		.rules = rules,
		.progress = fleet_progress,
	};

	return fleet_compare(source, &question, ret_report, err);
}

static int fleet_run(struct command_call *call)
{
	const struct fleet_options *o = call->options;
	cleanup(fleet_report_done) struct fleet_report report = {0};
	struct err_text err = {0};
	int r, status = command_store_check(call->command, &o->common);

	if (!status)
		status = fleet_check(call);
	if (status)
		return status;
	if (o->top)
		return fleet_top_run(call);
	r = fleet_source_ask(o, fleet_compare_of, &report, &err);
	if (r == -ENODATA) {
		command_note(call->command, "%s", err_get(&err, r));
		return o->fail_if ? EXIT_FAULT : EXIT_NO;
	}
	if (r < 0)
		return command_input_fault(call->command, r, &err);
	status = show(call, &report);
	return status || !o->fail_if ? status : fleet_judge(call, &report);
}

static const struct option fleet_table[] = {
	OPTION_TIME(struct fleet_options, last_ns, "last", "TIME",
		    "only so long a time before the last data: 24h, 7d (all there is)"),
	OPTION_TIME(struct fleet_options, step_ns, "step", "TIME",
		    "time from moment to moment: 1m, 1h; 1d compares days at the same hour (48 "
		    "moments at most)"),
	OPTION_TEXT(struct fleet_options, align, "align", "HOW",
		    "compare boards at the same time of the clock (clock, the default), or each "
		    "process at the same time since its start (start)"),
	OPTION_TEXT(struct fleet_options, by, "by", "KEY",
		    "take the value of this tag for the build of a program that has it: version"),
	STORE_OPTION(struct fleet_options, store),
	OPTION_NUMBER(struct fleet_options, count, "count", "N", "rows shown (10; with --top 25)"),
	OPTION_TEXT(struct fleet_options, fail_if, "fail-if", "CONDITION",
		    "exit status 1 if it is true: 'growths_in_builds > 0 or most_bytes > 10M'; any "
		    "expression of SQL; an unknown name lists all there are"),
	{0},
};

static const struct option top_table[] = {
	OPTION_TEXT(struct fleet_options, top, "top", "WHAT",
		    "what is in use on all boards together, by function, site (a line of code) or "
		    "backtrace, instead of the comparison"),
	OPTION_TEXT(struct fleet_options, at, "at", "TIME",
		    "at this minute: '2026-11-30 14:05' (the last one of most boards)"),
	{0},
};

static const struct option symbol_table[] = {
	SYMBOL_OPTIONS(struct fleet_options, symbols),
	OPTION_TEXT(
		struct fleet_options, hide_rules, "hide-rules", "FILE",
		"functions that only pass allocations on, beside the ones that are known: a name a "
		"line, * at either end (docs/hide-rules.md)"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, fleet_table},
	{"What is in use", top_table},
	{"Names", symbol_table},
	{"Common options", common_table},
	{0},
};

static const struct fleet_options defaults = {.common.data = DEFAULT_DATA,
					      .count = FLEET_COUNT_DEFAULT};

const struct command command_fleet = {
	.name = "fleet",
	.answers = {&fleet_answer, &fleet_top_answer},
	.summary = "what grows on which boards and in which build, and since when",
	.usage = "[OPTION...]",
	.about = "Compares the boards of a fleet, function by function: what grows on some boards\n"
		 "and not on the others, what grows or holds more in a build than in the one\n"
		 "before, and what grows on most boards. Each finding says since when. A board\n"
		 "is a program on a host, in one build. The table shows how much each function\n"
		 "has grown: on all boards, on the median board with the error, and below which\n"
		 "value 95 % of the boards are.\n"
		 "\n"
		 "The same streams give the same report, byte for byte, and its SHA-256.\n"
		 "\n"
		 "--top tells who holds the memory of the whole fleet at one minute.\n",
	.work = "comparing boards",
	.examples =
		"  collector fleet\n"
		"  collector fleet --select 'executable=*/gateway' --last 24h\n"
		"  collector fleet --step 1d\n"
		"  collector fleet --top function --at '2026-11-30 14:05'\n"
		"  collector fleet --align start --by version --fail-if 'growths_in_builds > 0'\n",
	.groups = groups,
	.options_size = sizeof(struct fleet_options),
	.defaults = &defaults,
	.run = fleet_run,
};
