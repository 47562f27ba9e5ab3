/* Paths. See routes.h; docs/rest-api.md is for who asks. */
#include "collector/http/routes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/http/sources.h"

#include "base/ban.h"

enum rest { REST_NONE, REST_MAY, REST_MUST };

static const struct route {
	const char *path; /* of those under /data/ID/ only what follows */
	bool of_recording;
	enum rest rest;
	exchange_step *step;
} routes[] = {
	{"/", false, REST_NONE, page_step},
	{"/list", false, REST_NONE, list_step},
	{"allocations", true, REST_NONE, allocations_step},
	{"backtrace", true, REST_MUST, backtrace_step},
	{"export/flamegraph", true, REST_MAY, flamegraph_step},
	{"export/flamegraph.pl", true, REST_MAY, collapsed_step},
};

/* Splits /data/ID/REST; false: not of that form. */
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

static bool fits(const struct route *route, bool of_recording, const char *path)
{
	size_t length = strlen(route->path);

	if (route->of_recording != of_recording || strncmp(path, route->path, length) != 0)
		return false;
	if (!path[length])
		return route->rest != REST_MUST;
	return path[length] == '/' && path[length + 1] && route->rest != REST_NONE &&
	       !strchr(path + length + 1, '/');
}

static const struct route *lookup(const struct exchange *x, char *ret_id, size_t size,
				  const char **ret_rest)
{
	const char *path = x->request.path;
	bool of_recording = split(path, ret_id, size, &path);

	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (fits(&routes[i], of_recording, path)) {
			path += strlen(routes[i].path);
			*ret_rest = *path == '/' && of_recording ? path + 1 : "";
			return &routes[i];
		}
	}
	return NULL;
}

const char *route_rest(const struct exchange *x)
{
	char id[256];
	const char *rest = "";

	lookup(x, id, sizeof(id), &rest);
	return rest;
}

int route_begin(struct exchange *x)
{
	char id[256];
	const char *rest;
	const struct route *route = lookup(x, id, sizeof(id), &rest);
	int r;

	if (!route)
		return err_set(&x->err, -ENOENT,
			       "nothing is served at \"%.100s\": / has links to all there is, "
			       "docs/rest-api.md the rest",
			       x->request.path);
	x->step = route->step;
	if (!route->of_recording)
		return route->step(x);
	r = sources_take(x->sources, id, &x->source, &x->err);
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
	r = route->step(x);
	source_unlock(x->source);
	return r;
}
