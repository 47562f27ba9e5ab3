#pragma once
/* All routes, and which one a path asks for. */
#include "collector/http/server/route.h"

struct sources;

/* In the order in which /openapi.json has them. Behind them there is one for each format, at
 * export/PATH. */
#define ROUTES(ROUTE)                                                                              \
	ROUTE(page)                                                                                \
	ROUTE(page_file)                                                                           \
	ROUTE(login)                                                                               \
	ROUTE(logout)                                                                              \
	ROUTE(list)                                                                                \
	ROUTE(events)                                                                              \
	ROUTE(questions)                                                                           \
	ROUTE(snapshots)                                                                           \
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

/* The route of an export to a file of another tool: all but path, parameters, type and about, which
 * the format has. */
extern const struct route format_route;
/* What that takes, beside filters. */
const struct route_parameter *format_parameters(const struct format *format);

/* Begins an exchange about this path. Its first step takes the recording, and goes on with that of
 * the route; where there is none, it says so. NULL: no memory. */
struct exchange *routes_exchange(struct sources *sources, const char *path);
/* Returns the methods, as the header `allow` lists them. */
const char *route_methods(const struct route *route);
/* Calls `tell` for each path, "/data/{id}/allocations", except those of the login page's forms. */
void routes_each(void (*tell)(void *context, const struct route *route, const char *path),
		 void *context);

/* The step of routes without one of their own: asking.h. */
exchange_step asking_step;
/* Makes the login page the answer; `said` stands above the form. It takes what x->status is. */
int login_page(struct exchange *x, const char *said);
