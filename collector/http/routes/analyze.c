/* /data/ID/analyze: analyses the allocations by rules, like `collector analyze --json`. */
#include "collector/analyze/recorded.h"
#include "collector/analyze/report.h"
#include "collector/http/routes/asking.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

static int analyze_rules(struct asking *a, const struct rules *rules, struct analysis *analysis)
{
	const struct request_values *values = &a->values;
	struct analysis_result result;
	struct analysis_report report = {
		.result = &result,
		.title = recording_process(a->x->source->recording)->name,
		.source = a->x->source->id,
		.rules = rules_name(rules),
		.counts = values->weight == EXPORT_BLOCKS,
		.recorded = true,
	};
	int r = analysis_add_view(analysis, a->view, &values->filter, values->value, values->at_ns,
				  report.counts, &a->x->err);

	if (!r)
		r = analysis_end(analysis, &result);
	if (!r)
		report_json(&report, &a->json);
	return r;
}

static int analyze_write(struct asking *a)
{
	struct analysis_question question = {
		.top = ANALYSIS_TOP, .growth_known = true, .blocks_known = true};
	struct analysis *analysis = NULL;
	struct rules *rules = NULL;
	int r = rules_read(recorded_rules(a->view), &rules, &a->x->err);

	question.rules = rules;
	if (!r)
		r = analysis_new(&question, &analysis);
	if (!r)
		r = analyze_rules(a, rules, analysis);
	analysis_free(analysis);
	rules_free(rules);
	return r;
}

const struct route analyze_route = {
	.path = "analyze",
	.about = "what stands out, found by rules: findings, parts of the program, heaviest stacks",
	.flags = ROUTE_OF_RECORDING | ROUTE_KEPT,
	.parameters =
		(const struct route_parameter[]){
			REQUEST_VALUE, REQUEST_AT, REQUEST_WEIGHT, REQUEST_PREVIEW, {0}},
	.answer = &analysis_answer,
	.write = analyze_write,
};
