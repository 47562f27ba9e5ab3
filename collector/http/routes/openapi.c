/* /openapi.json: describes the API for programs (OpenAPI 3.1). The same tables write answers and
 * parse requests. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cli/program.h"
#include "base/cleanup.h"
#include "base/buf.h"
#include "collector/answers/schema.h"
#include "collector/formats/formats.h"
#include "collector/http/routes/asking.h"
#include "collector/http/server/routes.h"
#include "collector/query/query.h"

#include "base/ban.h"

struct filter_name {
	const char *name, *takes, *about;
};

#define FILTER_NAME(type, member, unset, reader, name, takes, about, ...) {name, takes, about},
static const struct filter_name filter_names[] = {
	FILTERS(FILTER_NAME){"custom-filter", "SQL",
			     "a condition over the columns of allocations holds (/data/{id}/sql)"},
	{0},
};

static void write_formats(struct json *json)
{
	json_array(json, "enum");
	for (const struct format *f = formats; f->name; f++)
		if (f->reader)
			json_string(json, NULL, f->name);
	json_end(json, ']');
}

/* Names commands as people type them: "heapcast sql" if this program was started as heapcast. */
static void write_about(struct json *json, const char *name, const char *text)
{
	cleanup(buf_done) struct buf words = {0};

	program_words(&words, text);
	json_string(json, name, buf_error(&words) ? text : buf_text(&words));
}

static void write_parameter(struct json *json, const char *name, const char *in, const char *takes,
			    const char *about)
{
	bool is_format = takes && !strcmp(takes, TAKES_FORMATS);
	char text[512], names[FORMAT_NAMES_MAX];

	json_object(json, NULL);
	json_string(json, "name", name);
	json_string(json, "in", in);
	if (!strcmp(in, "path"))
		json_bool(json, "required", true);
	if (is_format)
		takes = format_names_read(names, " or ");
	snprintf(text, sizeof(text), "%s%s%s", about, takes ? "; takes " : "", takes ? takes : "");
	write_about(json, "description", text);
	json_object(json, "schema");
	json_string(json, "type", "string");
	if (is_format)
		write_formats(json);
	json_end(json, '}');
	json_end(json, '}');
}

/* Describes a filter as a parameter. The command line spells filters with '-', this API with
 * '_'. */
static void write_filter(struct json *json, const struct filter_name *filter,
			 bool (*takes_filter)(const char *name))
{
	char name[64];

	snprintf(name, sizeof(name), "%s", filter->name);
	for (char *p = name; *p; p++)
		if (*p == '-')
			*p = '_';
	if (!takes_filter || takes_filter(name))
		write_parameter(json, name, "query", filter->takes, filter->about);
}

static void write_parameters(struct json *json, const struct route *route)
{
	bool of_recording = route->flags & ROUTE_OF_RECORDING;

	json_array(json, "parameters");
	if (of_recording)
		write_parameter(json, "id", "path", NULL,
				"32 hexadecimal digits, a unique beginning of them, or \"last\"");
	if (route->rest)
		write_parameter(json, route->rest, "path", NULL, route->rest_about);
	for (const struct route_parameter *p = route->parameters; p && p->name; p++)
		write_parameter(json, p->name, "query", p->takes, p->about);
	for (const struct filter_name *f = filter_names;
	     of_recording && route->parameters && f->name; f++)
		write_filter(json, f, route->takes_filter);
	json_end(json, ']');
}

static void close_objects(struct json *json, unsigned count)
{
	while (count--)
		json_end(json, '}');
}

/* Writes a member that is an object with a description, and with a type unless that is NULL. */
static void write_described(struct json *json, const char *name, const char *type,
			    const char *about)
{
	json_object(json, name);
	if (type)
		json_string(json, "type", type);
	write_about(json, "description", about);
	json_end(json, '}');
}

static void write_order(struct json *json, const struct route_parameter *members)
{
	json_object(json, "schema");
	json_string(json, "type", "object");
	json_object(json, "properties");
	for (const struct route_parameter *m = members; m->name; m++)
		write_described(json, m->name, m->takes, m->about);
	close_objects(json, 2);
}

static void write_body(struct json *json, const struct route *route)
{
	bool order = route->method == ROUTE_ORDER, file = route->method == ROUTE_FILE;

	json_object(json, "requestBody");
	if (order || file)
		json_bool(json, "required", true);
	json_object(json, "content");
	json_object(json, order	 ? "application/json"
			  : file ? "application/octet-stream"
				 : "text/plain");
	if (order)
		write_order(json, route->body);
	else if (!file)
		write_described(json, "schema", "string", "statements of SQL");
	close_objects(json, 3);
}

static void write_incomplete(struct json *json)
{
	json_object(json, "headers");
	json_object(json, "Heapcast-Incomplete");
	json_string(json, "description",
		    "what the recording does not hold, in a sentence: losses, a start or an end "
		    "that was missed, damage. It is there only if something is missing. An answer "
		    "that is an object has it as its member \"incomplete\", too");
	json_object(json, "schema");
	json_string(json, "type", "string");
	close_objects(json, 3);
}

static bool needs_token(const struct route *route)
{
	return route->flags & ROUTE_NEEDS_TOKEN || route->method == ROUTE_ORDER ||
	       route->method == ROUTE_FILE;
}

