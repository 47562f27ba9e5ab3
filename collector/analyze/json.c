/* Writes a report as JSON. */
#include <stdio.h>

#include "base/buf.h"
#include "collector/analyze/report.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"

#include "base/ban.h"

/* ---- members ---- */

static const char *const kinds[] = {
	[FINDING_SITE] = "site",
	[FINDING_TRACES] = "traces",
	[FINDING_DOMINATES] = "subsystem",
	[FINDING_UNKNOWN_PART] = "no-subsystem",
	[FINDING_REPEATED] = "repeated",
	[FINDING_GROWTH] = "growth",
	[FINDING_GROWTH_SITE] = "growth-site",
	NULL,
};
static const char *const units[] = {"bytes", "blocks", NULL};

#define AMOUNT                                                                                     \
	BY_HAND("value", ANSWER_U64, "bytes or blocks", ""),                                       \
		BY_HAND("percent", ANSWER_DOUBLE, NULL, "of the total")
#define TRACES BY_HAND("traces", ANSWER_U64, "backtraces", "that it is in")
#define LISTED(name, answer, text)                                                                 \
	BY_HAND(name, ANSWER_OBJECT, NULL, text, .of = &(answer), .shape = ANSWER_LIST)

static const struct answer_field frame_fields[] = {
	BY_HAND("name", ANSWER_TEXT, NULL, ""),
	BY_HAND("noise", ANSWER_BOOL, NULL, "true: the rules say that it explains nothing"),
	{0},
};
static const struct answer frame_answer = {"analysis_frame", frame_fields};

static const struct answer_field trace_fields[] = {
	AMOUNT,
	BY_HAND("blocks", ANSWER_U64, "blocks", "", .when = SOMETIMES),
	BY_HAND("subsystem", ANSWER_TEXT, NULL, "name of its subsystem; null: none",
		.may_be_null = true),
	BY_HAND("brief", ANSWER_TEXT, NULL, "the frames that tell most, in one line"),
	LISTED("frames", frame_answer, "frames, the innermost first"),
	{0},
};
static const struct answer trace_answer = {"analysis_trace", trace_fields};

static const struct answer_field function_fields[] = {
	BY_HAND("function", ANSWER_TEXT, NULL, ""),
	AMOUNT,
	TRACES,
	BY_HAND("grown", ANSWER_U64, NULL, "allocations of containers that grew"),
	{0},
};
static const struct answer function_answer = {"analysis_function", function_fields};

static const struct answer_field functions_fields[] = {
	BY_HAND("count", ANSWER_U64, NULL, "number of functions"),
	LISTED("functions", function_answer, "the heaviest functions"),
	{0},
};
static const struct answer functions_answer = {"analysis_functions", functions_fields};

static const struct answer_field subsystem_fields[] = {
	BY_HAND("name", ANSWER_TEXT, NULL, "name of the subsystem; null: stacks of no subsystem",
		.may_be_null = true),
	AMOUNT,
	TRACES,
	{0},
};
static const struct answer subsystem_answer = {"subsystem", subsystem_fields};

static const struct answer_field finding_fields[] = {
	BY_HAND("kind", ANSWER_WORD, NULL, "what kind of thing was found", .words = kinds),
	BY_HAND("name", ANSWER_TEXT, NULL,
		"name of the function or subsystem; null: the finding is about neither",
		.may_be_null = true),
	AMOUNT,
	TRACES,
	BY_HAND("headline", ANSWER_TEXT, NULL, "the finding in a few words"),
	BY_HAND("text", ANSWER_TEXT, NULL, "the finding in a sentence or two"),
	{0},
};
static const struct answer finding_answer = {"finding", finding_fields};

static const struct answer_field next_fields[] = {
	BY_HAND("command", ANSWER_TEXT, NULL, ""),
	BY_HAND("why", ANSWER_TEXT, NULL, "what the command tells"),
	{0},
};
static const struct answer next_answer = {"next", next_fields};

/* These rows are the same as in the REST API, where nothing is searched and blocks are known. */
static const struct answer_field report_fields[] = {
	BY_HAND("source", ANSWER_TEXT, NULL, "name of the file or recording, as it was given"),
	BY_HAND("rules", ANSWER_TEXT, NULL, "the rules that were used"),
	BY_HAND("unit", ANSWER_WORD, NULL, "unit of all values", .words = units),
	BY_HAND("total", ANSWER_U64, "bytes or blocks", "all together"),
	BY_HAND("total_capped", ANSWER_BOOL, NULL, "true: the total was more than can be counted"),
	BY_HAND("blocks", ANSWER_U64, "blocks", "all blocks together", .when = SOMETIMES),
	BY_HAND("stack_traces", ANSWER_U64, "backtraces", ""),
	BY_HAND("functions", ANSWER_U64, NULL, "functions in these backtraces"),
	BY_HAND("grown", ANSWER_U64, NULL, "allocations of containers that grew"),
	BY_HAND("note", ANSWER_TEXT, NULL, "what was left out; null: nothing", .may_be_null = true),
	LISTED("top", trace_answer, "the heaviest backtraces"),
	BY_HAND("outermost", ANSWER_OBJECT, NULL, "functions in which backtraces begin",
		.of = &functions_answer),
	BY_HAND("innermost", ANSWER_OBJECT, NULL, "functions in which backtraces end",
		.of = &functions_answer),
	BY_HAND("callers", ANSWER_OBJECT, NULL, "callers of what allocated, without noise",
		.of = &functions_answer),
	LISTED("subsystems", subsystem_answer, "subsystems, the heaviest first"),
	LISTED("findings", finding_answer, "what stands out"),
	LISTED("next", next_answer, "commands to ask next"),
	{0},
};
const struct answer analysis_answer = {"analysis", report_fields};

