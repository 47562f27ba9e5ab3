#pragma once
/* Which path is answered by what: the table in routes.c. */
#include "collector/http/exchange.h"

/* The first step of every exchange: finds the route, takes the recording, goes on with the route's own step. */
int route_begin(struct exchange *x);

/* What follows the route's name in the path ("flame.svg" of /data/ID/export/flamegraph/flame.svg, the number of /backtrace/7);
 * "" if nothing does. */
const char *route_rest(const struct exchange *x);

/* Steps of the routes, one file each. */
exchange_step list_step, page_step, allocations_step, backtrace_step, flamegraph_step, collapsed_step;