/* Writes the schema of an answer. For a stream of events it describes the data of one event. */
static void write_schema(struct json *json, const struct route *route)
{
	bool events = !strcmp(route_type(route), "text/event-stream");

	if (!route->answer)
		return;
	if (events)
		json_object(json, "x-event-data");
	schema_refer(json, route->answer, route->flags & ROUTE_ARRAY);
	if (events)
		json_end(json, '}');
}

static void write_responses(struct json *json, const struct route *route)
{
	const char *whole = route_type(route);
	char type[64];

	snprintf(type, sizeof(type), "%.*s", (int)strcspn(whole, ";"), whole);
	json_object(json, "responses");
	json_object(json, "200");
	write_about(json, "description", route->about);
	if (route->flags & ROUTE_OF_RECORDING)
		write_incomplete(json);
	json_object(json, "content");
	json_object(json, type);
	write_schema(json, route);
	close_objects(json, 3);
	write_described(json, "400", NULL,
			"{\"error\", \"parameter\"}: a parameter was not understood");
	if (needs_token(route))
		write_described(json, "401", NULL, "{\"error\"}: the token is missing or wrong");
	json_end(json, '}');
}

/* Writes the alternatives, each an object with a list of scopes (OpenAPI 3.1, 4.8.30). */
static void write_security(struct json *json)
{
	json_array(json, "security");
	json_object(json, NULL);
	json_array(json, "token");
	json_end(json, ']');
	json_end(json, '}');
	json_end(json, ']');
}

static void write_security_scheme(struct json *json)
{
	json_object(json, "securitySchemes");
	json_object(json, "token");
	json_string(json, "type", "http");
	json_string(json, "scheme", "bearer");
	json_string(json, "description",
		    "The token that the collector printed, or that of --token. On loopback it is "
		    "needed only where an operation says so, from elsewhere always.");
	json_end(json, '}');
	json_end(json, '}');
}

static void write_method(struct json *json, const struct route *route, bool post)
{
	json_object(json, post ? "post" : "get");
	write_about(json, "summary", route->about);
	if (route->format && route->format->title) {
		json_string(json, "x-title", route->format->title);
		json_string(json, "x-file", route->format->file);
	}
	write_parameters(json, route);
	if (needs_token(route))
		write_security(json);
	if (post)
		write_body(json, route);
	write_responses(json, route);
	json_end(json, '}');
}

static void write_route(void *context, const struct route *route, const char *path)
{
	struct json *json = context;

	json_object(json, path);
	if (route->method == ROUTE_GET || route->method == ROUTE_GET_OR_QUESTION)
		write_method(json, route, false);
	if (route->method != ROUTE_GET)
		write_method(json, route, true);
	json_end(json, '}');
}

static void add_schemas(void *context, const struct route *route, const char *path)
{
	(void)path;
	if (route->answer)
		schemas_add(context, route->answer,
			    route->flags & ROUTE_OF_RECORDING && !(route->flags & ROUTE_ARRAY) &&
				    route->method != ROUTE_ORDER);
}

/* ---- the route itself ---- */

static const struct answer_field info_fields[] = {
	BY_HAND("title", ANSWER_TEXT, NULL, "name of the API"),
	BY_HAND("version", ANSWER_TEXT, NULL, "version of the API, not of the collector"),
	{0},
};
static const struct answer info_answer = {"openapi_info", info_fields};

static const struct answer_field components_fields[] = {
	BY_HAND("securitySchemes", ANSWER_VALUE, NULL,
		"security schemes by name: OpenAPI 3.1, 4.8.27", .shape = ANSWER_NAMED),
	BY_HAND("schemas", ANSWER_VALUE, NULL,
		"schemas of answers by name: JSON Schema, draft 2020-12", .shape = ANSWER_NAMED),
	{0},
};
static const struct answer components_answer = {"openapi_components", components_fields};

static const struct answer_field openapi_fields[] = {
	BY_HAND("openapi", ANSWER_TEXT, NULL, "the version of OpenAPI"),
	BY_HAND("info", ANSWER_OBJECT, NULL, "", .of = &info_answer),
	BY_HAND("paths", ANSWER_VALUE, NULL, "path items by path: OpenAPI 3.1, 4.8.9",
		.shape = ANSWER_NAMED),
	BY_HAND("components", ANSWER_OBJECT, NULL, "", .of = &components_answer),
	{0},
};
static const struct answer openapi_answer = {"openapi", openapi_fields};

static int openapi_write(struct asking *a)
{
	struct schemas schemas = {.count = 0};
	struct json *json = &a->json;

	json_string(json, "openapi", "3.1.0");
	json_object(json, "info");
	json_string(json, "title", "heapcast");
	json_string(json, "version", "1");
	json_end(json, '}');
	json_object(json, "paths");
	routes_each(write_route, json);
	json_end(json, '}');
	json_object(json, "components");
	write_security_scheme(json);
	json_object(json, "schemas");
	routes_each(add_schemas, &schemas);
	schemas_write(json, &schemas);
	json_end(json, '}');
	json_end(json, '}');
	return 0;
}

const struct route openapi_route = {
	.path = "/openapi.json",
	.about = "this description",
	.answer = &openapi_answer,
	.write = openapi_write,
};
