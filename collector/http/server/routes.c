/* Finds the route for a path. See routes.h; docs/rest-api.md describes the API for its users. */
#include "collector/http/server/routes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/analyze/report.h"
#include "collector/answers/account.h"
#include "collector/answers/results.h"
#include "collector/answers/snapshots.h"
#include "collector/formats/formats.h"
#include "collector/http/server/import.h"
#include "collector/http/server/sources.h"
#include "collector/query/match/mappings.h"

#include "base/ban.h"

enum rest { REST_NONE, REST_MAY, REST_MUST };

#define EXPORT "export/"
#define JSON   "application/json"
#define TEXT   "text/plain; charset=utf-8"

static const struct route {
	const char *path; /* for paths under /data/ID/ only what follows */
	bool of_recording;
	enum rest rest;
	exchange_step *step;
	const struct route_parameter *parameters; /* NULL: none, and no filters */
	const char *content_type, *about;
} routes[] = {
	{"/", false, REST_NONE, page_step, NULL, "text/html; charset=utf-8", "the page"},
	{"/page", false, REST_MUST, page_file_step, NULL, "text/javascript; charset=utf-8",
	 "a file of the page"},
	{"/login", false, REST_NONE, login_step, NULL, "text/html; charset=utf-8",
	 "a form for the token"},
	{"/logout", false, REST_NONE, logout_step, NULL, "text/html; charset=utf-8",
	 "ends what the form began"},
	{"/list", false, REST_NONE, list_step, NULL, JSON, "the recordings"},
	{"/events", false, REST_NONE, events_step, NULL, "text/event-stream",
	 "the recordings, and again and again those that have changed"},
	{"/questions", false, REST_NONE, questions_step, NULL, JSON,
	 "what is being answered, and how far it is"},
	{"/snapshots", false, REST_NONE, snapshots_step, NULL, JSON,
	 "snapshots of the fleet, and who is in them; each is a recording, too"},
	{"/snapshot", false, REST_NONE, take_snapshot_step, NULL, JSON,
	 "takes one: what all programs have in use now"},
	{"/import", false, REST_NONE, import_step, import_parameters, JSON,
	 "a file of another tool, or a recording, becomes a stream"},
	{"/rights", false, REST_NONE, rights_step, NULL, JSON, "what the one who asks may do"},
	{"/openapi.json", false, REST_NONE, openapi_step, NULL, JSON, "this description"},
	{"allocations", true, REST_NONE, allocations_step, allocations_parameters, JSON,
	 "matched allocations"},
	{"allocation_groups", true, REST_NONE, groups_step, groups_parameters, JSON,
	 "matched allocations by backtrace, beside all of the same backtrace"},
	{"allocation_ascii_tree", true, REST_NONE, ascii_tree_step, ascii_tree_parameters, TEXT,
	 "matched allocations as a tree of frames, as text"},
	{"tree", true, REST_NONE, tree_step, tree_parameters, JSON, "the same as nested objects"},
	{"flame", true, REST_NONE, flame_step, flame_parameters, JSON,
	 "a tree of frames as columns, of one recording or of what differs from another"},
	{"backtrace", true, REST_MUST, backtrace_step, NULL, JSON, "the frames of one backtrace"},
	{"backtraces", true, REST_NONE, backtraces_step, backtraces_parameters, JSON,
	 "the backtraces of matched allocations"},
	{"timeline", true, REST_NONE, timeline_step, timeline_parameters, JSON,
	 "what was in use over time"},
	{"timeline_leaked", true, REST_NONE, timeline_leaked_step, timeline_parameters, JSON,
	 "the same of blocks that were not freed"},
	{"histogram", true, REST_NONE, histogram_step, histogram_parameters, JSON,
	 "sizes and lifetimes"},
	{"snapshot", true, REST_NONE, snapshot_step, snapshot_parameters, JSON,
	 "what was in use at a moment, by group"},
	{"peak", true, REST_NONE, peak_step, peak_parameters, JSON,
	 "what was in use when most was, by group"},
	{"leaks", true, REST_NONE, leaks_step, leaks_parameters, JSON,
	 "what was not freed, by survival"},
	{"report", true, REST_NONE, report_step, report_parameters, JSON, "totals"},
	{"diff", true, REST_NONE, diff_step, diff_parameters, JSON,
	 "what differs from another recording or moment"},
	{"ledger", true, REST_NONE, ledger_step, NULL, JSON,
	 "the account: what was produced, stored and lost, and why"},
	{"analyze", true, REST_NONE, analyze_step, analyze_parameters, JSON,
	 "what stands out, found by rules: findings, parts of the program, heaviest stacks"},
	{"source", true, REST_NONE, source_step, source_parameters, JSON,
	 "the text of a source file, and what went through each of its lines"},
	{"live", true, REST_NONE, live_step, NULL, "text/event-stream",
	 "totals, again and again while it grows"},
	{"maps", true, REST_NONE, maps_step, maps_parameters, JSON,
	 "what was mapped, and how much of it was in memory"},
	{"mmaps", true, REST_NONE, mmaps_step, NULL, JSON,
	 "what the program itself mapped and unmapped"},
	{"mallopts", true, REST_NONE, mallopts_step, NULL, JSON, "calls of mallopt"},
	{"regions", true, REST_NONE, regions_step, regions_parameters, JSON,
	 "ranges of addresses with blocks in use"},
	{"raw_allocations", true, REST_NONE, raw_allocations_step, raw_allocations_parameters, JSON,
	 "return addresses of matched allocations"},
	{"fragmentation", true, REST_NONE, fragmentation_step, fragmentation_parameters, JSON,
	 "how blocks in use lie on pages"},
	{"fragmentation_timeline", true, REST_NONE, fragmentation_timeline_step, NULL, JSON,
	 "memory beside what is in use, over time"},
	{"timeline_maps", true, REST_NONE, timeline_maps_step, NULL, JSON,
	 "memory as the kernel counts it, over time"},
	{"dynamic_constants", true, REST_MAY, dynamic_step, dynamic_parameters, JSON,
	 "what initialisers of static objects left, by line"},
	{"dynamic_statics", true, REST_MAY, dynamic_step, dynamic_parameters, JSON, "the same"},
	{"dynamic_constants_ascii_tree", true, REST_MAY, dynamic_tree_step, dynamic_tree_parameters,
	 TEXT, "the same as a tree of frames, as text"},
	{"dynamic_statics_ascii_tree", true, REST_MAY, dynamic_tree_step, dynamic_tree_parameters,
	 TEXT, "the same"},
	{"control", true, REST_NONE, control_step, NULL, JSON,
	 "an order for the agent: start, stop, mode, snapshot, mark"},
	{"sql", true, REST_NONE, sql_step, sql_parameters, JSON,
	 "the answer to a statement of SQL over the recording"},
	{"execute_script", true, REST_NONE, execute_script_step, NULL, JSON,
	 "the answers to statements of SQL, as lines of text"},
	{"allocation_filter_to_script", true, REST_NONE, allocation_script_step,
	 allocation_script_parameters, JSON, "the filter as a statement of SQL"},
	{"map_filter_to_script", true, REST_NONE, map_script_step, maps_parameters, JSON,
	 "the same of maps"},
	{"export/flamegraph", true, REST_MAY, flamegraph_step, flamegraph_parameters,
	 "image/svg+xml", "a flame graph"},
	{"export/flamegraph.html", true, REST_MAY, flame_file_step, flame_file_parameters,
	 "text/html; charset=utf-8", "the page's flame graph, as a file that needs no collector"},
	{"export/graph", true, REST_MAY, graph_step, graph_parameters, "image/svg+xml",
	 "what was in use over time, a picture"},
};

