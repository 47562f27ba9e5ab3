/*
 * Groups blocks by backtrace and by call site. One pass over the rows sums up by node of the stack,
 * unless the sums of all rows are known. Sites are then made from nodes. There may be as many sites
 * as nodes, so only one sum per node is held at a time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "collector/columns/row_block.h"
#include "collector/query/sweep/cursor.h"
#include "collector/query/sums/groups.h"
#include "collector/query/sums/whole_sums.h"
#include "collector/query/time/peak.h"

#include "base/ban.h"

struct sum {
	uint32_t node;
	uint32_t frame; /* number + 1 of the site's frame */
	uint64_t heaviest_bytes;
	struct tally value, allocated, leaked, freed;
	uint64_t min_size, max_size, first_ns, last_ns;
};

/* The numbers of a node that the query needs. What was in use is in `alive`, if that is not
 * NULL. */
static struct sum groups_sum_of(const struct view *view, const struct groups_question *q,
				const struct node_sums *nodes, const struct node_sum *n,
				const struct node_sums *alive)
{
	const struct node_sum *in_use = alive ? node_sums_get(alive, n->node) : NULL;
	struct sum sum = {
		.node = n->node,
		.frame = cursor_frame(view, cursor_at_site(view, &q->hiding, n->node)) + 1,
		.allocated = node_sum_tally(nodes, n, VALUE_ALLOCATED),
		.leaked = node_sum_tally(nodes, n, VALUE_LEAKED),
		.freed = node_sum_tally(nodes, n, VALUE_FREED),
		.min_size = n->min_size,
		.max_size = n->max_size,
		.first_ns = n->first_ns,
		.last_ns = n->last_ns,
	};

	if (!alive)
		sum.value = node_sum_tally(nodes, n, q->value);
	else if (in_use)
		sum.value = node_sum_tally(alive, in_use, VALUE_ALLOCATED);
	return sum;
}

/* ---- sites ---- */

static void sum_merge(struct sum *into, const struct sum *from)
{
	uint64_t bytes = tally_usage(&from->value).bytes;

	if (bytes > into->heaviest_bytes) {
		into->heaviest_bytes = bytes;
		into->node = from->node;
		into->frame = from->frame;
	}
	tally_merge(&into->value, &from->value);
	tally_merge(&into->allocated, &from->allocated);
	tally_merge(&into->leaked, &from->leaked);
	tally_merge(&into->freed, &from->freed);
	if (from->min_size < into->min_size)
		into->min_size = from->min_size;
	if (from->max_size > into->max_size)
		into->max_size = from->max_size;
	if (from->first_ns < into->first_ns)
		into->first_ns = from->first_ns;
	if (from->last_ns > into->last_ns)
		into->last_ns = from->last_ns;
}

struct sites {
	struct group_keys keys;
	struct sum *list;
	uint32_t count, capacity;
	struct map index; /* key -> index + 1 */
};

static void sites_done(struct sites *sites)
{
	free(sites->list);
	map_done(&sites->index);
	group_keys_done(&sites->keys);
}

void group_keys_done(struct group_keys *keys)
{
	intern_done(&keys->files);
	intern_done(&keys->keys);
}

/* Functions with the same name in files with the same basename are the same, whatever the build and
 * the folder of the file. */
uint32_t group_key(struct group_keys *keys, const struct view *view, const struct frame *site)
{
	uint32_t file;

	if (keys->grouping == GROUP_BY_SITE)
		return site->site;
	file = intern_text(&keys->files, module_basename(intern_get(&view->texts, site->module)));
	if (!file || keys->grouping == GROUP_BY_MODULE)
		return file;
	return intern_pair(&keys->keys, site->name, file);
}

static int sites_add(struct sites *sites, const struct view *view, const struct sum *sum)
{
	const struct frame *frame = &view->frames[sum->frame - 1];
	uint32_t key = group_key(&sites->keys, view, frame);
	uint64_t *index = key ? map_put(&sites->index, key, NULL) : NULL;

	if (!index)
		return -ENOMEM;
	if (*index) {
		sum_merge(&sites->list[*index - 1], sum);
		return 0;
	}
	if (array_reserve(&sites->list, &sites->capacity, (uint64_t)sites->count + 1,
			  sizeof(*sites->list)) < 0)
		return -ENOMEM;
	sites->list[sites->count] = *sum;
	sites->list[sites->count].heaviest_bytes = tally_usage(&sum->value).bytes;
	*index = ++sites->count;
	return 0;
}

/* ---- result ---- */

static struct group groups_group_of(const struct view *view, const struct sum *sum)
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
		.freed = tally_usage(&sum->freed),
		.min_size = sum->min_size,
		.max_size = sum->max_size,
		.first_ns = sum->first_ns,
		.last_ns = sum->last_ns,
	};
}

