/*
 * Blocks by backtrace and by call site. One pass over the rows sums up by node of the stack; sites are then made of nodes,
 * of which there are few.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "collector/query/cursor.h"
#include "collector/query/node_sums.h"
#include "collector/query/view.h"

#include "base/ban.h"

struct sum {
	uint32_t node;
	uint32_t frame; /* number + 1 of the site's frame */
	uint64_t heaviest_bytes;
	struct tally value, allocated, leaked, temporary;
	uint64_t min_size, max_size, first_ns, last_ns;
};

struct sums {
	struct sum *list;
	uint32_t count, capacity;
	struct tally total;
};

static void sums_done(struct sums *sums)
{
	free(sums->list);
}

static struct sum *sums_add(struct sums *sums, uint32_t node)
{
	if (array_reserve(&sums->list, &sums->capacity, (uint64_t)sums->count + 1, sizeof(*sums->list)) < 0)
		return NULL;
	sums->list[sums->count] =
		(struct sum){.node = node, .min_size = UINT64_MAX, .first_ns = UINT64_MAX};
	return &sums->list[sums->count++];
}

/* In the order in which the nodes' first rows came. */
static int list_nodes(struct sums *sums, const struct view *view, const struct node_sums *nodes, enum value value)
{
	for (uint32_t i = 0; i < nodes->count; i++) {
		const struct node_sum *n = &nodes->list[i];
		struct sum *sum = sums_add(sums, n->node);

		if (!sum)
			return -ENOMEM;
		sum->frame = cursor_frame(view, cursor_at_site(view, n->node)) + 1;
		sum->value = node_sum_tally(nodes, n, value);
		sum->allocated = node_sum_tally(nodes, n, VALUE_ALLOCATED);
		sum->leaked = node_sum_tally(nodes, n, VALUE_LEAKED);
		sum->temporary = node_sum_tally(nodes, n, VALUE_TEMPORARY);
		sum->min_size = n->min_size;
		sum->max_size = n->max_size;
		sum->first_ns = n->first_ns;
		sum->last_ns = n->last_ns;
		tally_merge(&sums->total, &sum->value);
	}
	return 0;
}

static int sum_rows(struct sums *sums, struct view *view, const struct filter *filter,
		    enum value value, uint64_t at_ns, struct err_text *err)
{
	struct node_sums_what what = {
		.ends = true, .alive = value == VALUE_IN_USE || value == VALUE_PEAK, .at_ns = at_ns};
	struct node_sums nodes = {0};
	struct matcher m;
	int r = matcher_init(&m, view, filter, err);

	if (!r)
		r = node_sums_of(&nodes, &m, view->nodes, &what, err);
	if (!r)
		r = list_nodes(sums, view, &nodes, value);
	node_sums_done(&nodes);
	matcher_done(&m);
	return r;
}

/* ---- sites ---- */

static void sum_merge(struct sum *into, const struct sum *from)
{
	uint64_t bytes = tally_usage(&from->value).bytes;

	if (!into->frame || bytes > into->heaviest_bytes) {
		into->heaviest_bytes = bytes;
		into->node = from->node;
		into->frame = from->frame;
	}
	tally_merge(&into->value, &from->value);
	tally_merge(&into->allocated, &from->allocated);
	tally_merge(&into->leaked, &from->leaked);
	tally_merge(&into->temporary, &from->temporary);
	if (from->min_size < into->min_size)
		into->min_size = from->min_size;
	if (from->max_size > into->max_size)
		into->max_size = from->max_size;
	if (from->first_ns < into->first_ns)
		into->first_ns = from->first_ns;
	if (from->last_ns > into->last_ns)
		into->last_ns = from->last_ns;
}

static int merge_sites(const struct view *view, const struct sums *nodes, struct sums *sites)
{
	struct map by_site = {0};
	int r = 0;

	for (uint32_t i = 0; i < nodes->count && !r; i++) {
		const struct sum *from = &nodes->list[i];
		uint64_t *index = map_put(&by_site, view->frames[from->frame - 1].site, NULL);

		if (index && !*index && sums_add(sites, from->node))
			*index = sites->count;
		if (index && *index)
			sum_merge(&sites->list[*index - 1], from);
		else
			r = -ENOMEM;
	}
	map_done(&by_site);
	return r;
}

/* ---- the result ---- */

static struct group group_of(const struct view *view, const struct sum *sum)
{
	const struct frame *frame = &view->frames[sum->frame - 1];

	return (struct group){
		.node = sum->node,
		.function = intern_get(&view->names, frame->name),
		.file = intern_get(&view->texts, frame->file),
		.module = intern_get(&view->texts, frame->module),
		.line = frame->line,
		.value = tally_usage(&sum->value),
		.allocated = tally_usage(&sum->allocated),
		.leaked = tally_usage(&sum->leaked),
		.temporary = tally_usage(&sum->temporary),
		.min_size = sum->min_size,
		.max_size = sum->max_size,
		.first_ns = sum->first_ns,
		.last_ns = sum->last_ns,
	};
}

static int heaviest_first(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->value.bytes != y->value.bytes)
		return x->value.bytes > y->value.bytes ? -1 : 1;
	if (x->value.blocks != y->value.blocks)
		return x->value.blocks > y->value.blocks ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Groups in which nothing is of the value that was asked for are left out. */
static int list_groups(const struct view *view, const struct sums *sums, struct groups *groups)
{
	groups->list = calloc((size_t)sums->count + 1, sizeof(*groups->list));
	if (!groups->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < sums->count; i++) {
		const struct tally *value = &sums->list[i].value;

		if (value->blocks || tally_sampled(value))
			groups->list[groups->count++] = group_of(view, &sums->list[i]);
	}
	qsort(groups->list, groups->count, sizeof(*groups->list), heaviest_first);
	return 0;
}

int query_groups(struct view *view, const struct filter *filter, enum grouping grouping,
		 enum value value, uint64_t at_ns, struct groups *ret_groups, struct err_text *err)
{
	cleanup(sums_done) struct sums nodes = {0};
	cleanup(sums_done) struct sums sites = {0};
	struct groups groups = {0};
	int r = view_prepare(view, err);

	if (!r)
		r = value_moment(view, value, at_ns, filter, &at_ns, err);
	if (r < 0)
		return r;
	r = sum_rows(&nodes, view, filter, value, at_ns, err);
	if (!r && grouping == GROUP_BY_SITE)
		r = merge_sites(view, &nodes, &sites);
	if (!r)
		r = list_groups(view, grouping == GROUP_BY_SITE ? &sites : &nodes, &groups);
	if (r == -ENOMEM)
		err_set(err, r, "out of memory");
	if (r < 0)
		return r;
	groups.total = tally_usage(&nodes.total);
	*ret_groups = groups;
	return 0;
}

void groups_done(struct groups *groups)
{
	free(groups->list);
	*groups = (struct groups){0};
}
