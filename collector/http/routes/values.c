/* Handles times, addresses, frames and parameters of the REST API. See values.h. */
#include "collector/http/routes/values.h"
#include "collector/http/routes/sql.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proto/columns.h"
#include "collector/answers/json.h"
#include "collector/http/server/sources.h"
#include "collector/query/query.h"
#include "collector/recording/info.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

void json_answer(struct json *json, struct exchange *x)
{
	x->content_type = "application/json";
	json_init(json, &x->out);
	json_object(json, NULL);
	if (x->incomplete[0])
		json_string(json, "incomplete", x->incomplete);
}

void json_times(struct json *json, const char *name, struct view *view, uint64_t ns)
{
	const struct answer_context context = frames_context(view, NULL);

	json_times_in(json, name, &context, ns);
}

uint32_t thread_tid(const struct recording *recording, uint32_t number)
{
	const struct thread_info *thread = recording_thread(recording, number);

	return thread ? thread->tid : 0;
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

int read_switch_value(const char *name, const char *value, bool *ret_on, struct err_text *err)
{
	static const struct {
		const char *word;
		bool on;
	} words[] = {{"true", true}, {"false", false}, {"1", true},
		     {"0", false},   {"yes", true},    {"no", false}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(value, words[i].word)) {
			*ret_on = words[i].on;
			return 0;
		}
	}
	return err_set(err, -EINVAL, "%s takes true or false, not \"%.60s\"", name, value);
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
		return own->read(context, view, p->name, p->value, err);
	/* The API's names have '_'; filter_set would accept '-' as well. */
	if (strchr(p->name, '-') || (takes_filter && !takes_filter(p->name)))
		return -ENOENT;
	if (!strcmp(p->name, "custom_filter"))
		return values_read_condition(view, p, filter, err);
	return filter_set(filter, view, p->name, p->value, err);
}

int read_parameters_of(struct exchange *x, struct view *view, const struct route_parameter *table,
		       void *context, struct filter *filter, bool (*takes_filter)(const char *name))
{
	for (size_t i = 0; i < x->request.parameter_count; i++) {
		const struct parameter *p = &x->request.parameters[i];
		int r;

		/* "?a=1&" and "a=" say nothing. */
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

int read_parameters(struct exchange *x, const struct route_parameter *table, void *context,
		    struct filter *filter)
{
	return read_parameters_of(x, x->source->view, table, context, filter, NULL);
}

int read_passed_over(void *context, const struct view *view, const char *name, const char *value,
		     struct err_text *err)
{
	(void)context;
	(void)view;
	(void)name;
	(void)value;
	(void)err;
	return 0;
}

static void values_encode(struct buf *to, const char *text)
{
	for (; *text; text++) {
		if (isalnum((unsigned char)*text) || strchr("-_.~", *text))
			buf_byte(to, (uint8_t)*text);
		else
			buf_printf(to, "%%%02X", (unsigned char)*text);
	}
}

void encode_filters(const struct exchange *x, const struct route_parameter *table, struct buf *to)
{
	for (size_t i = 0; i < x->request.parameter_count; i++) {
		const struct parameter *p = &x->request.parameters[i];

		if (!p->name[0] || !p->value[0] || find_parameter(table, p->name))
			continue;
		buf_byte(to, '&');
		values_encode(to, p->name);
		buf_byte(to, '=');
		values_encode(to, p->value);
	}
}

int no_parameters(struct exchange *x)
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
