/* GET /fleet: what differs between the boards and the builds of the fleet. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/answers/fleet.h"
#include "collector/catalogue/store.h"
#include "collector/clickhouse/client.h"
#include "collector/fleet/source.h"
#include "collector/http/routes/asking.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/share/shared_fleet.h"
#include "collector/share/shared_open.h"
#include "collector/symbols/symbols.h"

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

static int compare_recordings(struct asking *a, const struct fleet_question *question)
{
	struct told_comparison *told = a->result;
	struct symbols *symbols = NULL;
	struct store *store = NULL;
	int r = sources_open_symbols(a->x->sources, &store, &symbols, &a->x->err);

	if (!r && store) {
		struct fleet_recordings recordings = {store, symbols};
		struct fleet_source source = fleet_source_recordings(&recordings);

		r = fleet_compare(&source, question, &told->report, &a->x->err);
	}
	symbols_free(symbols);
	store_close(store);
	return r;
}

static int compare_shared(struct asking *a, const struct fleet_question *question)
{
	struct told_comparison *told = a->result;
	struct clickhouse *client = NULL;
	int r = shared_open(sources_shared(a->x->sources), &a->x->cancelled, &client, &a->x->err);

	if (!r) {
		struct fleet_source source = fleet_source_shared(client);

		r = fleet_compare(&source, question, &told->report, &a->x->err);
	}
	clickhouse_close(client);
	return r;
}

static int compare_ask(struct asking *a)
{
	struct told_comparison *told = a->result;
	struct fleet_question question = a->values.fleet;
	int r;

	if (question.step_ns % 1000000000)
		return asking_fault(a, "step",
				    err_set(&a->x->err, -EINVAL, "step takes whole seconds"));
	if (sources_shared(a->x->sources) && question.step_ns % FLEET_STEP_NS)
		return asking_fault(
			a, "step",
			err_set(&a->x->err, -EINVAL,
				"step takes whole minutes where collectors share a data base"));
	question.select = a->values.select;
	question.cancelled = &a->x->cancelled;
	question.rules = sources_rules(a->x->sources);
	r = sources_shared(a->x->sources) ? compare_shared(a, &question)
					  : compare_recordings(a, &question);
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
	.flags = ROUTE_TAKES_IT,
	.parameters = compare_parameters,
	.takes_filter = takes_none,
	.answer = &fleet_answer,
	ROUTE_ASKS(struct told_comparison, compare_ask, told_comparison_done),
	.write = compare_write,
};