static const struct {
	exchange_step *step;
	const struct answer *answer;
	bool is_array;
} answers[] = {
	{list_step, &list_answer, true},
	{events_step, &events_answer, false},
	{questions_step, &question_answer, true},
	{snapshots_step, &snapshot_answer, true},
	{take_snapshot_step, &snapshot_answer, false},
	{import_step, &import_answer, false},
	{rights_step, &rights_answer, false},
	{report_step, &report_answer, false},
	{timeline_step, &timeline_route_answer, false},
	{timeline_leaked_step, &timeline_route_answer, false},
	{snapshot_step, &moment_answer, false},
	{peak_step, &moment_answer, false},
	{leaks_step, &survivors_answer, false},
	{histogram_step, &histogram_route_answer, false},
	{diff_step, &diff_answer, false},
	{flame_step, &flame_answer, false},
	{backtrace_step, &backtrace_answer, false},
	{allocations_step, &allocations_answer, false},
	{groups_step, &allocation_groups_answer, false},
	{maps_step, &maps_answer, false},
	{regions_step, &regions_answer, false},
	{fragmentation_step, &fragmentation_route_answer, false},
	{timeline_maps_step, &timeline_maps_answer, false},
	{fragmentation_timeline_step, &fragmentation_timeline_answer, false},
	{sql_step, &sql_answer, false},
	{ledger_step, &account_answer, false},
	{analyze_step, &analysis_answer, false},
	{source_step, &source_answer, false},
	{mallopts_step, &mallopt_answer, true},
	{mmaps_step, &mmaps_answer, false},
	{raw_allocations_step, &raw_allocation_answer, true},
	{backtraces_step, &backtraces_answer, false},
	{tree_step, &tree_node_answer, false},
	{dynamic_step, &dynamic_answer, false},
	{live_step, &live_answer, false},
	{control_step, &control_answer, false},
	{execute_script_step, &script_run_answer, false},
	{allocation_script_step, &script_answer, false},
	{map_script_step, &script_answer, false},
};

