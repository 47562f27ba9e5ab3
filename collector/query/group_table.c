/*
 * Sums by backtrace, and the moment at which each backtrace had most in use: births and deaths of some groups at a time, as many as
 * there is room for, are gathered, put in order of group and time, and followed. See group_table.h.
 */
#include "collector/query/group_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/query/culled.h"
#include "collector/query/matcher.h"

#include "base/ban.h"

#define EVENTS_MAX (4u << 20)

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

static struct group_stats *stats_of(struct group_table *t, uint32_t node)
{
	if (node > t->nodes)
		node = 0;
	if (t->by_node[node])
		return &t->list[t->by_node[node] - 1];
	if (t->count == t->capacity) {
		uint32_t capacity = t->capacity ? 2 * t->capacity : 256;
		struct group_stats *list = realloc(t->list, capacity * sizeof(*list));

		if (!list)
			return NULL;
		t->list = list;
		t->capacity = capacity;
	}
	t->list[t->count] =
		(struct group_stats){.node = node, .min_size = UINT64_MAX, .first_ns = UINT64_MAX};
	t->by_node[node] = ++t->count;
	return &t->list[t->count - 1];
}

static void add_row(struct group_stats *g, const struct row_block *block, uint32_t i)
{
	uint64_t size = block->size[i], weight = row_weight(block, i), birth = block->birth_ns[i];

	g->rows++;
	tally_add(&g->allocated, size, weight);
	if (row_leaked(block, i))
		tally_add(&g->leaked, size, weight);
	if (size < g->min_size)
		g->min_size = size;
	if (size > g->max_size)
		g->max_size = size;
	if (birth < g->first_ns)
		g->first_ns = birth;
	if (birth > g->last_ns)
		g->last_ns = birth;
}

static void add_culled(struct group_stats *g, const struct culled_row *row)
{
	tally_add_culled(&g->allocated, row);
	if (row->size_least < g->min_size)
		g->min_size = row->size_least;
	if (row->size_most > g->max_size)
		g->max_size = row->size_most;
	if (row->first_ns < g->first_ns)
		g->first_ns = row->first_ns;
	if (row->last_ns > g->last_ns)
		g->last_ns = row->last_ns;
}

static int add_rows(struct group_table *t, struct matcher *m, struct err_text *err)
{
	for (uint32_t b = 0; b < recording_blocks(m->recording); b++) {
		const struct row_block *block = recording_block(m->recording, b);
		uint32_t count = matcher_block(m, block);

		if (matcher_cancelled(m, err))
			return -ECANCELED;
		for (uint32_t i = 0; i < count; i++) {
			struct group_stats *g;

			if (!matcher_row(m, block, i))
				continue;
			g = stats_of(t, block->stack[i]);
			if (!g)
				return err_set(err, -ENOMEM, "out of memory");
			add_row(g, block, i);
		}
	}
	culled_each(m, row)
	{
		struct group_stats *g = stats_of(t, row->stack);

		if (!g)
			return err_set(err, -ENOMEM, "out of memory");
		add_culled(g, row);
	}
	return 0;
}

int group_table_init_matched(struct group_table *table, struct view *view,
			     const struct filter *filter, struct err_text *err)
{
	struct matcher m;
	int r = matcher_init(&m, view, filter, err);

	*table = (struct group_table){.nodes = recording_nodes(view->recording)};
	if (r < 0)
		return r;
	table->by_node = calloc((size_t)table->nodes + 1, sizeof(*table->by_node));
	r = table->by_node ? add_rows(table, &m, err) : err_set(err, -ENOMEM, "out of memory");
	matcher_done(&m);
	if (r < 0)
		group_table_done(table);
	return r;
}

/* ---- peaks ---- */

struct step {
	uint64_t time_ns;
	int64_t bytes;
	uint32_t group;
};

struct gathering {
	struct step *list;
	size_t count, max;
	uint32_t first, end; /* groups */
};