/* ---- writing ---- */

static void json_put_amount(const struct analysis_report *report, struct json *json, uint64_t value)
{
	json_u64(json, "value", value);
	json_double(json, "percent", analysis_percent(report->result, value));
}

static void json_put_frames(const struct analysis_report *report, struct json *json,
			    const struct analysis_trace *trace)
{
	const struct analysis *a = report->result->analysis;

	json_array(json, "frames"); /* innermost first */
	for (uint32_t i = trace->count; i; i--) {
		json_object(json, NULL);
		json_string(json, "name", analysis_frame(a, trace->frames[i - 1]));
		json_bool(json, "noise", analysis_is_noise(a, trace->frames[i - 1]));
		json_end(json, '}');
	}
	json_end(json, ']');
}

static void json_put_traces(const struct analysis_report *report, struct json *json,
			    const char *key, const struct analysis_traces *traces)
{
	const struct analysis_result *r = report->result;
	struct buf brief = {0};

	json_array(json, key);
	for (uint32_t i = 0; i < traces->count; i++) {
		const struct analysis_trace *t = &traces->list[i];

		buf_clear(&brief);
		analysis_brief(r->analysis, t, &brief);
		json_object(json, NULL);
		json_put_amount(report, json, t->value);
		if (r->blocks_known)
			json_u64(json, "blocks", t->blocks);
		json_string(json, "subsystem", analysis_subsystem_name(r->analysis, t->subsystem));
		json_string(json, "brief", buf_text(&brief));
		json_put_frames(report, json, t);
		json_end(json, '}');
	}
	json_end(json, ']');
	buf_done(&brief);
}

static void json_put_functions(const struct analysis_report *report, struct json *json,
			       const char *key, const struct analysis_functions *f)
{
	json_object(json, key);
	json_u64(json, "count", f->of);
	json_array(json, "functions");
	for (uint32_t i = 0; i < f->count; i++) {
		json_object(json, NULL);
		json_string(json, "function", f->list[i].name);
		json_put_amount(report, json, f->list[i].value);
		json_u64(json, "traces", f->list[i].traces);
		json_u64(json, "grown", f->list[i].grown);
		json_end(json, '}');
	}
	json_end(json, ']');
	json_end(json, '}');
}

static void json_put_subsystems(const struct analysis_report *report, struct json *json)
{
	const struct analysis_result *r = report->result;

	json_array(json, "subsystems");
	for (uint32_t i = 0; i < r->subsystem_count; i++) {
		json_object(json, NULL);
		json_string(json, "name", r->subsystems[i].name);
		json_put_amount(report, json, r->subsystems[i].value);
		json_u64(json, "traces", r->subsystems[i].traces);
		json_end(json, '}');
	}
	json_end(json, ']');
}

static void json_put_findings(const struct analysis_report *report, struct json *json)
{
	const struct analysis_result *r = report->result;
	char headline[FINDING_TEXT], sentence[FINDING_TEXT];

	json_array(json, "findings");
	for (uint32_t i = 0; i < r->finding_count; i++) {
		const struct analysis_finding *f = &r->findings[i];

		analysis_finding_text(r, f, report->counts, headline, sentence);
		json_object(json, NULL);
		json_string(json, "kind", kinds[f->kind]);
		json_string(json, "name", f->name);
		json_put_amount(report, json, f->value);
		json_u64(json, "traces", f->traces);
		json_string(json, "headline", headline);
		json_string(json, "text", sentence);
		json_end(json, '}');
	}
	json_end(json, ']');
}

static void put_asked(const struct analysis_report *report, struct json *json)
{
	const struct analysis_search *s = report->result->search;
	const struct analysis_drill *d = report->result->drill;

	if (s) {
		json_object(json, "search");
		json_put_amount(report, json, s->value);
		json_u64(json, "traces", s->traces);
		json_put_traces(report, json, "top", &s->top);
		json_put_functions(report, json, "callers", &s->callers);
		json_put_functions(report, json, "callees", &s->callees);
		json_end(json, '}');
	}
	if (d) {
		json_object(json, "drill");
		json_string(json, "subsystem", d->name);
		json_put_amount(report, json, d->value);
		json_put_traces(report, json, "traces", &d->traces);
		json_end(json, '}');
	}
}

static void put_next(const struct analysis_report *report, struct json *json)
{
	char command[REPORT_NEXT], why[REPORT_NEXT];

	json_array(json, "next");
	for (unsigned i = 0; report_next(report, i, command, why); i++) {
		json_object(json, NULL);
		json_string(json, "command", command);
		json_string(json, "why", why);
		json_end(json, '}');
	}
	json_end(json, ']');
}

void report_json(const struct analysis_report *report, struct json *json)
{
	const struct analysis_result *r = report->result;

	json_string(json, "source", report->source);
	json_string(json, "rules", report->rules);
	json_string(json, "unit", units[report->counts]);
	json_u64(json, "total", r->total);
	json_bool(json, "total_capped", r->capped);
	if (r->blocks_known)
		json_u64(json, "blocks", r->blocks);
	json_u64(json, "stack_traces", r->stacks);
	json_u64(json, "functions", r->frames);
	json_u64(json, "grown", r->grown);
	json_string(json, "note", report->note);
	json_put_traces(report, json, "top", &r->top);
	json_put_functions(report, json, "outermost", &r->outermost);
	json_put_functions(report, json, "innermost", &r->innermost);
	json_put_functions(report, json, "callers", &r->callers);
	json_put_subsystems(report, json);
	json_put_findings(report, json);
	put_asked(report, json);
	put_next(report, json);
}