static void find_answer(const struct route *route, struct route_info *info)
{
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		if (answers[i].step == route->step) {
			info->answer = answers[i].answer;
			info->is_array = answers[i].is_array;
		}
	}
}

/* Returns the members of an order's body; NULL: the route is no order. */
static const struct route_parameter *body_of(const struct route *route)
{
	return route->step == control_step	   ? control_body
	       : route->step == take_snapshot_step ? take_snapshot_body
						   : NULL;
}

static enum route_method method_of(const struct route *route)
{
	if (body_of(route))
		return ROUTE_ORDER;
	if (route->step == import_step)
		return ROUTE_FILE;
	if (route->step == execute_script_step)
		return ROUTE_QUESTION;
	if (route->step == login_step || route->step == logout_step)
		return route->step == login_step ? ROUTE_LOGIN : ROUTE_LOGOUT;
	return route->step == sql_step ? ROUTE_GET_OR_QUESTION : ROUTE_GET;
}

static bool is_order(const struct route *route)
{
	return method_of(route) == ROUTE_ORDER || method_of(route) == ROUTE_FILE;
}

static bool needs_token(const struct route *route, bool post)
{
	return route->step == source_step || (post && is_order(route));
}

/* Behind the routes of the table there is one for each format, at export/PATH. */
static struct route route_of_format(const struct format *format)
{
	return (struct route){.path = format_path(format),
			      .of_recording = true,
			      .rest = REST_MAY,
			      .step = format_step,
			      .parameters = format_parameters(format),
			      .content_type = format->type,
			      .about = format->about};
}

static const struct format *format_of(const struct route *route)
{
	return route->step == format_step ? format_served(route->path) : NULL;
}

