#pragma once
/* Says which path is answered by what: the table in routes.c. */
#include "collector/http/server/exchange.h"
#include "collector/http/routes/values.h"

struct format;

/* The first step of every exchange: finds the route, takes the recording, goes on with the route's
 * own step. */
int route_begin(struct exchange *x);

/* Tells whether the loop itself answers the route. Such answers are quick, and come also while all
 * workers are busy. */
bool route_on_loop(const struct exchange *x);

/* Tells whether the steps of the request run SQL that it brought. */
bool route_runs_sql(const struct exchange *x);

/* How a route is asked. An order may change something, so it is checked more strictly than a
 * question; its text is in the body. A file is an order whose body goes to the disk (import.h). */
enum route_method {
	ROUTE_GET,
	ROUTE_GET_OR_QUESTION,
	ROUTE_QUESTION,
	ROUTE_ORDER,
	ROUTE_FILE,
	ROUTE_LOGIN,
	ROUTE_LOGOUT
};
enum route_method route_method(const struct exchange *x);
/* Tells whether the route requires the token even on loopback, as orders do. */
bool route_needs_token(const struct exchange *x);
/* Tells whether this is /rights. */
bool route_tells_rights(const struct exchange *x);
/* Returns the methods, as the header `allow` lists them. */
const char *route_methods(const struct exchange *x);

/* Returns what follows the route's name in the path ("flame.svg" of
 * /data/ID/export/flamegraph/flame.svg, the number of /backtrace/7), or "". */
const char *route_rest(const struct exchange *x);
/* Copies the ID of /data/ID/..., or "". */
void route_id(const struct exchange *x, char *ret_id, size_t size);

/* The format that is asked for under /data/ID/export/; NULL: something else is. */
const struct format *route_format(const struct exchange *x);
/* What that takes, beside filters. */
const struct route_parameter *format_parameters(const struct format *format);

/* Makes the login page the answer; `said` stands above the form. It takes what x->status is. */
int login_page(struct exchange *x, const char *said);

/* For /openapi.json: called for each path, except those of the login page's forms. `parameters` is
 * NULL if the path has none. */
struct route_info {
	const char *path; /* "/data/{id}/allocations" */
	const char *about, *content_type;
	const struct route_parameter *parameters; /* ends with {0} */
	bool of_recording, filters, has_number;
	enum route_method method;
	bool needs_token;			/* also on loopback */
	const struct route_parameter *body;	/* members of the body; orders only */
	bool (*takes_filter)(const char *name); /* NULL: all */
	const struct answer *answer;		/* NULL: not declared */
	const struct format *format;		/* of export/FORMAT; else NULL */
	bool is_array;				/* of such objects */
};
void routes_each(void (*route)(void *context, const struct route_info *info), void *context);

/* Steps of the routes. */
exchange_step control_step, take_snapshot_step, snapshots_step;
exchange_step control_step, sql_step, execute_script_step, allocation_script_step, map_script_step;
exchange_step page_step, page_file_step, login_step, logout_step;
exchange_step import_step, rights_step;
exchange_step list_step, openapi_step, questions_step;
exchange_step allocations_step, groups_step, backtrace_step, backtraces_step;
exchange_step flamegraph_step, flame_file_step, format_step, tree_step, ascii_tree_step, flame_step;
exchange_step timeline_step, timeline_leaked_step, histogram_step;
exchange_step ledger_step, analyze_step, source_step;
exchange_step snapshot_step, peak_step, leaks_step, report_step, diff_step;
exchange_step live_step, events_step, graph_step, dynamic_step, dynamic_tree_step;
exchange_step maps_step, mmaps_step, mallopts_step, raw_allocations_step;
exchange_step regions_step, fragmentation_step, fragmentation_timeline_step, timeline_maps_step;

/* What the routes answer. */
extern const struct answer list_answer, events_answer, question_answer, backtrace_answer,
	timeline_route_answer, histogram_route_answer, moment_answer, allocations_answer,
	allocation_groups_answer, maps_answer, regions_answer, fragmentation_route_answer,
	timeline_maps_answer, fragmentation_timeline_answer, sql_answer, source_answer,
	mallopt_answer, script_answer, rights_answer, mmaps_answer, raw_allocation_answer,
	backtraces_answer, tree_node_answer, dynamic_answer, live_answer, control_answer,
	script_run_answer;

/* What is posted to the routes. Only the names and descriptions count; `takes` is the type. */
extern const struct route_parameter control_body[], take_snapshot_body[];
/* Reads the filter of a request for maps. Call filter_done also after an error. */
int maps_read_filter(struct exchange *x, struct filter *ret_filter);

/* What the routes take beside filters. */
extern const struct route_parameter import_parameters[], analyze_parameters[], source_parameters[],
	allocations_parameters[], groups_parameters[], tree_parameters[], ascii_tree_parameters[],
	timeline_parameters[], histogram_parameters[], snapshot_parameters[], peak_parameters[],
	leaks_parameters[], report_parameters[], diff_parameters[], backtraces_parameters[],
	maps_parameters[], raw_allocations_parameters[], regions_parameters[],
	fragmentation_parameters[], graph_parameters[], dynamic_parameters[],
	dynamic_tree_parameters[], flamegraph_parameters[], flame_file_parameters[],
	flame_parameters[], sql_parameters[], allocation_script_parameters[];