static int by_group(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void put(struct gathering *g, uint64_t time_ns, int64_t bytes, uint32_t group)
{
	if (g->count < g->max)
		g->list[g->count++] = (struct step){time_ns, bytes, group};
}

static void gather_row(const struct group_table *t, struct gathering *g,
		       const struct row_block *block, uint32_t i)
{
	uint32_t node = block->stack[i] <= t->nodes ? block->stack[i] : 0, group = t->by_node[node];
	uint64_t size = block->size[i], weight = row_weight(block, i), birth = block->birth_ns[i],
		 death = block->death_ns[i];
	int64_t bytes = (int64_t)(weight > size && size ? weight : size);

	if (!group || group - 1 < g->first || group - 1 >= g->end)
		return;
	put(g, birth, bytes, group - 1);
	if (death != NO_TIME)
		put(g, death < birth ? birth : death, -bytes, group - 1);
}

static void follow(struct group_table *t, const struct step *steps, size_t count)
{
	int64_t in_use = 0, most = 0;

	for (size_t i = 0; i < count; i++) {
		bool begins = !i || steps[i - 1].group != steps[i].group;
		bool ends = i + 1 == count || steps[i + 1].group != steps[i].group;

		if (begins) {
			in_use = most = 0;
			t->list[steps[i].group].peak_ns = steps[i].time_ns;
		}
		in_use += steps[i].bytes;
		if ((ends || steps[i + 1].time_ns != steps[i].time_ns) && in_use > most) {
			most = in_use;
			t->list[steps[i].group].peak_ns = steps[i].time_ns;
		}
	}
}

static int gather(struct group_table *t, struct matcher *m, struct gathering *g,
		  struct err_text *err)
{
	g->count = 0;
	for (uint32_t b = 0; b < recording_blocks(m->recording); b++) {
		const struct row_block *block = recording_block(m->recording, b);
		uint32_t count = matcher_block(m, block);

		if (matcher_cancelled(m, err))
			return -ECANCELED;
		for (uint32_t i = 0; i < count; i++)
			gather_row(t, g, block, i);
	}
	qsort(g->list, g->count, sizeof(*g->list), by_group);
	follow(t, g->list, g->count);
	return 0;
}

static int find_peaks(struct group_table *t, struct matcher *m, size_t events_max,
		      struct err_text *err)
{
	struct gathering g = {0};
	int r = 0;

	for (uint32_t first = 0; !r && first < t->count; first = g.end) {
		uint64_t events = 0;

		/* One group at least, however big. */
		for (g.end = first; g.end < t->count; g.end++) {
			uint64_t more = 2 * t->list[g.end].rows;

			if (g.end > first && events + more > events_max)
				break;
			events += more;
		}
		g.first = first;
		if (events > g.max) {
			free(take_ptr(g.list));
			g.max = events;
			g.list = malloc(g.max * sizeof(*g.list));
		}
		r = g.list ? gather(t, m, &g, err) : err_set(err, -ENOMEM, "out of memory");
	}
	free(g.list);
	return r;
}

int group_table_peaks(struct group_table *table, struct view *view, const atomic_bool *cancelled,
		      size_t events_max, struct err_text *err)
{
	struct filter all;
	struct matcher m;
	int r;

	filter_init(&all);
	all.cancelled = cancelled;
	r = group_table_init_matched(table, view, &all, err);
	if (r < 0)
		return r;
	r = matcher_init(&m, view, &all, err);
	if (!r) {
		r = find_peaks(table, &m, events_max, err);
		matcher_done(&m);
	}
	if (r < 0)
		group_table_done(table);
	return r;
}

int group_table_init(struct group_table *table, struct view *view, const atomic_bool *cancelled,
		     bool peaks, struct err_text *err)
{
	struct filter all;

	if (peaks)
		return group_table_peaks(table, view, cancelled, EVENTS_MAX, err);
	filter_init(&all);
	all.cancelled = cancelled;
	return group_table_init_matched(table, view, &all, err);
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
		r = group_table_init(&all, view, filter->cancelled, true, err);
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
