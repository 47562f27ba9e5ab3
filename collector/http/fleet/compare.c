/* GET /fleet: what differs between the boards and the builds of the fleet. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/answers/fleet.h"
#include "collector/fleet/source.h"
#include "collector/http/fleet/source.h"
#include "collector/http/routes/asking.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"

#include "base/ban.h"

struct told_comparison {
	struct fleet_report report;
	char note[sizeof(((struct err_text *)NULL)->text)];
};

static void told_comparison_done(void *result)
{
	fleet_report_done(&((struct told_comparison *)result)->report);
}

static const struct parameter_word alignments[] = {{"clock", false}, {"start", true}, {NULL, 0}};

static const struct route_parameter compare_parameters[] = {
	REQUEST_SELECT,
	REQUEST("last", PARAMETER_DURATION, fleet.last_ns, "a duration (24h, 7d)",
		"only so long a time before the last data; default all"),
	REQUEST("step", PARAMETER_DURATION, fleet.step_ns, "a duration in whole seconds (1m, 1d)",
		"time from moment to moment; there are 48 moments at most"),
	REQUEST("align", PARAMETER_WORD, fleet.by_age, "clock or start",
		"compare processes at the same time of the clock (clock, the default), or since "
		"their start",
		.words = alignments),
	REQUEST("by", PARAMETER_TEXT, fleet.build_tag, "a key",
		"take the value of this tag for the build of a stream that has it", .most = 64),
	{0},
};

static int compare_of(struct asking *a, const struct fleet_source *source)
{
	struct told_comparison *told = a->result;
	struct fleet_question question = a->values.fleet;

	question.select = a->values.select;
	question.cancelled = &a->x->cancelled;
	question.rules = sources_rules(a->x->sources);
	return fleet_compare(source, &question, &told->report, &a->x->err);
}

static int compare_ask(struct asking *a)
{
	struct told_comparison *told = a->result;
	int r;

	if (a->values.fleet.step_ns % 1000000000)
		return asking_fault(a, "step",
				    err_set(&a->x->err, -EINVAL, "step takes whole seconds"));
	if (sources_shared(a->x->sources) && a->values.fleet.step_ns % FLEET_STEP_NS)
		return asking_fault(
			a, "step",
			err_set(&a->x->err, -EINVAL,
				"step takes whole minutes where collectors share a data base"));
	r = fleet_asked_of_source(a, compare_of);
	/* Nobody to compare: the report is empty, and the note says why. */
	if (r == -ENODATA) {
		snprintf(told->note, sizeof(told->note), "%s", a->x->err.text);
		a->x->err = (struct err_text){0};
		return 0;
	}
	return r == -EINVAL ? asking_fault(a, "select", r) : r;
}

static int compare_write(struct asking *a)
{
	const struct told_comparison *told = a->result;

	if (*told->note)
		json_string(&a->json, "note", told->note);
	return json_fleet(&a->json, &told->report);
}

const struct route compare_route = {
	.path = "/fleet",
	.about = "what differs between boards and builds: what grows where, and since when",
	.flags = ROUTE_TAKES_IT | ROUTE_ASKS_SHARED,
	.parameters = compare_parameters,
	.takes_filter = takes_none,
	.answer = &fleet_answer,
	ROUTE_ASKS(struct told_comparison, compare_ask, told_comparison_done),
	.write = compare_write,
};
