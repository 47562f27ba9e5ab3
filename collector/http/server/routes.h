#pragma once
/* Lists all routes, and finds the route of a path. */
#include "collector/http/server/route.h"

struct sources;

/* In the order of /openapi.json. One route per format, at export/PATH, follows them. */
#define ROUTES(ROUTE)                                                                              \
	ROUTE(page)                                                                                \
	ROUTE(page_file)                                                                           \
	ROUTE(login)                                                                               \
	ROUTE(logout)                                                                              \
	ROUTE(list)                                                                                \
	ROUTE(events)                                                                              \
	ROUTE(questions)                                                                           \
	ROUTE(snapshots)                                                                           \
	ROUTE(shared)                                                                              \
	ROUTE(shared_snapshots)                                                                    \
	ROUTE(compare)                                                                             \
	ROUTE(fleet_top)                                                                           \
	ROUTE(take_snapshot)                                                                       \
	ROUTE(import)                                                                              \
	ROUTE(rights)                                                                              \
	ROUTE(openapi)                                                                             \
	ROUTE(allocations)                                                                         \
	ROUTE(groups)                                                                              \
	ROUTE(ascii_tree)                                                                          \
	ROUTE(tree)                                                                                \
	ROUTE(flame)                                                                               \
	ROUTE(backtrace)                                                                           \
	ROUTE(backtraces)                                                                          \
	ROUTE(timeline)                                                                            \
	ROUTE(timeline_leaked)                                                                     \
	ROUTE(histogram)                                                                           \
	ROUTE(snapshot)                                                                            \
	ROUTE(peak)                                                                                \
	ROUTE(leaks)                                                                               \
	ROUTE(report)                                                                              \
	ROUTE(hidden)                                                                              \
	ROUTE(diff)                                                                                \
	ROUTE(ledger)                                                                              \
	ROUTE(analyze)                                                                             \
	ROUTE(source)                                                                              \
	ROUTE(live)                                                                                \
	ROUTE(maps)                                                                                \
	ROUTE(mmaps)                                                                               \
	ROUTE(mallopts)                                                                            \
	ROUTE(regions)                                                                             \
	ROUTE(raw_allocations)                                                                     \
	ROUTE(fragmentation)                                                                       \
	ROUTE(fragmentation_timeline)                                                              \
	ROUTE(timeline_maps)                                                                       \
	ROUTE(dynamic_constants)                                                                   \
	ROUTE(dynamic_statics)                                                                     \
	ROUTE(dynamic_constants_tree)                                                              \
	ROUTE(dynamic_statics_tree)                                                                \
	ROUTE(control)                                                                             \
	ROUTE(sql)                                                                                 \
	ROUTE(execute_script)                                                                      \
	ROUTE(allocation_script)                                                                   \
	ROUTE(map_script)                                                                          \
	ROUTE(flamegraph)                                                                          \
	ROUTE(flame_file)                                                                          \
	ROUTE(graph)

#define ROUTES_DECLARE(name) extern const struct route name##_route;
ROUTES(ROUTES_DECLARE)
#undef ROUTES_DECLARE

/* The route of exports to files of other tools. The format adds path, parameters, type and
 * description. */
extern const struct route format_route;
/* Returns the parameters of such a route, besides filters. */
const struct route_parameter *format_parameters(const struct format *format);

/* Begins an exchange about this path. Its first step takes the recording, and continues with the
 * route's step. If there is no such route or recording, the step reports that. Returns NULL without
 * memory. */
struct exchange *routes_exchange(struct sources *sources, const char *path);
/* Returns the methods of the route, for the header `allow`. */
const char *route_methods(const struct route *route);
/* Calls `tell` for each path, such as "/data/{id}/allocations". Leaves out the forms of the login
 * page. */
void routes_each(void (*tell)(void *context, const struct route *route, const char *path),
		 void *context);

/* The step of routes without a step of their own. See asking.h. */
exchange_step asking_step;
/* Asks the data base that collectors share, if there is one, who has the recording of x->id, which
 * is not here. Sends the client to that collector's page (status 307, returns 0), or says in x->err
 * where the recording is (-EHOSTUNREACH: on a collector that is away; -ENOENT). Without such a data
 * base, or if nobody has the recording, x->err stays as it is, and -ENOENT is returned. */
int elsewhere_find(struct exchange *x);
/* Writes the login page as the answer, with `said` above the form. The status is x->status. */
int login_page(struct exchange *x, const char *said);
