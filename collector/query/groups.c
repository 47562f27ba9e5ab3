/*
 * Blocks by backtrace and by call site. One pass over the rows sums up by node of the stack, unless the sums of all rows are known;
 * sites are then made of nodes, of which there are few.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "collector/query/cursor.h"
#include "collector/query/groups.h"
#include "collector/query/whole_sums.h"

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
	if (array_reserve(&sums->list, &sums->capacity, (uint64_t)sums->count + 1,
			  sizeof(*sums->list)) < 0)
		return NULL;
	sums->list[sums->count] =
		(struct sum){.node = node, .min_size = UINT64_MAX, .first_ns = UINT64_MAX};
	return &sums->list[sums->count++];
}

/* In the order in which the nodes' first rows came. What was in use is among `alive`, if that is not NULL. */
static int list_nodes(struct sums *sums, const struct view *view, const struct node_sums *nodes,
		      const struct node_sums *alive, enum value value)
{
	for (uint32_t i = 0; i < nodes->count; i++) {
		const struct node_sum *n = &nodes->list[i];
		const struct node_sum *in_use = alive ? node_sums_get(alive, n->node) : NULL;
		struct sum *sum = sums_add(sums, n->node);

		if (!sum)
			return -ENOMEM;
		sum->frame = cursor_frame(view, cursor_at_site(view, n->node)) + 1;
		if (!alive)
			sum->value = node_sum_tally(nodes, n, value);
		else if (in_use)
			sum->value = node_sum_tally(alive, in_use, VALUE_ALLOCATED);
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

/* Functions of one name in files of one name are the same one, whatever the build and the place of the file. */
struct functions {
	struct intern files, keys;
};

static uint32_t function_key(struct functions *f, const struct view *view,
			     const struct frame *frame)
{
	const char *path = intern_get(&view->texts, frame->module);
	uint32_t file = intern_text(&f->files, module_basename(path));

	return file ? intern_pair(&f->keys, frame->name, file) : 0;
}

static int merge_sites(const struct view *view, const struct sums *nodes, enum grouping grouping,
		       struct sums *sites)
{
	struct functions functions = {0};
	struct map by_site = {0};
	int r = 0;

	for (uint32_t i = 0; i < nodes->count && !r; i++) {
		const struct sum *from = &nodes->list[i];
		const struct frame *frame = &view->frames[from->frame - 1];
		uint32_t key = grouping == GROUP_BY_SITE ? frame->site
							 : function_key(&functions, view, frame);
		uint64_t *index = key ? map_put(&by_site, key, NULL) : NULL;

		if (index && !*index && sums_add(sites, from->node))
			*index = sites->count;
		if (index && *index)
			sum_merge(&sites->list[*index - 1], from);
		else
			r = -ENOMEM;
	}
	map_done(&by_site);
	intern_done(&functions.files);
	intern_done(&functions.keys);
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

int groups_of(struct view *view, const struct node_sums *nodes, const struct node_sums *alive,
	      enum grouping grouping, enum value value, struct groups *ret_groups)
{
	cleanup(sums_done) struct sums listed = {0};
	cleanup(sums_done) struct sums sites = {0};
	int r = list_nodes(&listed, view, nodes, alive, value);

	*ret_groups = (struct groups){0};
	if (!r && grouping != GROUP_BY_BACKTRACE)
		r = merge_sites(view, &listed, grouping, &sites);
	if (!r)
		r = list_groups(view, grouping == GROUP_BY_BACKTRACE ? &listed : &sites,
				ret_groups);
	for (size_t i = 0; !r && grouping == GROUP_BY_FUNCTION && i < ret_groups->count; i++)
		ret_groups->list[i].line = 0;
	ret_groups->total = tally_usage(&listed.total);
	return r;
}

/* All rows: only what was in use at some moment takes a pass, over the blocks of that time. */
static int group_whole(struct view *view, const struct filter *filter, const struct matcher *m,
		       enum grouping grouping, enum value value, uint64_t at_ns,
		       struct groups *groups, struct err_text *err)
{
	const struct node_sums_what in_use = {.only = true, .value = value, .at_ns = at_ns};
	const struct whole_sums *whole;
	struct node_sums alive;
	int r = view_whole_sums(view, filter, value == VALUE_PEAK ? WHOLE_PEAK : 0, &whole, err);

	if (r < 0)
		return r;
	if (value != VALUE_IN_USE) {
		r = groups_of(view, &whole->sums, NULL, grouping, value, groups);
		groups->at_ns = value == VALUE_PEAK ? whole->peak_ns : at_ns;
		return r;
	}
	r = node_sums_of(&alive, m, view->nodes, &in_use, err);
	if (r < 0)
		return r;
	r = groups_of(view, &whole->sums, &alive, grouping, value, groups);
	groups->at_ns = at_ns;
	node_sums_done(&alive);
	return r;
}

static int group_matched(struct view *view, const struct filter *filter, const struct matcher *m,
			 enum grouping grouping, enum value value, uint64_t at_ns,
			 struct groups *groups, struct err_text *err)
{
	struct node_sums_what what = {.ends = true,
				      .alive = value == VALUE_IN_USE || value == VALUE_PEAK};
	struct node_sums nodes;
	int r = value_moment(view, value, at_ns, filter, &what.at_ns, err);

	if (!r)
		r = node_sums_of(&nodes, m, view->nodes, &what, err);
	if (r < 0)
		return r;
	r = groups_of(view, &nodes, NULL, grouping, value, groups);
	groups->at_ns = what.at_ns;
	node_sums_done(&nodes);
	return r;
}

int query_groups(struct view *view, const struct filter *filter, enum grouping grouping,
		 enum value value, uint64_t at_ns, struct groups *ret_groups, struct err_text *err)
{
	struct groups groups = {0};
	struct matcher m;
	int r = view_prepare(view, err);

	if (!r)
		r = matcher_init(&m, view, filter, err);
	if (r < 0)
		return r;
	if (m.everything)
		r = group_whole(view, filter, &m, grouping, value,
				at_ns == NO_TIME ? NO_TIME - 1 : at_ns, &groups, err);
	else
		r = group_matched(view, filter, &m, grouping, value, at_ns, &groups, err);
	matcher_done(&m);
	if (r < 0) {
		groups_done(&groups);
		return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
	}
	*ret_groups = groups;
	return 0;
}

void groups_done(struct groups *groups)
{
	free(groups->list);
	*groups = (struct groups){0};
}
