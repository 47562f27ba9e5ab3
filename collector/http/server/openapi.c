/* /openapi.json: describes the API for programs (OpenAPI 3.1). It is made from the tables that
 * write answers and parse requests. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collector/answers/json.h"
#include "collector/formats/formats.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/schema.h"
#include "collector/http/routes/values.h"
#include "collector/query/query.h"

#include "base/ban.h"

struct filter_name {
	const char *name, *takes, *about;
};

#define FILTER_NAME(name, takes, about) {name, takes, about},
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
	json_string(json, "description", text);
	json_object(json, "schema");
	json_string(json, "type", "string");
	if (is_format)
		write_formats(json);
	json_end(json, '}');
	json_end(json, '}');
}

/* The command line writes filters with '-', this API with '_'. */
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

static void write_parameters(struct json *json, const struct route_info *info)
{
	json_array(json, "parameters");
	if (info->of_recording)
		write_parameter(json, "id", "path", NULL,
				"32 hexadecimal digits, a unique beginning of them, or \"last\"");
	if (info->has_number)
		write_parameter(json, "number", "path", NULL, "a backtrace_id");
	for (const struct route_parameter *p = info->parameters; p && p->name; p++)
		write_parameter(json, p->name, "query", p->takes, p->about);
	for (const struct filter_name *f = filter_names; info->filters && f->name; f++)
		write_filter(json, f, info->takes_filter);
	json_end(json, ']');
}

static void write_member(struct json *json, const char *name, const char *type, const char *about)
{
	json_object(json, name);
	json_string(json, "type", type);
	json_string(json, "description", about);
	json_end(json, '}');
}

static void write_text_body(struct json *json)
{
	json_object(json, "requestBody");
	json_object(json, "content");
	json_object(json, "text/plain");
	json_object(json, "schema");
	json_string(json, "type", "string");
	json_string(json, "description", "statements of SQL");
	json_end(json, '}');
	json_end(json, '}');
	json_end(json, '}');
	json_end(json, '}');
}

static void write_file_body(struct json *json)
{
	json_object(json, "requestBody");
	json_bool(json, "required", true);
	json_object(json, "content");
	json_object(json, "application/octet-stream");
	json_end(json, '}');
	json_end(json, '}');
	json_end(json, '}');
}

static void write_order_body(struct json *json, const struct route_parameter *members)
{
	json_object(json, "requestBody");
	json_bool(json, "required", true);
	json_object(json, "content");
	json_object(json, "application/json");
	json_object(json, "schema");
	json_string(json, "type", "object");
	json_object(json, "properties");
	for (const struct route_parameter *m = members; m->name; m++)
		write_member(json, m->name, m->takes, m->about);
	json_end(json, '}');
	json_end(json, '}');
	json_end(json, '}');
	json_end(json, '}');
	json_end(json, '}');
}

static void write_incomplete(struct json *json)
{
	json_object(json, "headers");
	json_object(json, "Heapcast-Incomplete");
	json_string(
		json, "description",
		"what the recording does not hold, in a sentence: losses, a start or an end that "
		"was missed, damage. Only where there is something to say; an answer that is an "
		"object has it as its member \"incomplete\", too");
	json_object(json, "schema");
	json_string(json, "type", "string");
	json_end(json, '}');
	json_end(json, '}');
	json_end(json, '}');
}

/* For a row of events the schema says what the data of each event is. */
static void write_schema(struct json *json, const struct route_info *info)
{
	bool events = !strcmp(info->content_type, "text/event-stream");

	if (!info->answer)
		return;
	if (events)
		json_object(json, "x-event-data");
	schema_refer(json, info->answer, info->is_array);
	if (events)
		json_end(json, '}');
}

static void write_responses(struct json *json, const struct route_info *info)
{
	char type[64];

	snprintf(type, sizeof(type), "%.*s", (int)strcspn(info->content_type, ";"),
		 info->content_type);
	json_object(json, "responses");
	json_object(json, "200");
	json_string(json, "description", info->about);
	if (info->of_recording)
		write_incomplete(json);
	json_object(json, "content");
	json_object(json, type);
	write_schema(json, info);
	json_end(json, '}');
	json_end(json, '}');
	json_end(json, '}');
	json_object(json, "400");
	json_string(json, "description",
		    "{\"error\", \"parameter\"}: a parameter was not understood");
	json_end(json, '}');
	if (info->needs_token) {
		json_object(json, "401");
		json_string(json, "description",
			    "{\"error\"}: the token is missing, or is another one");
		json_end(json, '}');
	}
	json_end(json, '}');
}

/* Alternatives, each an object with a list of scopes (OpenAPI 3.1, 4.8.30). */
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
		    "needed where an operation says so; from elsewhere always.");
	json_end(json, '}');
	json_end(json, '}');
}

static void write_method(struct json *json, const struct route_info *info, bool post)
{
	json_object(json, post ? "post" : "get");
	json_string(json, "summary", info->about);
	if (info->format && info->format->title) {
		json_string(json, "x-title", info->format->title);
		json_string(json, "x-file", info->format->file);
	}
	write_parameters(json, info);
	if (info->needs_token)
		write_security(json);
	if (info->method == ROUTE_ORDER)
		write_order_body(json, info->body);
	else if (info->method == ROUTE_FILE)
		write_file_body(json);
	else if (post)
		write_text_body(json);
	write_responses(json, info);
	json_end(json, '}');
}

static void write_route(void *context, const struct route_info *info)
{
	struct json *json = context;

	json_object(json, info->path);
	if (info->method == ROUTE_GET || info->method == ROUTE_GET_OR_QUESTION)
		write_method(json, info, false);
	if (info->method != ROUTE_GET)
		write_method(json, info, true);
	json_end(json, '}');
}

static void add_schemas(void *context, const struct route_info *info)
{
	if (info->answer)
		schemas_add(context, info->answer,
			    info->of_recording && !info->is_array && info->method != ROUTE_ORDER);
}

int openapi_step(struct exchange *x)
{
	struct schemas schemas = {.count = 0};
	struct json json;
	int r = no_parameters(x);

	if (r < 0)
		return r;
	x->content_type = "application/json";
	json_init(&json, &x->out);
	json_object(&json, NULL);
	json_string(&json, "openapi", "3.1.0");
	json_object(&json, "info");
	json_string(&json, "title", "heapcast");
	json_string(&json, "version", "1");
	json_end(&json, '}');
	json_object(&json, "paths");
	routes_each(write_route, &json);
	json_end(&json, '}');
	json_object(&json, "components");
	write_security_scheme(&json);
	json_object(&json, "schemas");
	routes_each(add_schemas, &schemas);
	schemas_write(&json, &schemas);
	json_end(&json, '}');
	json_end(&json, '}');
	json_end(&json, '}');
	return buf_error(&x->out);
}
