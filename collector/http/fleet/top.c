/* GET /fleet/top: what the whole fleet has in use, and who holds it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/parse.h"
#include "collector/answers/fleet_top.h"
#include "collector/fleet/source.h"
#include "collector/http/fleet/source.h"
#include "collector/http/routes/asking.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"

#include "base/ban.h"

#define COUNT_MAX 100000

struct told_top {
	struct fleet_top top;
	char note[sizeof(((struct err_text *)NULL)->text)];
};

static void told_top_done(void *result)
{
	fleet_top_done(&((struct told_top *)result)->top);
}

static const struct parameter_word groupings[] = {{"function", FLEET_TOP_FUNCTION},
						  {"site", FLEET_TOP_SITE},
						  {"backtrace", FLEET_TOP_BACKTRACE},
						  {NULL, 0}};

static const struct route_parameter top_parameters[] = {
	REQUEST_SELECT,
	REQUEST("at", PARAMETER_TEXT, fleet_at, "a time of the clock (2026-11-30T14:05)",
		"the minute; by default the last one at which most streams were recorded",
		.most = 64),
	REQUEST("by", PARAMETER_WORD, fleet_by, "function, site or backtrace",
		"what a row is; default function", .words = groupings),
	REQUEST("count", PARAMETER_NUMBER, fleet_count, "a whole number",
		"rows at most; default 25", .most = COUNT_MAX),
	{0},
};

static int top_of(struct asking *a, const struct fleet_source *source)
{
	struct told_top *told = a->result;
	struct fleet_top_question question = {
		.select = a->values.select,
		.by = a->values.fleet_by,
		.count = a->values.fleet_count ? a->values.fleet_count : FLEET_TOP_ROWS,
		.rules = sources_rules(a->x->sources),
		.cancelled = &a->x->cancelled,
	};
	int r = a->values.fleet_at ? parse_wall(a->values.fleet_at, &question.at_ns) : 0;

	return r ? r : fleet_top_ask(source, &question, &told->top, &a->x->err);
}

static int top_ask(struct asking *a)
{
	struct told_top *told = a->result;
	uint64_t at;
	int r;

	if (a->values.fleet_at && parse_wall(a->values.fleet_at, &at) < 0)
		return asking_fault(a, "at",
				    err_set(&a->x->err, -EINVAL,
					    "at takes a time of the clock, 2026-11-30T14:05"));
	r = fleet_asked_of_source(a, top_of);
	/* Nothing to tell: the note says why. */
	if (r == -ENODATA) {
		snprintf(told->note, sizeof(told->note), "%s", a->x->err.text);
		a->x->err = (struct err_text){0};
		return 0;
	}
	return r == -EINVAL ? asking_fault(a, "select", r) : r;
}

static int top_write(struct asking *a)
{
	const struct told_top *told = a->result;

	if (*told->note)
		json_string(&a->json, "note", told->note);
	return json_fleet_top(&a->json, &told->top);
}

const struct route fleet_top_route = {
	.path = "/fleet/top",
	.about = "what all boards together have in use at a minute, and who holds it",
	.flags = ROUTE_TAKES_IT | ROUTE_ASKS_SHARED,
	.parameters = top_parameters,
	.takes_filter = takes_none,
	.answer = &fleet_top_answer,
	ROUTE_ASKS(struct told_top, top_ask, told_top_done),
	.write = top_write,
};
