/* Finds the route for a path. See routes.h; docs/rest-api.md describes the API for its users. */
#include "collector/http/server/routes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/formats/formats.h"
#include "collector/http/server/exchange.h"
#include "collector/http/server/sources.h"

#include "base/ban.h"

#define EXPORT "export/"

#define ROUTES_TABLE(name) &name##_route,
static const struct route *const routes[] = {ROUTES(ROUTES_TABLE)};
#define ROUTE_COUNT (sizeof(routes) / sizeof(routes[0]))

/* Returns the route of a format, at export/PATH. */
static struct route route_of_format(const struct format *format)
{
	struct route route = format_route;

	route.path = format_path(format);
	route.parameters = format_parameters(format);
	route.content_type = format->type;
	route.about = format->about;
	route.format = format;
	return route;
}

static void tell_route(const struct route *route,
		       void (*tell)(void *context, const struct route *route, const char *path),
		       void *context)
{
	char path[128];

	snprintf(path, sizeof(path), "%s%s%s%s%s%s",
		 route->flags & ROUTE_OF_RECORDING ? "/data/{id}/" : "",
		 route->format ? EXPORT : "", route->path, route->rest ? "/{" : "",
		 route->rest ? route->rest : "", route->rest ? "}" : "");
	tell(context, route, path);
}

void routes_each(void (*tell)(void *context, const struct route *route, const char *path),
		 void *context)
{
	for (size_t i = 0; i < ROUTE_COUNT; i++)
		if (routes[i]->method != ROUTE_LOGIN && routes[i]->method != ROUTE_LOGOUT)
			tell_route(routes[i], tell, context);
	for (const struct format *f = formats; f->name; f++) {
		const struct route route = route_of_format(f);

		if (f->type)
			tell_route(&route, tell, context);
	}
}

/* ---- finding a route ---- */

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

/* Tells whether `rest`, "" or "/NAME", may follow the route's path. */
static bool fits_rest(const struct route *route, const char *rest)
{
	if (!*rest)
		return !route->rest;
	return *rest == '/' && rest[1] && (route->rest || route->flags & ROUTE_MAY_HAVE_REST) &&
	       !strchr(rest + 1, '/');
}

/* Sets the exchange's route if the path is this route's. */
static bool routes_take(struct exchange *x, const struct route *route, bool of_recording,
			const char *path)
{
	size_t length = strlen(route->path);

	if (!(route->flags & ROUTE_OF_RECORDING) == of_recording ||
	    strncmp(path, route->path, length) != 0 || !fits_rest(route, path + length))
		return false;
	x->route = *route;
	x->rest = path[length] == '/' ? path + length + 1 : "";
	return true;
}

/* Finds the route of the path, and sets the exchange's route, id and rest. */
static void routes_find(struct exchange *x)
{
	const char *path = x->request.path;
	bool of_recording = split(path, x->id, sizeof(x->id), &path);

	x->rest = "";
	for (size_t i = 0; i < ROUTE_COUNT; i++)
		if (routes_take(x, routes[i], of_recording, path))
			return;
	if (strncmp(path, EXPORT, strlen(EXPORT)) != 0)
		return;
	for (const struct format *f = formats; f->name; f++) {
		const struct route route = route_of_format(f);

		if (f->type && routes_take(x, &route, of_recording, path + strlen(EXPORT)))
			return;
	}
}

const char *route_methods(const struct route *route)
{
	static const char *const methods[] = {
		[ROUTE_GET] = "GET, HEAD", [ROUTE_GET_OR_QUESTION] = "GET, HEAD, POST",
		[ROUTE_QUESTION] = "POST", [ROUTE_ORDER] = "POST",
		[ROUTE_FILE] = "POST",	   [ROUTE_LOGIN] = "GET, HEAD, POST",
		[ROUTE_LOGOUT] = "POST"};

	return methods[route->method];
}

/* ---- the first step ---- */

static int no_parameters(struct exchange *x)
{
	for (size_t i = 0; i < x->request.parameter_count; i++) {
		const char *name = x->request.parameters[i].name;

		if (!name[0])
			continue;
		snprintf(x->parameter, sizeof(x->parameter), "%s", name);
		return err_set(&x->err, -EINVAL, "\"%.100s\" takes no parameters, not \"%.60s\"",
			       x->request.path, name);
	}
	return 0;
}

static int routes_answer(struct exchange *x)
{
	const struct route *route = &x->route;
	cleanup(cleanup_free) char *question =
		route->flags & ROUTE_KEPT ? kept_question(route->path, &x->request) : NULL;
	int r = route->parameters ? 0 : no_parameters(x);

	if (r < 0)
		return r;
	x->step = route->step ? route->step : asking_step;
	x->content_type = route_type(route);
	if (question && kept_answers_get(&x->source->kept, question, &x->out))
		return 0;
	r = x->step(x);
	if (!r && question && x->status == 200)
		kept_answers_put(&x->source->kept, question, &x->out);
	return r;
}

static int routes_begin(struct exchange *x)
{
	struct completeness completeness;
	int r;

	if (!x->route.path)
		return err_set(&x->err, -ENOENT,
			       "nothing is served at \"%.100s\": / has links to all there is, "
			       "docs/rest-api.md the rest",
			       x->request.path);
	if (!(x->route.flags & ROUTE_OF_RECORDING) || x->route.flags & ROUTE_TAKES_IT)
		return routes_answer(x);
	r = sources_take(x->sources, x->id, &x->source, &x->find_ns, &x->err);
	/* Others need not wait while another collector's recording is looked for. */
	if (r == -ENOENT && !x->asks_shared && sources_shared(x->sources)) {
		x->asks_shared = true;
		x->again_ms = 1;
		return -EAGAIN;
	}
	if (r == -ENOENT)
		r = elsewhere_find(x);
	if (r < 0) {
		if (r == -ENOENT || r == -EEXIST)
			snprintf(x->parameter, sizeof(x->parameter), "id");
		return r;
	}
	if (!x->source) /* another collector has it */
		return 0;
	source_lock(x->source);
	recording_completeness(x->source->recording, &completeness);
	snprintf(x->incomplete, sizeof(x->incomplete), "%s", completeness.line);
	r = routes_answer(x);
	source_unlock(x->source);
	return r;
}

struct exchange *routes_exchange(struct sources *sources, const char *path)
{
	struct exchange *x = exchange_new(sources, path);

	if (!x)
		return NULL;
	x->step = routes_begin;
	routes_find(x);
	return x;
}
