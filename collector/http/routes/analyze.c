/* /data/ID/analyze: finds by rules what a person would look for; the same as `collector analyze
 * --json`. */
#include "base/cleanup.h"
#include "collector/analyze/recorded.h"
#include "collector/analyze/report.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/http/routes/what.h"
#include "collector/recording/recording.h"
#include "collector/answers/json.h"
#include "collector/answers/weight.h"

#include "base/ban.h"

const struct route_parameter analyze_parameters[] = {
	WHAT_VALUE, WHAT_AT, WHAT_WEIGHT, WHAT_PREVIEW, {0}};

static int analyze_answer(struct exchange *x, const struct what *what, const struct rules *rules,
			  struct analysis *analysis)
{
	struct analysis_result result;
	struct analysis_report report = {
		.result = &result,
		.title = recording_process(x->source->recording)->name,
		.source = x->source->id,
		.rules = rules_name(rules),
		.counts = what->weight == EXPORT_BLOCKS,
		.recorded = true,
	};
	struct json json;
	int r = analysis_add_view(analysis, x->source->view, &what->filter, what->value,
				  what->at_ns, report.counts, &x->err);

	if (!r)
		r = analysis_end(analysis, &result);
	if (r < 0)
		return r;
	json_answer(&json, x);
	report_json(&report, &json);
	json_end(&json, '}');
	return buf_error(&x->out);
}

int analyze_step(struct exchange *x)
{
	cleanup(what_done) struct what what;
	struct analysis_question question = {
		.top = ANALYSIS_TOP, .growth_known = true, .blocks_known = true};
	struct analysis *analysis = NULL;
	struct rules *rules = NULL;
	int r = what_read(x, analyze_parameters, &what);

	if (!r)
		r = rules_read(RULES_DEFAULT, &rules, &x->err);
	question.rules = rules;
	if (!r)
		r = analysis_new(&question, &analysis);
	if (!r)
		r = analyze_answer(x, &what, rules, analysis);
	analysis_free(analysis);
	rules_free(rules);
	return r;
}