static void tell_route(const struct route *r,
		       void (*tell)(void *context, const struct route_info *info), void *context)
{
	struct route_info info;
	char path[128];

	snprintf(path, sizeof(path), "%s%s%s%s", r->of_recording ? "/data/{id}/" : "",
		 format_of(r) ? EXPORT : "", r->path, r->rest == REST_MUST ? "/{number}" : "");
	info = (struct route_info){
		.path = path,
		.about = r->about,
		.content_type = r->content_type,
		.format = format_of(r),
		.parameters = r->parameters,
		.of_recording = r->of_recording,
		.filters = r->parameters && r->parameters != sql_parameters && r->of_recording,
		.has_number = r->rest == REST_MUST,
		.body = body_of(r),
		.method = method_of(r),
		.needs_token = needs_token(r, is_order(r)),
		.takes_filter = r->step == maps_step || r->step == map_script_step
					? mapping_takes_filter
					: NULL,
	};
	find_answer(r, &info);
	tell(context, &info);
}

void routes_each(void (*route)(void *context, const struct route_info *info), void *context)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (method_of(&routes[i]) != ROUTE_LOGIN && method_of(&routes[i]) != ROUTE_LOGOUT)
			tell_route(&routes[i], route, context);
	for (const struct format *f = formats; f->name; f++) {
		const struct route r = route_of_format(f);

		if (f->type)
			tell_route(&r, route, context);
	}
}

/* Splits /data/ID/REST. Returns false if the path has another form. */
static bool split(const char *path, char *ret_id, size_t size, const char **ret_rest)
{
	const char *id = path + strlen("/data/"), *slash;

	if (strncmp(path, "/data/", strlen("/data/")) != 0)
		return false;
	slash = strchr(id, '/');
	if (!slash || (size_t)(slash - id) >= size)
		return false;
	memcpy(ret_id, id, (size_t)(slash - id));
	ret_id[slash - id] = 0;
	*ret_rest = slash + 1;
	return true;
}

/* `rest` behind the path: "" or "/NAME". */
static bool fits_rest(enum rest may, const char *rest)
{
	if (!*rest)
		return may != REST_MUST;
	return *rest == '/' && rest[1] && may != REST_NONE && !strchr(rest + 1, '/');
}

static bool routes_fits(const struct route *route, bool of_recording, const char *path)
{
	size_t length = strlen(route->path);

	return route->of_recording == of_recording && !strncmp(path, route->path, length) &&
	       fits_rest(route->rest, path + length);
}

/* The route of what was asked for; false: there is none. */
static bool routes_lookup(const struct exchange *x, struct route *ret_route, char *ret_id,
			  size_t size, const char **ret_rest)
{
	const char *path = x->request.path;
	bool of_recording = split(path, ret_id, size, &path), found = false;

	for (size_t i = 0; !found && i < sizeof(routes) / sizeof(routes[0]); i++) {
		*ret_route = routes[i];
		found = routes_fits(ret_route, of_recording, path);
	}
	if (!found && !strncmp(path, EXPORT, strlen(EXPORT)))
		path += strlen(EXPORT);
	else if (!found)
		return false;
	for (const struct format *f = formats; !found && f->name; f++) {
		*ret_route = route_of_format(f);
		found = f->type && routes_fits(ret_route, of_recording, path);
	}
	if (found) {
		path += strlen(ret_route->path);
		*ret_rest = *path == '/' ? path + 1 : "";
	}
	return found;
}

/* The same of who needs nothing else. `step` is NULL where there is no route. */
static struct route route_of(const struct exchange *x)
{
	char id[256];
	const char *rest;
	struct route route;

	return routes_lookup(x, &route, id, sizeof(id), &rest) ? route : (struct route){0};
}

const struct format *route_format(const struct exchange *x)
{
	const struct route route = route_of(x);

	return format_of(&route);
}

const char *route_rest(const struct exchange *x)
{
	char id[256];
	const char *rest = "";
	struct route route;

	routes_lookup(x, &route, id, sizeof(id), &rest);
	return rest;
}

