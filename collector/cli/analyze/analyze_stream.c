/* collector analyze STREAM: analyses the matched allocations of a recording. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/analyze/recorded.h"
#include "collector/cli/analyze/analyze.h"
#include "collector/cli/ask/kind.h"
#include "collector/cli/output.h"

#include "base/ban.h"

/* Formats the options of the question for follow-up commands: "--value leaked --size-min 4096".
 * Leaves out options that do not fit, and values that a shell would change. */
static void repeat_options(const struct question *q, const struct question_options *o, char *out,
			   size_t size)
{
	size_t n = 0;

	*out = 0;
	if (o->value || q->value != VALUE_ALLOCATED)
		n += (size_t)snprintf(out, size, "--value %s", value_name(q->value));
	if (o->at && n < size)
		n = (size_t)snprintf(out, size, "--at %s", o->at);
	if (o->weight && n < size)
		n += (size_t)snprintf(out + n, size - n, "%s--weight %s", n ? " " : "", o->weight);
	for (size_t i = 0; i < o->filters.count; i++) {
		const struct option_pair *pair = &o->filters.list[i];

		if (strpbrk(pair->value, " \t\n'\"\\$`|&;<>()*?[]#~!{}") || n >= size)
			continue;
		n += (size_t)snprintf(out + n, size - n, "%s--%s %s", n ? " " : "", pair->name,
				      pair->value);
	}
	if (n >= size)
		*out = 0;
}

/* Formats the first line. It tells a user without options what the numbers are, and which others
 * there are. */
static void describe_counted(const struct question *q, char *out, size_t size)
{
	static const char *const says[] = {
		[VALUE_ALLOCATED] = "all that was allocated, freed again or not (--value leaked, "
				    "in-use or peak: what was held)",
		[VALUE_LEAKED] = "what was ",
		[VALUE_FREED] = "what was freed again",
		[VALUE_IN_USE] = "what was in use",
		[VALUE_PEAK] = "what was in use at the peak",
	};
	char at[32], when[64] = "";

	if (q->value == VALUE_IN_USE && q->at_ns != NO_TIME)
		snprintf(when, sizeof(when), " at %s", format_duration(at, q->at_ns));
	snprintf(out, size, "Counted: %s%s%s", says[q->value],
		 q->value == VALUE_LEAKED ? q->recorded.unfreed : "", when);
}

static void analyze_stream_describe(const struct question *q, char *out, size_t size)
{
	const struct process_info *p = &q->recorded.process;

	snprintf(out, size, "pid %u on %.100s%s%s", p->pid, p->host && p->host[0] ? p->host : "?",
		 q->recorded.live ? "; it goes on, as far as its end was not seen" : "",
		 q->recorded.sampled ? "; estimated from samples" : "");
}

static int analyze_stream_show(struct question *q, struct analyze *a, enum export_weight weight)
{
	const struct process_info *p = &q->recorded.process;
	char options[160], about[320], counted[160];
	struct err_text err = {0};
	int r = output_apart(a->options->html, q->path, &err);

	if (!r)
		r = analysis_add_view(a->analysis, q->view, &q->filter, q->value, q->at_ns,
				      weight == EXPORT_BLOCKS, &err);

	if (r < 0)
		return question_failed(q, r, &err);
	repeat_options(q, &a->options->question, options, sizeof(options));
	analyze_stream_describe(q, about, sizeof(about));
	describe_counted(q, counted, sizeof(counted));
	a->report.counts = weight == EXPORT_BLOCKS;
	a->report.options = options;
	a->report.about = about;
	a->report.counted = counted;
	a->report.incomplete = q->recorded.completeness.line;
	a->report.title = p->command_line && p->command_line[0] ? p->command_line
			  : p->name				? p->name
								: "?";
	return analyze_show(a, q);
}

static int analyze_stream_print(struct question *q)
{
	const struct question_options *o = q->options;
	struct analyze a = {.command = q->command,
			    .options = (const struct analyze_options *)o,
			    .source = q->stream};
	enum export_weight weight;
	int status = output_weight(q->command, o->weight, &weight);

	a.suited = recorded_rules(q->view);
	if (!status)
		status = analyze_begin(&a, true);
	if (!status)
		status = analyze_stream_show(q, &a, weight);
	analyze_done(&a);
	return status;
}

const struct question_kind analyze_question = {.value = VALUE_ALLOCATED,
					       .print = analyze_stream_print};
