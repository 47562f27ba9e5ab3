/* Handles parameters of the REST API. See values.h. */
#include "collector/http/routes/values.h"
#include "collector/http/routes/parameters.h"
#include "collector/http/routes/sql_limits.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "collector/answers/json.h"
#include "collector/http/server/sources.h"
#include "collector/query/query.h"

#include "base/ban.h"

void json_answer(struct json *json, struct exchange *x)
{
	json_init(json, &x->out);
	json_object(json, NULL);
	if (x->incomplete[0])
		json_string(json, "incomplete", x->incomplete);
}

void json_graph_urls(struct json *json, const struct exchange *x, const char *filter,
		     uint64_t value, const char *more)
{
	cleanup(buf_done) struct buf url = {0};
	const char *text;

	buf_printf(&url, "/data/%s/export/graph?%s=%" PRIu64 "%s", x->source->id, filter, value,
		   more);
	text = buf_text(&url);
	json_string(json, "graph_url", text ? text : "");
	buf_string(&url, "&width=400&height=100");
	text = buf_text(&url);
	json_string(json, "graph_preview_url", text ? text : "");
}

static int values_read_condition(struct view *view, const struct parameter *p,
				 struct filter *filter, struct err_text *err)
{
	struct sql_limits limits = http_sql_limits(filter->cancel.asked, filter->progress);
	int r = sql_add_condition(filter, view, p->value, &limits, err);

	return r < 0 ? err_prefix(err, r, "custom_filter") : 0;
}

static const struct route_parameter *find_parameter(const struct route_parameter *table,
						    const char *name)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}

static int read_parameter(struct view *view, const struct parameter *p,
			  const struct route_parameter *table, void *context, struct filter *filter,
			  bool (*takes_filter)(const char *name), struct err_text *err)
{
	const struct route_parameter *own = find_parameter(table, p->name);

	if (own)
		return parameter_read(own, context, view, p->value, err);
	/* The API spells names with '_'. filter_set would also accept '-'. */
	if (strchr(p->name, '-') || (takes_filter && !takes_filter(p->name)))
		return -ENOENT;
	if (!strcmp(p->name, "custom_filter"))
		return values_read_condition(view, p, filter, err);
	return filter_set(filter, view, p->name, p->value, err);
}

bool takes_none(const char *name)
{
	(void)name;
	return false;
}

int read_parameters_of(struct exchange *x, struct view *view, const struct route_parameter *table,
		       void *context, struct filter *filter, bool (*takes_filter)(const char *name))
{
	for (size_t i = 0; i < x->request.parameter_count; i++) {
		const struct parameter *p = &x->request.parameters[i];
		int r;

		/* Skips parameters without a name or a value, as in "?a=1&" and "a=". */
		if (!p->name[0] || !p->value[0])
			continue;
		if (!strcmp(p->name, "custom_filter") &&
		    asked_get(&x->request, p->name) != p->value)
			r = err_set(&x->err, -EINVAL,
				    "custom_filter is there twice: join conditions by \"and\"");
		else
			r = read_parameter(view, p, table, context, filter, takes_filter, &x->err);
		if (r == -ENOENT)
			r = err_set(&x->err, -EINVAL, "no parameter is called \"%.60s\" here",
				    p->name);
		if (r < 0) {
			snprintf(x->parameter, sizeof(x->parameter), "%s", p->name);
			return r;
		}
	}
	return 0;
}

#define UNRESERVED "-_.~" /* beside letters and digits: RFC 3986, 2.3 */

static void values_encode(struct buf *to, const char *text, const char *kept)
{
	for (; *text; text++) {
		if (isalnum((unsigned char)*text) || strchr(kept, *text))
			buf_byte(to, (uint8_t)*text);
		else
			buf_printf(to, "%%%02X", (unsigned char)*text);
	}
}

void encode_path(struct buf *to, const char *path)
{
	values_encode(to, path, UNRESERVED "/");
}

void encode_parameter(struct buf *to, const struct parameter *p)
{
	values_encode(to, p->name, UNRESERVED);
	buf_byte(to, '=');
	values_encode(to, p->value, UNRESERVED);
}

void encode_filters(const struct exchange *x, const struct route_parameter *table, struct buf *to)
{
	for (size_t i = 0; i < x->request.parameter_count; i++) {
		const struct parameter *p = &x->request.parameters[i];

		if (!p->name[0] || !p->value[0] || find_parameter(table, p->name))
			continue;
		buf_byte(to, '&');
		encode_parameter(to, p);
	}
}
