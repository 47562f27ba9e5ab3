/*
 * Sums by backtrace, and the moment at which each backtrace had most in use: births and deaths are followed in the order of time
 * (history.h) for all backtraces at once. A part of the time tells for each how its bytes changed, and how far above what it was
 * at the part's start it got; parts are put together in order. See group_table.h.
 */
#include "collector/query/group_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/history.h"

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

static int list_groups(struct group_table *t, struct node_sums *sums)
{
	t->nodes = sums->nodes;
	t->list = calloc((size_t)sums->count + 1, sizeof(*t->list));
	if (!t->list)
		return -ENOMEM;
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
		};
	}
	t->by_node = take_ptr(sums->by_node);
	return 0;
}

static int init_of(struct group_table *table, const struct matcher *m, struct err_text *err)
{
	struct node_sums sums;
	int r = node_sums_of(&sums, m, recording_nodes(m->recording), &(struct node_sums_what){.ends = true}, err);

	*table = (struct group_table){0};
	if (r < 0)
		return r;
	r = list_groups(table, &sums);
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

	if (r < 0) {
		*table = (struct group_table){0};
		return r;
	}
	r = init_of(table, &m, err);
	matcher_done(&m);
	return r;
}

/* ---- peaks ---- */

/* Of a group, in a part of the time. */
struct course {
	bool begun;
	int64_t bytes;	   /* since the part began */
	int64_t most;	   /* the highest that it was after a step; INT64_MIN: nothing happened */
	uint64_t most_ns;  /* when first */
	uint64_t first_ns; /* first step of all */
};

struct courses {
	const struct group_table *table;
	struct course *list; /* by group */
};

static void courses_free(void *part)
{
	free(((struct courses *)part)->list);
	free(part);
}

static int courses_new(void *context, void **ret_part)
{
	const struct courses *whole = context;
	struct courses *part = calloc(1, sizeof(*part));

	if (!part)
		return -ENOMEM;
	*ret_part = part;
	part->table = whole->table;
	part->list = calloc((size_t)whole->table->count + 1, sizeof(*part->list));
	return part->list ? 0 : -ENOMEM;
}

static struct course *course_of(const struct courses *c, const struct history_event *e)
{
	const struct group_stats *group = group_table_get(c->table, e->node <= c->table->nodes ? e->node : 0);

	return group ? &c->list[group - c->table->list] : NULL;
}

/* All that happens in a nanosecond is one step. */
static void take_step(const struct courses *c, const struct history_event *events, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct course *course = course_of(c, &events[i]);

		if (!course)
			continue;
		if (!course->begun)
			*course = (struct course){.begun = true, .most = INT64_MIN, .first_ns = events[i].time_ns};
		course->bytes = (int64_t)((uint64_t)course->bytes + (uint64_t)events[i].bytes);
	}
	for (size_t i = 0; i < count; i++) {
		struct course *course = course_of(c, &events[i]);

		if (course && course->bytes > course->most) {
			course->most = course->bytes;
			course->most_ns = events[i].time_ns;
		}
	}
}

static int courses_bin(void *part, const struct history_bin *bin)
{
	for (size_t i = 0, n; i < bin->count; i += n) {
		for (n = 1; i + n < bin->count && bin->events[i + n].time_ns == bin->events[i].time_ns;)
			n++;
		take_step(part, bin->events + i, n);
	}
	return 0;
}

/* A group of which nothing was ever in use (or all of which was culled) had its peak when it began. */
static int courses_merge(void *context, void *part)
{
	const struct courses *whole = context, *c = part;

	for (uint32_t g = 0; g < whole->table->count; g++) {
		struct course *into = &whole->list[g];
		const struct course *from = &c->list[g];
		int64_t most;

		if (!from->begun)
			continue;
		if (!into->begun)
			*into = (struct course){.begun = true, .most_ns = from->first_ns};
		most = (int64_t)((uint64_t)into->bytes + (uint64_t)from->most);
		if (most > into->most) {
			into->most = most;
			into->most_ns = from->most_ns;
		}
		into->bytes = (int64_t)((uint64_t)into->bytes + (uint64_t)from->bytes);
	}
	return 0;
}

static int find_peaks(struct group_table *table, const struct matcher *m, struct err_text *err)
{
	cleanup(cleanup_free) struct course *list = calloc((size_t)table->count + 1, sizeof(*list));
	struct courses whole = {table, list};
	struct history_bins bins = {0};
	int r;

	if (!list)
		return err_set(err, -ENOMEM, "out of memory");
	r = history_visit(&(struct history_of){.matcher = m, .nodes = true}, &bins,
			  &(struct history_visitor){&whole, courses_new, courses_bin, courses_merge, courses_free},
			  err);
	history_bins_done(&bins);
	for (uint32_t g = 0; !r && g < table->count; g++)
		table->list[g].peak_ns = list[g].begun ? list[g].most_ns : table->list[g].first_ns;
	return r;
}

int group_table_init(struct group_table *table, struct view *view, const struct filter *filter,
		     bool peaks, struct err_text *err)
{
	struct matcher all;
	int r;

	matcher_init_all(&all, view->recording, filter);
	r = init_of(table, &all, err);
	if (!r && peaks)
		r = find_peaks(table, &all, err);
	if (r < 0)
		group_table_done(table);
	return r;
}

/* ---- groups of the REST API ---- */

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

static int by_node(const void *a, const void *b)
{
	const struct allocation_group *x = a, *y = b;

	return x->node < y->node ? -1 : x->node > y->node;
}

int query_allocation_groups(struct view *view, const struct filter *filter,
			    struct allocation_groups *ret_groups, struct err_text *err)
{
	cleanup(group_table_done) struct group_table all = {0}, matched = {0};
	struct allocation_groups groups = {0};
	int r = group_table_init_matched(&matched, view, filter, err);

	if (!r)
		r = group_table_init(&all, view, filter, true, err);
	if (r < 0)
		return r;
	groups.list = calloc((size_t)matched.count + 1, sizeof(*groups.list));
	if (!groups.list)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < matched.count; i++) {
		const struct group_stats *g = group_table_get(&all, matched.list[i].node);

		if (g)
			groups.list[groups.count++] =
				(struct allocation_group){.node = g->node,
							  .all = side_of(g),
							  .matched = side_of(&matched.list[i]),
							  .peak_ns = g->peak_ns};
	}
	qsort(groups.list, groups.count, sizeof(*groups.list), by_node);
	*ret_groups = groups;
	return 0;
}

void allocation_groups_done(struct allocation_groups *groups)
{
	free(groups->list);
	*groups = (struct allocation_groups){0};
}
