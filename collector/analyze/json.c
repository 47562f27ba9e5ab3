/* A report as JSON. */
#include <stdio.h>

#include "base/buf.h"
#include "collector/analyze/report.h"
#include "collector/export/export.h"

#include "base/ban.h"

static void put_amount(const struct analysis_report *report, struct json *json, uint64_t value)
{
	json_u64(json, "value", value);
	json_double(json, "percent", analysis_percent(report->result, value));
}

static void put_frames(const struct analysis_report *report, struct json *json,
		       const struct analysis_trace *trace)
{
	const struct analysis *a = report->result->analysis;

	json_array(json, "frames"); /* the innermost first */
	for (uint32_t i = trace->count; i; i--) {
		json_object(json, NULL);
		json_string(json, "name", analysis_frame(a, trace->frames[i - 1]));
		json_bool(json, "noise", analysis_is_noise(a, trace->frames[i - 1]));
		json_end(json, '}');
	}
	json_end(json, ']');
}

static void put_traces(const struct analysis_report *report, struct json *json, const char *key,
		       const struct analysis_traces *traces)
{
	const struct analysis_result *r = report->result;
	struct buf brief = {0};

	json_array(json, key);
	for (uint32_t i = 0; i < traces->count; i++) {
		const struct analysis_trace *t = &traces->list[i];

		buf_clear(&brief);
		analysis_brief(r->analysis, t, &brief);
		json_object(json, NULL);
		put_amount(report, json, t->value);
		if (r->blocks_known)
			json_u64(json, "blocks", t->blocks);
		json_string(json, "subsystem", analysis_subsystem_name(r->analysis, t->subsystem));
		json_string(json, "brief", buf_text(&brief));
		put_frames(report, json, t);
		json_end(json, '}');
	}
	json_end(json, ']');
	buf_done(&brief);
}

static void put_functions(const struct analysis_report *report, struct json *json, const char *key,
			  const struct analysis_functions *f)
{
	json_object(json, key);
	json_u64(json, "count", f->of);
	json_array(json, "functions");
	for (uint32_t i = 0; i < f->count; i++) {
		json_object(json, NULL);
		json_string(json, "function", f->list[i].name);
		put_amount(report, json, f->list[i].value);
		json_u64(json, "traces", f->list[i].traces);
		json_u64(json, "grown", f->list[i].grown);
		json_end(json, '}');
	}
	json_end(json, ']');
	json_end(json, '}');
}

static void put_subsystems(const struct analysis_report *report, struct json *json)
{
	const struct analysis_result *r = report->result;

	json_array(json, "subsystems");
	for (uint32_t i = 0; i < r->subsystem_count; i++) {
		json_object(json, NULL);
		json_string(json, "name", r->subsystems[i].name);
		put_amount(report, json, r->subsystems[i].value);
		json_u64(json, "traces", r->subsystems[i].traces);
		json_end(json, '}');
	}
	json_end(json, ']');
}

static void put_findings(const struct analysis_report *report, struct json *json)
{
	static const char *const kinds[] = {
		[FINDING_SITE] = "site",
		[FINDING_TRACES] = "traces",
		[FINDING_DOMINATES] = "subsystem",
		[FINDING_UNKNOWN_PART] = "no-subsystem",
		[FINDING_REPEATED] = "repeated",
		[FINDING_GROWTH] = "growth",
		[FINDING_GROWTH_SITE] = "growth-site",
	};
	const struct analysis_result *r = report->result;
	char headline[FINDING_TEXT], sentence[FINDING_TEXT];

	json_array(json, "findings");
	for (uint32_t i = 0; i < r->finding_count; i++) {
		const struct analysis_finding *f = &r->findings[i];

		analysis_finding_text(r, f, report->counts, headline, sentence);
		json_object(json, NULL);
		json_string(json, "kind", kinds[f->kind]);
		json_string(json, "name", f->name);
		put_amount(report, json, f->value);
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
		put_amount(report, json, s->value);
		json_u64(json, "traces", s->traces);
		put_traces(report, json, "top", &s->top);
		put_functions(report, json, "callers", &s->callers);
		put_functions(report, json, "callees", &s->callees);
		json_end(json, '}');
	}
	if (d) {
		json_object(json, "drill");
		json_string(json, "subsystem", d->name);
		put_amount(report, json, d->value);
		put_traces(report, json, "traces", &d->traces);
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
	json_string(json, "unit", report->counts ? "blocks" : "bytes");
	json_u64(json, "total", r->total);
	json_bool(json, "total_capped", r->capped);
	if (r->blocks_known)
		json_u64(json, "blocks", r->blocks);
	json_u64(json, "stack_traces", r->stacks);
	json_u64(json, "functions", r->frames);
	json_u64(json, "grown", r->grown);
	json_string(json, "note", report->note);
	put_traces(report, json, "top", &r->top);
	put_functions(report, json, "outermost", &r->outermost);
	put_functions(report, json, "innermost", &r->innermost);
	put_functions(report, json, "callers", &r->callers);
	put_subsystems(report, json);
	put_findings(report, json);
	put_asked(report, json);
	put_next(report, json);
}
