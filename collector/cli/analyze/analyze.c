/* collector analyze: finds what is remarkable in a profile by rules, so that nobody has to explain
 * the profile. */
#include "collector/cli/analyze/analyze.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "collector/cli/ask/kind.h"
#include "collector/cli/output.h"
#include "collector/answers/json.h"

#include "base/ban.h"

/* Finds a subsystem by its name, by a unique beginning of it, or as "(other)". Returns an exit
 * status. */
static int find_subsystem(struct analyze *a, const char *name, uint32_t *ret_subsystem)
{
	uint32_t count = rules_subsystems(a->rules), matches = 0;
	size_t length = strlen(name);

	*ret_subsystem = RULES_NO_SUBSYSTEM;
	if (!strcasecmp(name, ANALYSIS_OTHER) || !strcasecmp(name, "other"))
		return EXIT_DONE;
	for (uint32_t i = 0; i < count; i++) {
		if (strncasecmp(rules_subsystem(a->rules, i), name, length))
			continue;
		*ret_subsystem = i;
		matches++;
		if (!rules_subsystem(a->rules, i)[length])
			return EXIT_DONE;
	}
	if (matches == 1 && length)
		return EXIT_DONE;
	program_printf(stderr,
		       "collector analyze: %s subsystem '%.100s' in the rules '%s'. There are:\n",
		       matches ? "more than one" : "there is no", name, rules_name(a->rules));
	for (uint32_t i = 0; i < count; i++)
		program_printf(stderr, "  %s\n", rules_subsystem(a->rules, i));
	program_printf(stderr, "  %s\n", ANALYSIS_OTHER);
	return EXIT_USAGE;
}

static int check_top(const struct analyze *a)
{
	if (!a->options->top || a->options->top > ANALYSIS_TOP_MAX)
		return command_usage_error(a->command, "--top takes a number from 1 to %d",
					   ANALYSIS_TOP_MAX);
	if (a->options->search && !*a->options->search)
		return command_usage_error(a->command,
					   "--search takes a part of a function's name");
	return EXIT_DONE;
}

int analyze_begin(struct analyze *a, bool recorded)
{
	const struct analyze_options *o = a->options;
	struct analysis_question question = {.top = (uint32_t)o->top,
					     .search = o->search,
					     .drills = o->drill,
					     .growth_known = recorded,
					     .blocks_known = recorded};
	struct err_text err = {0};
	int r, status = check_top(a);

	if (status)
		return status;
	r = rules_read(o->rules	   ? o->rules
		       : a->suited ? a->suited
				   : RULES_DEFAULT,
		       &a->rules, &err);
	if (r < 0)
		return command_input_fault(a->command, r, &err);
	if (o->drill)
		status = find_subsystem(a, o->drill, &question.drill);
	if (status)
		return status;
	question.rules = a->rules;
	r = analysis_new(&question, &a->analysis);
	if (r < 0)
		return command_fault(a->command, r, NULL);
	a->report = (struct analysis_report){.result = &a->result,
					     .source = a->source,
					     .rules = rules_name(a->rules),
					     .recorded = recorded};
	return EXIT_DONE;
}

static int analyze_write_json(struct analyze *a, const struct question *q)
{
	cleanup(buf_done) struct buf out = {0};
	struct json json;

	if (q) {
		question_json_begin(&json, &out, q);
		json_string(&json, "value", value_name(q->value));
	} else {
		output_json_begin(a->command, &json, &out);
	}
	report_json(&a->report, &json);
	json_end(&json, '}');
	buf_byte(&out, '\n');
	return output_write(a->command, "-", false, &out);
}

int analyze_show(struct analyze *a, const struct question *q)
{
	cleanup(buf_done) struct buf page = {0};
	int r = analysis_end(a->analysis, &a->result);

	if (r < 0)
		return command_fault(a->command, r, NULL);
	if (a->options->html) {
		report_page(&a->report, &page);
		return output_write(a->command, a->options->html, a->options->question.force,
				    &page);
	}
	if (a->options->question.common.json)
		return analyze_write_json(a, q);
	analyze_text(&a->report);
	return EXIT_DONE;
}

void analyze_done(struct analyze *a)
{
	analysis_free(a->analysis);
	rules_free(a->rules);
}

/* Refuses options of a report if no FILE or STREAM is named, because it is not clear which one is
 * meant. */
static int refuse_report(const struct command_call *call)
{
	const struct analyze_options *o = call->options;
	const struct question_options *q = &o->question;
	const char *option = o->html		? "html"
			     : o->search	? "search"
			     : o->drill		? "drill"
			     : q->value		? "value"
			     : q->at		? "at"
			     : q->filters.count ? q->filters.list[0].name
						: NULL;

	if (!option)
		return EXIT_DONE;
	return command_usage_error(call->command,
				   "--%s of what? Name a FILE of collapsed stacks or a STREAM "
				   "('last'); 'collector analyze' alone lists the files here",
				   option);
}

