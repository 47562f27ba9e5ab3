/* Sums up blocks by backtrace. See group_table.h. */
#include "collector/query/sums/group_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/number.h"
#include "collector/query/sums/whole_sums.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

void group_table_done(struct group_table *table)
{
	free(table->list);
	free(table->by_node);
	*table = (struct group_table){0};
}

const struct group_stats *group_table_get(const struct group_table *table, uint32_t node)
{
	if (node > table->nodes || !table->by_node[node])
		return NULL;
	return &table->list[table->by_node[node] - 1];
}

static int group_table_list_groups(struct group_table *t, const struct node_sums *sums,
				   const uint64_t *peaks)
{
	t->nodes = sums->nodes;
	t->list = calloc((size_t)sums->count + 1, sizeof(*t->list));
	t->by_node = calloc((size_t)sums->nodes + 1, sizeof(*t->by_node));
	if (!t->list || !t->by_node)
		return -ENOMEM;
	memcpy(t->by_node, sums->by_node, ((size_t)sums->nodes + 1) * sizeof(*t->by_node));
	for (; t->count < sums->count; t->count++) {
		const struct node_sum *sum = &sums->list[t->count];

		t->list[t->count] = (struct group_stats){
			.node = sum->node,
			.allocated = node_sum_tally(sums, sum, VALUE_ALLOCATED),
			.leaked = node_sum_tally(sums, sum, VALUE_LEAKED),
			.min_size = sum->min_size,
			.max_size = sum->max_size,
			.first_ns = sum->first_ns,
			.last_ns = sum->last_ns,
			.peak_ns = peaks ? peaks[t->count] : 0,
		};
	}
	return 0;
}

int group_table_init(struct group_table *table, struct view *view, const struct filter *filter,
		     bool peaks, struct err_text *err)
{
	const struct whole_sums *whole;
	int r = view_whole_sums(view, filter, peaks ? WHOLE_GROUP_PEAKS : 0, &whole, err);

	*table = (struct group_table){0};
	if (r < 0)
		return r;
	r = group_table_list_groups(table, &whole->sums, peaks ? whole->group_peaks : NULL);
	if (r < 0)
		group_table_done(table);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

static int init_of(struct group_table *table, const struct matcher *m, bool rows,
		   struct err_text *err)
{
	struct node_sums sums;
	int r = node_sums_of(&sums, m, recording_nodes(m->recording),
			     &(struct node_sums_what){.ends = true, .rows = rows}, err);

	if (r < 0)
		return r;
	r = group_table_list_groups(table, &sums, NULL);
	node_sums_done(&sums);
	if (r < 0)
		group_table_done(table);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

int group_table_init_matched(struct group_table *table, struct view *view,
			     const struct filter *filter, struct err_text *err)
{
	struct matcher m;
	int r = matcher_init(&m, view, filter, err);

	*table = (struct group_table){0};
	if (r < 0)
		return r;
	r = m.everything ? group_table_init(table, view, filter, false, err)
			 : init_of(table, &m, false, err);
	matcher_done(&m);
	return r;
}

/* ---- groups of the REST API ---- */

/* Sums up rows only, without culled blocks. */
static int init_of_rows(struct group_table *table, struct view *view, const struct filter *filter,
			struct err_text *err)
{
	struct matcher m;
	int r = matcher_init(&m, view, filter, err);

	*table = (struct group_table){0};
	if (r < 0)
		return r;
	r = init_of(table, &m, true, err);
	matcher_done(&m);
	return r;
}

static int init_of_all_rows(struct group_table *table, struct view *view,
			    const struct filter *asked, struct err_text *err)
{
	cleanup(filter_done) struct filter all;

	filter_init(&all);
	all.cancel = asked->cancel;
	all.progress = asked->progress;
	return init_of_rows(table, view, &all, err);
}

static struct group_side side_of(const struct group_stats *g)
{
	return (struct group_side){
		.allocated = tally_usage(&g->allocated),
		.leaked_blocks = tally_usage(&g->leaked).blocks,
		.min_size = g->min_size,
		.max_size = g->max_size,
		.first_ns = g->first_ns,
		.last_ns = g->last_ns,
	};
}

static struct usage difference(const struct group_stats *less_, const struct group_stats *more)
{
	struct usage a = tally_usage(&less_->allocated), b = tally_usage(&more->allocated);

	return (struct usage){.bytes = less(b.bytes, a.bytes), .blocks = less(b.blocks, a.blocks)};
}

static int by_node(const void *a, const void *b)
{
	const struct allocation_group *x = a, *y = b;

	return x->node < y->node ? -1 : x->node > y->node;
}

/* Joins `all` and `matched` for each group that matched. `whole` has the peaks, and includes culled
 * blocks. */
static int group_table_join(const struct group_table *whole, const struct group_table *all,
			    const struct group_table *matched, struct allocation_groups *ret_groups,
			    struct err_text *err)
{
	struct allocation_groups groups = {
		.list = calloc((size_t)matched->count + 1, sizeof(*groups.list))};

	if (!groups.list)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < matched->count; i++) {
		uint32_t node = matched->list[i].node;
		const struct group_stats *g = group_table_get(all, node),
					 *w = group_table_get(whole, node);

		if (g && w)
			groups.list[groups.count++] =
				(struct allocation_group){.node = node,
							  .all = side_of(g),
							  .matched = side_of(&matched->list[i]),
							  .culled = difference(g, w),
							  .peak_ns = w->peak_ns};
	}
	qsort(groups.list, groups.count, sizeof(*groups.list), by_node);
	*ret_groups = groups;
	return 0;
}

int query_allocation_groups(struct view *view, const struct filter *filter,
			    struct allocation_groups *ret_groups, struct err_text *err)
{
	cleanup(group_table_done) struct group_table whole = {0}, matched = {0};
	int r = group_table_init_matched(&matched, view, filter, err);

	if (!r)
		r = group_table_init(&whole, view, filter, true, err);
	return r ? r : group_table_join(&whole, &whole, &matched, ret_groups, err);
}

int query_kept_groups(struct view *view, const struct filter *filter,
		      struct allocation_groups *ret_groups, struct err_text *err)
{
	cleanup(group_table_done) struct group_table whole = {0}, all = {0}, matched = {0};
	int r;

	if (!recording_culled_count(view->recording))
		return query_allocation_groups(view, filter, ret_groups, err);
	r = init_of_rows(&matched, view, filter, err);
	if (!r)
		r = init_of_all_rows(&all, view, filter, err);
	if (!r)
		r = group_table_init(&whole, view, filter, true, err);
	return r ? r : group_table_join(&whole, &all, &matched, ret_groups, err);
}

void allocation_groups_done(struct allocation_groups *groups)
{
	free(groups->list);
	*groups = (struct allocation_groups){0};
}
