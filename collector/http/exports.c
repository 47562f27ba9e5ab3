/* /data/ID/export/...: files for people and other tools, made by collector/export. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "collector/export/export.h"
#include "collector/http/routes.h"
#include "collector/http/sources.h"
#include "collector/http/values.h"
#include "collector/query/query.h"

#include "base/ban.h"

struct export_parameters {
	enum value value;
	enum export_weight weight;
	uint64_t at_ns;
};

static int read_value(void *context, const struct view *view, const char *name, const char *value,
		      struct err_text *err)
{
	struct export_parameters *p = context;

	(void)view;
	if (value_parse(value, &p->value) < 0)
		return err_set(
			err, -EINVAL,
			"%s takes allocated, leaked, temporary, in-use or peak, not \"%.60s\"",
			name, value);
	return 0;
}

static int read_weight(void *context, const struct view *view, const char *name, const char *value,
		       struct err_text *err)
{
	struct export_parameters *p = context;

	(void)view;
	if (!strcmp(value, "bytes"))
		p->weight = EXPORT_BYTES;
	else if (!strcmp(value, "blocks"))
		p->weight = EXPORT_BLOCKS;
	else
		return err_set(err, -EINVAL, "%s takes bytes or blocks, not \"%.60s\"", name,
			       value);
	return 0;
}

static int read_at(void *context, const struct view *view, const char *name, const char *value,
		   struct err_text *err)
{
	struct export_parameters *p = context;
	int r = query_time(view, name, value, &p->at_ns, err);

	p->value = VALUE_IN_USE;
	return r < 0 ? r : 0;
}

static const struct route_parameter parameters[] = {
	{"value", read_value},
	{"weight", read_weight},
	{"at", read_at},
	{0},
};

static int make_tree(struct exchange *x, struct export_parameters *p, struct tree *ret_tree)
{
	struct filter filter;
	int r;

	*p = (struct export_parameters){.value = VALUE_ALLOCATED, .at_ns = NO_TIME};
	filter_init(&filter);
	filter.cancelled = &x->cancelled;
	r = read_parameters(x, parameters, p, &filter);
	if (!r)
		r = query_tree(x->source->view, &filter, p->value, p->at_ns, ret_tree, &x->err);
	filter_done(&filter);
	return r;
}

int flamegraph_step(struct exchange *x)
{
	const struct process_info *process = recording_process(x->source->recording);
	cleanup(tree_done) struct tree tree = {0};
	struct export_parameters p;
	char subtitle[256];
	struct flamegraph_options options = {.title = process->command_line, .subtitle = subtitle};
	int r = make_tree(x, &p, &tree);

	if (r < 0)
		return r;
	options.weight = p.weight;
	snprintf(subtitle, sizeof(subtitle), "%s %s, pid %u on %s", value_name(p.value),
		 p.weight == EXPORT_BYTES ? "bytes" : "blocks", process->pid,
		 process->host ? process->host : "?");
	x->content_type = "image/svg+xml";
	return export_flamegraph(&tree, &options, &x->out, &x->err);
}

int collapsed_step(struct exchange *x)
{
	cleanup(tree_done) struct tree tree = {0};
	struct export_parameters p;
	int r = make_tree(x, &p, &tree);

	if (r < 0)
		return r;
	x->content_type = "text/plain; charset=utf-8";
	return export_collapsed(&tree, p.weight, &x->out, &x->err);
}