void route_id(const struct exchange *x, char *ret_id, size_t size)
{
	const char *rest;

	if (!split(x->request.path, ret_id, size, &rest))
		ret_id[0] = 0;
}

/* Tells whether the route takes recordings itself. A watcher takes its recording again for each
 * look, so that it can grow in between; an order needs none. */
static bool takes_its_own(const struct route *route)
{
	return !route->of_recording || route->step == live_step || route->step == control_step;
}

bool route_on_loop(const struct exchange *x)
{
	exchange_step *step = route_of(x).step;

	return step == questions_step || step == rights_step || step == login_step ||
	       step == logout_step;
}

bool route_runs_sql(const struct exchange *x)
{
	exchange_step *step = route_of(x).step;

	if (step == sql_step || step == execute_script_step)
		return true;
	for (size_t i = 0; i < x->request.parameter_count; i++)
		if (!strcmp(x->request.parameters[i].name, "custom_filter"))
			return true;
	return false;
}

enum route_method route_method(const struct exchange *x)
{
	const struct route route = route_of(x);

	return route.step ? method_of(&route) : ROUTE_GET;
}

bool route_needs_token(const struct exchange *x)
{
	const struct route route = route_of(x);

	return route.step && needs_token(&route, x->post);
}

bool route_tells_rights(const struct exchange *x)
{
	return route_of(x).step == rights_step;
}

const char *route_methods(const struct exchange *x)
{
	static const char *const methods[] = {
		[ROUTE_GET] = "GET, HEAD", [ROUTE_GET_OR_QUESTION] = "GET, HEAD, POST",
		[ROUTE_QUESTION] = "POST", [ROUTE_ORDER] = "POST",
		[ROUTE_FILE] = "POST",	   [ROUTE_LOGIN] = "GET, HEAD, POST",
		[ROUTE_LOGOUT] = "POST"};

	return methods[route_method(x)];
}

/* Tells whether the route's answers are worth keeping: they depend only on the recording and the
 * parameters, and are computed from many rows. */
static bool routes_is_kept(const struct route *route)
{
	static exchange_step *const kept[] = {
		timeline_step,	    timeline_leaked_step, timeline_maps_step,
		fragmentation_step, histogram_step,	  peak_step,
		snapshot_step,	    report_step,	  leaks_step,
		analyze_step,	    groups_step,	  flame_step,
	};

	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (kept[i] == route->step)
			return true;
	return false;
}

static int routes_answer(struct exchange *x, const struct route *route)
{
	cleanup(cleanup_free) char *question =
		routes_is_kept(route) ? kept_question(route->path, &x->request) : NULL;
	int r;

	if (question && kept_answers_get(&x->source->kept, question, &x->out)) {
		x->content_type = route->content_type;
		return 0;
	}
	r = route->step(x);
	if (!r && question && x->status == 200)
		kept_answers_put(&x->source->kept, question, &x->out);
	return r;
}

int route_begin(struct exchange *x)
{
	char id[256];
	const char *rest;
	struct route route;
	struct completeness completeness;
	int r;

	if (!routes_lookup(x, &route, id, sizeof(id), &rest))
		return err_set(&x->err, -ENOENT,
			       "nothing is served at \"%.100s\": / has links to all there is, "
			       "docs/rest-api.md the rest",
			       x->request.path);
	x->step = route.step;
	if (takes_its_own(&route))
		return route.step(x);
	r = sources_take(x->sources, id, &x->source, &x->find_ns, &x->err);
	if (r == -EAGAIN) {
		x->step = route_begin;
		return r;
	}
	if (r < 0) {
		if (r == -ENOENT || r == -EEXIST)
			snprintf(x->parameter, sizeof(x->parameter), "id");
		return r;
	}
	source_lock(x->source);
	recording_completeness(x->source->recording, &completeness);
	snprintf(x->incomplete, sizeof(x->incomplete), "%s", completeness.line);
	r = routes_answer(x, &route);
	source_unlock(x->source);
	return r;
}
