/*
 * Requests of the REST API, built from the table of its routes: what they say may be anything, and
 * the answer is a sentence about it, or ends, and is JSON where it says so. Left out is what needs
 * the server: orders, watching, and what is being answered.
 *
 *	byte 0: the route   byte 1: digits of the recording's name the rest:
 *			    "name=value&name=value", where a name of one byte
 *	below 0x80 is that parameter or filter of the route
 */
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "collector/http/server/exchange.h"
#include "collector/http/server/http.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/query/query.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/store/builder.h"

#define LENGTH_MAX 2048
#define STEPS_MAX  2000
#define ROUTES_MAX 128

static struct {
	struct route route[ROUTES_MAX];
	char path[ROUTES_MAX][256];
	size_t count;
} table;

static const char *const filters[] = {
#define NAME(type, member, unset, reader, name, ...) name,
	FILTERS(NAME)
#undef NAME
};
#define FILTER_COUNT (sizeof(filters) / sizeof(filters[0]))

static void add_route(void *context, const struct route *route, const char *path)
{
	(void)context;
	if (route->method == ROUTE_ORDER || strstr(path, "/live") || !strcmp(path, "/events") ||
	    !strcmp(path, "/questions") || table.count == ROUTES_MAX)
		return;
	table.route[table.count] = *route;
	snprintf(table.path[table.count], sizeof(table.path[0]), "%s", path);
	table.route[table.count].path = table.path[table.count];
	table.count++;
}

static const char *file;

static void remove_file(void)
{
	unlink(file);
}

static struct sources *sources(void)
{
	static struct sources *opened;
	static const char *files[2];
	struct err_text err = {0};
	struct builder b;

	if (opened)
		return opened;
	routes_each(add_route, NULL);
	builder_init(&b, 0xab);
	for (unsigned i = 0; i < 60; i++) {
		builder_malloc(&b, 1000 * i, 1 + i % 3, 0x1000 + 64 * (i % 20), 16 + 8 * i);
		if (i % 3)
			builder_free(&b, 1000 * i + 500, 1 + i % 3, 0x1000 + 64 * (i % 20));
	}
	builder_end(&b, 0);
	files[0] = builder_save(&b, b.file.length);
	builder_done(&b);
	must(sources_new(&(struct http_options){.files = files}, NULL, &opened, &err) == 0);
	file = files[0];
	atexit(remove_file);
	return opened;
}

static const char *name_of(const struct route *route, unsigned number)
{
	const struct route_parameter *p = route->parameters;
	unsigned count = 0;

	while (p && p[count].name)
		count++;
	number %= count + FILTER_COUNT;
	return number < count ? p[number].name : filters[number - count];
}

/* "name=value" with the name of a parameter. */
static int add(struct exchange *x, const struct route *route, const char *text)
{
	char named[LENGTH_MAX + 64];

	if (text[0] && text[1] == '=') {
		snprintf(named, sizeof(named), "%s%s", name_of(route, (uint8_t)text[0]), text + 1);
		for (char *c = named; *c && *c != '='; c++)
			*c = *c == '-' ? '_' : *c;
		text = named;
	}
	return asked_add(&x->request, text);
}

static struct exchange *request(struct sources *served, const struct route *route, unsigned digits,
				char *text)
{
	static const char id[] = "abababababababababababababababab";
	const char *brace = strstr(route->path, "{id}"), *end;
	char path[512], *rest = NULL;
	struct exchange *x;

	if (brace) {
		end = strchr(brace + 4, '{');
		snprintf(path, sizeof(path), "%.*s%.*s%.*s%s", (int)(brace - route->path),
			 route->path, (int)(1 + digits % 40), id, end ? (int)(end - brace - 4) : 64,
			 brace + 4, end ? "1" : "");
	} else {
		snprintf(path, sizeof(path), "%s", route->path);
	}
	x = routes_exchange(served, path);
	must(x != NULL);
	x->post = route->method == ROUTE_QUESTION;
	if (x->post) {
		buf_string(&x->request.body, text);
		return x;
	}
	for (char *part = strtok_r(text, "&", &rest); part; part = strtok_r(NULL, "&", &rest))
		if (add(x, route, part) < 0)
			break;
	return x;
}

static void answer(struct exchange *x)
{
	struct buf whole = {0};
	int r = 1;

	for (unsigned i = 0; r > 0 && i < STEPS_MAX; i++) {
		if (x->source)
			source_lock(x->source);
		r = x->step(x);
		if (x->source)
			source_unlock(x->source);
		buf_append(&whole, x->out.data, x->out.length);
		buf_clear(&x->out);
	}
	if (r < 0 && r != -EAGAIN) {
		exchange_fail(x, r);
		buf_clear(&whole);
		buf_append(&whole, x->out.data, x->out.length);
		must(x->status >= 400);
		r = 0;
	}
	if (!r && x->content_type && !strcmp(x->content_type, "application/json")) {
		json_t *json =
			json_loadb((const char *)whole.data, whole.length, JSON_DECODE_ANY, NULL);

		must(json != NULL);
		json_decref(json);
	}
	if (getenv("VERBOSE"))
		fprintf(stderr, "%d %.120s\n", r, buf_text(&whole));
	buf_done(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sources *served = sources();
	char text[LENGTH_MAX + 1];
	struct exchange *x;

	if (size < 2 || size > LENGTH_MAX || memchr(data + 2, 0, size - 2))
		return 0;
	memcpy(text, data + 2, size - 2);
	text[size - 2] = 0;
	x = request(served, &table.route[data[0] % table.count], data[1], text);
	answer(x);
	exchange_free(x);
	return 0;
}