static int analyze_run(struct command_call *call)
{
	struct analyze_options *o = call->options;
	const char *format = o->question.format;

	if (format && strcmp(format, "memtracer") && strcmp(format, "text"))
		return command_usage_error(call->command,
					   "--format takes text or memtracer, not '%s'", format);
	if (o->memtracer || (format && !strcmp(format, "memtracer"))) {
		if (call->argument_count && analyze_is_file(call->arguments[0]))
			return command_usage_error(call->command,
						   "%s is a file of collapsed stacks, which does "
						   "not say how many allocations "
						   "there were, nor by which function: --format "
						   "memtracer takes a recording",
						   call->arguments[0]);
		return question_run_as(call, &memtracer_question);
	}
	if (o->stack_traces || o->minimum_size || o->minimum_count)
		return command_usage_error(call->command, "--%s goes with --format memtracer only",
					   o->stack_traces   ? "stack-traces"
					   : o->minimum_size ? "minimum-size"
							     : "minimum-count");
	if (!call->argument_count && o->question.common.select)
		return question_run_as(call, &analyze_question);
	if (!call->argument_count)
		return refuse_report(call) ? EXIT_USAGE : analyze_find(call);
	return analyze_is_file(call->arguments[0]) ? analyze_file(call)
						   : question_run_as(call, &analyze_question);
}

static const struct answer_field analyzed_fields[] = {
	ROW_INCOMPLETE,
	BY_HAND("process", ANSWER_OBJECT, NULL,
		"which program was recorded, and how; absent for a file of stacks",
		.of = &recorded_answer, .when = SOMETIMES),
	BY_HAND("value", ANSWER_TEXT, NULL, "what is counted; absent for a file of stacks",
		.when = SOMETIMES),
	ROWS_BY_HAND(analysis_answer),
	{0},
};
static const struct answer analyzed_answer = {"analyzed", analyzed_fields};

static const struct option analyze_table[] = {
	OPTION_TEXT(struct analyze_options, rules, "rules", "NAME",
		    "which functions are noise, and what the subsystems are: general, cxx, "
		    "python, clickhouse, or a file (docs/analyze.md); of a recording the ones that "
		    "suit the "
		    "program, else general"),
	OPTION_NUMBER(struct analyze_options, top, "top", "N",
		      "stack traces and functions listed (25)"),
	OPTION_TEXT(struct analyze_options, search, "search", "WORD",
		    "stack traces with this in a function's name, and the functions next to it"),
	OPTION_TEXT(struct analyze_options, drill, "drill", "SUBSYSTEM",
		    "all stack traces of a subsystem, or a unique beginning of its name"),
	OPTION_TEXT(struct analyze_options, html, "html", "FILE",
		    "write a page to read and to print; - is standard output"),
	OPTION_FORCE,
	OPTION_TEXT(struct question_options, weight, "weight", "WHAT",
		    "what the numbers are: bytes (the default) or blocks"),
	OPTION_TEXT(struct question_options, format, "format", "FORMAT",
		    "text (the default), or memtracer: a line a call site and allocating function"),
	{0},
};

static const struct option memtracer_table[] = {
	OPTION_FLAG(struct analyze_options, memtracer, "memtracer",
		    "the same as --format memtracer"),
	OPTION_FLAG(struct analyze_options, stack_traces, "stack-traces",
		    "with the heaviest stack trace of each line"),
	OPTION_SIZE(struct analyze_options, minimum_size, "minimum-size", "SIZE",
		    "only lines with so many bytes or more"),
	OPTION_NUMBER(struct analyze_options, minimum_count, "minimum-count", "N",
		      "only lines with so many allocations or more"),
	OPTION_TEXT(struct question_options, output, "output", "FILE", "write it here"),
	{0},
};

static const struct option_group groups[] = {
	{NULL, analyze_table},
	{"Of --format memtracer", memtracer_table},
	{"What to look at (of a recording)", value_table},
	{"Also (of a recording)", question_table},
	{"Filters (of a recording): only allocations that fit are counted", filter_table},
	{"Common options", answer_table},
	{0},
};

static const struct analyze_options defaults = {.question.common.data = DEFAULT_DATA,
						.top = ANALYSIS_TOP};

const struct command command_analyze = {
	.name = "analyze",
	.work = "analyzing",
	.answers = {&analyzed_answer, &memtracer_answer, &candidates_answer},
	.summary = "a report on a profile: who, why, what stands out",
	.usage = "[OPTION...] [FILE|STREAM]",
	.about = "Reads a file of collapsed stacks (lines `frame;frame;frame BYTES`, as jeprof,\n"
		 "async-profiler and perf write them; - is standard input) or a recording, and\n"
		 "shows totals, findings, subsystems, the operations that allocated and the code\n"
		 "that did, and the heaviest stack traces. Without FILE it lists the *.collapsed\n"
		 "and *.folded files here and up to two folders below.\n",
	.examples = "  collector analyze profile.collapsed --rules clickhouse\n"
		    "  collector analyze last --value leaked --html report.html\n"
		    "  collector analyze last --search parse\n"
		    "  collector analyze last --format memtracer --minimum-count 100\n",
	.groups = groups,
	.options_size = sizeof(struct analyze_options),
	.defaults = &defaults,
	.arguments_max = 1,
	.run = analyze_run,
};