static int groups_heaviest_first(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->value.bytes != y->value.bytes)
		return x->value.bytes > y->value.bytes ? -1 : 1;
	if (x->value.blocks != y->value.blocks)
		return x->value.blocks > y->value.blocks ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int groups_reserve(struct groups *groups, size_t count)
{
	groups->list = calloc(count + 1, sizeof(*groups->list));
	return groups->list ? 0 : -ENOMEM;
}

/* Adds a group, unless `value` counts nothing in it. */
static void groups_add(struct groups *groups, const struct view *view, const struct sum *sum)
{
	if (sum->value.blocks || tally_sampled(&sum->value))
		groups->list[groups->count++] = groups_group_of(view, sum);
}

/* Each node is held only once at a time: as a sum of its site, then as a group. */
static int add_all(struct groups *groups, struct sites *sites, const struct view *view,
		   const struct groups_question *q, const struct node_sums *nodes,
		   const struct node_sums *alive)
{
	bool by_site = sites->keys.grouping != GROUP_BY_BACKTRACE;
	struct tally total = {0};
	int r = by_site ? 0 : groups_reserve(groups, nodes->count);

	for (uint32_t i = 0; !r && i < nodes->count; i++) {
		struct sum sum = groups_sum_of(view, q, nodes, &nodes->list[i], alive);

		tally_merge(&total, &sum.value);
		if (by_site)
			r = sites_add(sites, view, &sum);
		else
			groups_add(groups, view, &sum);
	}
	groups->total = tally_total(&total, view->recording, q->value, q->at_ns);
	groups->at_ns = q->at_ns;
	groups->hide = q->filter->hide;
	if (!r && by_site)
		r = groups_reserve(groups, sites->count);
	for (uint32_t i = 0; !r && i < sites->count; i++)
		groups_add(groups, view, &sites->list[i]);
	return r;
}

int groups_of(struct view *view, const struct groups_question *question,
	      const struct node_sums *nodes, const struct node_sums *alive,
	      struct groups *ret_groups)
{
	enum grouping grouping = question->grouping;
	cleanup(sites_done) struct sites sites = {.keys.grouping = grouping};
	int r;

	*ret_groups = (struct groups){0};
	r = add_all(ret_groups, &sites, view, question, nodes, alive);
	if (!r && ret_groups->count)
		qsort(ret_groups->list, ret_groups->count, sizeof(*ret_groups->list),
		      groups_heaviest_first);
	for (size_t i = 0; !r && grouping == GROUP_BY_FUNCTION && i < ret_groups->count; i++)
		ret_groups->list[i].line = 0;
	return r;
}

/* Groups all rows from the known sums. Only what was in use at a given moment needs a pass, over
 * the blocks of rows of that time. */
static int group_whole(struct view *view, struct groups_question *q, const struct matcher *m,
		       struct groups *groups, struct err_text *err)
{
	enum value value = q->value;
	const struct node_sums_what in_use = {.only = true, .value = value, .at_ns = q->at_ns};
	const struct whole_sums *whole;
	struct node_sums alive;
	int r = view_whole_sums(view, q->filter, value == VALUE_PEAK ? WHOLE_PEAK : 0, &whole, err);

	if (r < 0)
		return r;
	if (value == VALUE_PEAK)
		q->at_ns = whole->peak_ns;
	if (value != VALUE_IN_USE)
		return groups_of(view, q, &whole->sums, NULL, groups);
	r = node_sums_of(&alive, m, view->nodes, &in_use, err);
	if (r < 0)
		return r;
	r = groups_of(view, q, &whole->sums, &alive, groups);
	node_sums_done(&alive);
	return r;
}

static int group_matched(struct view *view, struct groups_question *q, const struct matcher *m,
			 struct groups *groups, struct err_text *err)
{
	struct node_sums_what what = {.ends = true,
				      .alive = q->value == VALUE_IN_USE || q->value == VALUE_PEAK};
	struct node_sums nodes;
	int r = value_moment(view, q->value, q->at_ns, q->filter, &what.at_ns, err);

	if (!r)
		r = node_sums_of(&nodes, m, view->nodes, &what, err);
	if (r < 0)
		return r;
	q->at_ns = what.at_ns;
	r = groups_of(view, q, &nodes, NULL, groups);
	node_sums_done(&nodes);
	return r;
}

int query_groups(struct view *view, const struct filter *filter, enum grouping grouping,
		 enum value value, uint64_t at_ns, struct groups *ret_groups, struct err_text *err)
{
	struct groups_question q = {
		.grouping = grouping, .value = value, .at_ns = at_ns, .filter = filter};
	struct groups groups = {0};
	struct matcher m;
	int r = hiding_of(&q.hiding, view, filter, err);

	if (!r)
		r = matcher_init(&m, view, filter, err);
	if (r < 0)
		return r;
	if (m.everything) {
		q.at_ns = at_ns == NO_TIME ? NO_TIME - 1 : at_ns;
		r = group_whole(view, &q, &m, &groups, err);
	} else {
		r = group_matched(view, &q, &m, &groups, err);
	}
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
