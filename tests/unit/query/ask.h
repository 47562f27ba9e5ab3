#pragma once
/*
 * Each question, of any view and with any filter. The answer adds up to a number, which another
 * answer hardly adds up to (ask_digest.h).
 */
#include <stdlib.h>

#include "collector/query/match/map_spans.h"
#include "collector/query/match/mappings.h"
#include "collector/query/sums/fragmentation.h"
#include "collector/query/sums/in_use.h"
#include "collector/query/sums/live.h"
#include "collector/query/query.h"
#include "collector/query/sweep/events.h"
#include "collector/query/survivors.h"
#include "tests/unit/query/ask_digest.h"
#include "tests/unit/query/recording.h"

#define ASK_MIDDLE 800 /* a moment of the recording */

/* What is asked for, by questions that can count several things. */
static struct {
	enum value value;
	uint64_t at_ns;
	uint32_t buckets, at_once;
	bool leaked_only, blocks;
} ask_about = {.value = VALUE_ALLOCATED, .at_ns = ASK_MIDDLE, .buckets = 7, .at_once = 50};

static inline int ask_report(struct view *view, const struct filter *f, uint64_t *d)
{
	struct report report;
	int r = query_report(view, f, &report, NULL);

	if (!r)
		ask_digest_report(d, &report);
	return r;
}

static inline int ask_culled(struct view *view, const struct filter *f, uint64_t *d)
{
	struct culled_usage culled;
	int r = query_culled(view, f, &culled, NULL);

	if (r)
		return r;
	ask_digest_usage(d, &culled.matched);
	ask_digest_usage(d, &culled.unknown);
	return 0;
}

static inline int ask_groups(struct view *view, const struct filter *f, uint64_t *d)
{
	for (enum grouping by = GROUP_BY_BACKTRACE; by < GROUPINGS; by++) {
		struct groups groups;
		int r = query_groups(view, f, by, by % 2 ? VALUE_PEAK : ask_about.value,
				     ask_about.at_ns, &groups, NULL);

		if (r)
			return r;
		ask_digest_groups(d, &groups);
		groups_done(&groups);
	}
	return 0;
}

static inline int ask_overview(struct view *view, const struct filter *f, uint64_t *d)
{
	struct overview overview;
	const struct ranking *const rankings[] = {&overview.allocated, &overview.peak,
						  &overview.leaked};
	int r = query_overview(view, f, &overview, NULL);

	if (r)
		return r;
	ask_digest_report(d, &overview.report);
	for (size_t i = 0; i < sizeof(rankings) / sizeof(*rankings); i++) {
		ask_digest_groups(d, &rankings[i]->sites);
		ask_digest_groups(d, &rankings[i]->backtraces);
	}
	overview_done(&overview);
	return 0;
}

static inline int ask_kinds(struct view *view, const struct filter *f, uint64_t *d)
{
	struct kind_groups groups;
	int r = query_kinds(view, f, ask_about.value, ask_about.at_ns, &groups, NULL);

	if (r)
		return r;
	ask_digest_kinds(d, &groups);
	kind_groups_done(&groups);
	return 0;
}

static inline int ask_callers_of(struct view *view, const struct groups *backtraces,
				 const struct groups *sites, uint64_t *d)
{
	for (size_t i = 0; i < sites->count && i < 8; i++) {
		struct caller callers[8];
		size_t count = 0;
		int r = query_callers(view, backtraces, &sites->list[i], callers, 8 - i, &count);

		if (r)
			return r;
		ask_digest(d, count);
		for (size_t k = 0; k < count; k++)
			ask_digest_caller(d, &callers[k]);
	}
	return 0;
}

static inline int ask_callers(struct view *view, const struct filter *f, uint64_t *d)
{
	struct groups backtraces, sites;
	int r = query_groups(view, f, GROUP_BY_BACKTRACE, ask_about.value, ask_about.at_ns,
			     &backtraces, NULL);

	if (r)
		return r;
	r = query_groups(view, f, GROUP_BY_SITE, ask_about.value, ask_about.at_ns, &sites, NULL);
	if (!r) {
		r = ask_callers_of(view, &backtraces, &sites, d);
		groups_done(&sites);
	}
	groups_done(&backtraces);
	return r;
}

static inline int ask_reversed(const struct tree *tree, uint64_t bytes, uint64_t blocks,
			       uint32_t most, uint64_t *d)
{
	struct tree reversed;
	int r = tree_reversed(tree, bytes, blocks, most, &reversed);

	if (r)
		return r;
	ask_digest_tree(d, &reversed);
	tree_done(&reversed);
	return 0;
}

static inline int ask_tree(struct view *view, const struct filter *f, uint64_t *d)
{
	struct tree tree;
	int r = query_tree(view, f, ask_about.value, ask_about.at_ns, &tree, NULL);

	if (r)
		return r;
	ask_digest_tree(d, &tree);
	ask_digest_usage(d, &tree.total);
	r = ask_reversed(&tree, 1, 1, 1000, d);
	if (!r)
		r = ask_reversed(&tree, tree.nodes[0].bytes / 16, tree.nodes[0].blocks / 16, 20, d);
	tree_done(&tree);
	return r;
}

static inline struct timeline_question ask_over(void)
{
	return (struct timeline_question){.to_ns = NO_TIME,
					  .buckets = ask_about.buckets,
					  .leaked_only = ask_about.leaked_only};
}

static inline int ask_timeline(struct view *view, const struct filter *f, uint64_t *d)
{
	struct timeline_question over = ask_over();

	for (unsigned part = 0; part < 2; part++) {
		struct timeline timeline;
		int r = query_timeline(view, f, &over, &timeline, NULL);

		if (r)
			return r;
		ask_digest_timeline(d, &timeline);
		timeline_done(&timeline);
		over.from_ns = ask_about.at_ns / 3;
		over.to_ns = ask_about.at_ns;
	}
	return 0;
}

static inline int ask_series_of(struct view *view, const struct filter *f,
				const struct series_question *question, uint64_t *d)
{
	struct timeline_question over = ask_over();
	struct timeline timeline;
	struct series_list series;
	int r = query_series(view, f, &over, question, &timeline, &series, NULL);

	if (r)
		return r;
	ask_digest_timeline(d, &timeline);
	ask_digest_series(d, &series, timeline.count);
	timeline_done(&timeline);
	series_done(&series);
	return 0;
}

static inline int ask_series(struct view *view, const struct filter *f, uint64_t *d)
{
	for (enum grouping by = GROUP_BY_BACKTRACE; by < GROUPINGS; by++) {
		struct series_question question = {
			.grouping = by, .most = 3, .blocks = ask_about.blocks ^ (by % 2)};
		int r = ask_series_of(view, f, &question, d);

		if (r)
			return r;
	}
	return 0;
}

static inline int ask_custom_series(struct view *view, const struct filter *f, uint64_t *d)
{
	struct series_filters filters = {.count = 0};
	struct series_question question = {.filters = &filters, .blocks = ask_about.blocks};
	int r = series_filters_add(&filters, view, "small:size_max=100", NULL);

	if (!r)
		r = series_filters_add(&filters, view, "other:module=libother.so.1&size_min=1",
				       NULL);
	if (!r)
		r = ask_series_of(view, f, &question, d);
	series_filters_done(&filters);
	return r;
}

static inline int ask_histogram(struct view *view, const struct filter *f, uint64_t *d)
{
	struct histogram h;
	int r = query_histogram(view, f, ask_about.value, ask_about.at_ns, &h, NULL);

	if (r)
		return r;
	ask_digest_classes(d, h.sizes, h.size_count);
	ask_digest_classes(d, h.lifetimes, h.lifetime_count);
	ask_digest_usage(d, &h.total);
	ask_digest_usage(d, &h.leaked);
	ask_digest_usage(d, &h.unknown);
	histogram_done(&h);
	return 0;
}

static inline int ask_survivors(struct view *view, const struct filter *f, uint64_t *d)
{
	struct survivors s;
	int r = query_survivors(view, f, ask_about.leaked_only ? ask_about.at_ns : NO_TIME, &s,
				NULL);

	if (r)
		return r;
	ask_digest_survivors(d, &s);
	survivors_done(&s);
	return 0;
}

static inline void ask_sides(struct view *view, const struct filter *f, struct diff_side sides[2])
{
	sides[0] = (struct diff_side){view, f, VALUE_IN_USE, ask_about.at_ns};
	sides[1] = (struct diff_side){view, f, VALUE_LEAKED, 0};
}

static inline int ask_diff(struct view *view, const struct filter *f, uint64_t *d)
{
	struct diff_side sides[2];

	ask_sides(view, f, sides);
	for (enum grouping by = GROUP_BY_BACKTRACE; by < GROUPINGS; by++) {
		struct diff diff;
		int r = query_diff(&sides[0], &sides[1], by, &diff, NULL);

		if (r)
			return r;
		ask_digest_diff(d, &diff);
		diff_done(&diff);
	}
	return 0;
}

static inline int ask_tree_diff(struct view *view, const struct filter *f, uint64_t *d)
{
	struct diff_side sides[2];
	struct tree_diff diff;
	int r;

	ask_sides(view, f, sides);
	r = query_tree_diff(&sides[0], &sides[1], NULL, 0, &diff, NULL);
	if (r)
		return r;
	ask_digest_tree_diff(d, &diff);
	tree_diff_done(&diff);
	return 0;
}

static inline int ask_thread_groups(struct view *view, const struct filter *f, uint64_t *d)
{
	struct thread_groups groups;
	int r = query_thread_groups(view, f, ask_about.value, ask_about.at_ns, &groups, NULL);

	if (r)
		return r;
	ask_digest_usage(d, &groups.allocated);
	ask_digest_usage(d, &groups.value);
	ask_digest(d, groups.at_ns);
	ask_digest(d, groups.count);
	for (size_t i = 0; i < groups.count; i++) {
		ask_digest(d, groups.list[i].node);
		ask_digest(d, groups.list[i].thread);
		ask_digest_usage(d, &groups.list[i].allocated);
		ask_digest_usage(d, &groups.list[i].value);
	}
	thread_groups_done(&groups);
	return 0;
}

static inline int ask_allocation_groups(struct view *view, const struct filter *f, uint64_t *d)
{
	struct allocation_groups groups;
	int r = query_allocation_groups(view, f, &groups, NULL);

	if (r)
		return r;
	ask_digest_allocation_groups(d, &groups);
	allocation_groups_done(&groups);
	r = query_kept_groups(view, f, &groups, NULL);
	if (r)
		return r;
	ask_digest_allocation_groups(d, &groups);
	allocation_groups_done(&groups);
	return 0;
}

static inline int ask_unnamed(struct view *view, const struct filter *f, uint64_t *d)
{
	struct unnamed_module *list;
	size_t count;
	int r = query_unnamed(view, &list, &count, NULL);

	(void)f;
	if (r)
		return r;
	for (size_t i = 0; i < count; i++) {
		ask_digest(d, list[i].module);
		ask_digest(d, list[i].places);
		ask_digest(d, list[i].unnamed);
		ask_digest(d, list[i].allocations);
		ask_digest(d, list[i].bytes);
	}
	free(list);
	return 0;
}

static inline int ask_live(struct view *view, const struct filter *f, uint64_t *d)
{
	const uint64_t times[] = {1, ask_about.at_ns, 2 * ask_about.at_ns, NO_TIME - 1};
	uint64_t bytes[4];
	struct live_block *live;
	size_t count;
	int r = query_live(view, f, ask_about.at_ns, &live, &count, NULL);

	if (r)
		return r;
	for (size_t i = 0; i < count; i++) {
		ask_digest(d, live[i].address);
		ask_digest(d, live[i].size);
	}
	free(live);
	r = query_in_use_at(view, f, times, 4, bytes, NULL);
	for (size_t i = 0; i < 4 && !r; i++)
		ask_digest(d, bytes[i]);
	return r;
}

static inline int ask_take_in_use(void *context, const struct in_use_blocks *blocks)
{
	uint64_t *sum = context;

	/* In any order. */
	*sum += (blocks->stack + 1) * 7919 * (blocks->size + 1) * blocks->blocks + blocks->weight;
	return 0;
}

static inline int ask_in_use(struct view *view, const struct filter *f, uint64_t *d)
{
	uint64_t sum = 0;
	struct usage total;
	int r = query_in_use(view, f, ask_about.at_ns, ask_take_in_use, &sum, &total, NULL);

	if (r)
		return r;
	ask_digest(d, sum);
	ask_digest_usage(d, &total);
	return 0;
}

static inline int ask_fragmentation(struct view *view, const struct filter *f, uint64_t *d)
{
	struct fragmentation fragmentation;
	int r = query_fragmentation(view, f, ask_about.at_ns, &fragmentation, NULL);

	if (r)
		return r;
	ask_digest_fragmentation(d, &fragmentation);
	fragmentation_done(&fragmentation);
	return 0;
}

static inline int ask_events(struct view *view, const struct filter *f, uint64_t *d)
{
	struct query_events *events;
	struct block_event e;
	int r = query_events_new(view, f, ask_about.at_once, &events, NULL);

	if (r)
		return r;
	while ((r = query_events_next(events, &e, NULL)) == 1) {
		const uint64_t numbers[] = {e.time_ns, e.row,	e.chain,  e.address, e.size,
					    e.weight,  e.stack, e.thread, e.is_death};

		for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
			ask_digest(d, numbers[i]);
	}
	query_events_free(events);
	return r;
}

static inline int ask_page_of(struct view *view, const struct filter *f, enum page_order order,
			      uint64_t *d)
{
	struct query_page *page;
	uint64_t rows[16], total = 0;
	long n = 0;
	int r = query_page_new(view, f, order, (order == PAGE_BY_SIZE) ^ ask_about.blocks, &page,
			       NULL);

	if (r)
		return r;
	r = query_page_total(page, &total, NULL);
	if (!r && total > 5)
		r = query_page_skip(page, 5, NULL);
	ask_digest(d, total);
	while (!r && (n = query_page_next(page, rows, 16, NULL)) > 0)
		for (long i = 0; i < n; i++)
			ask_digest(d, rows[i]);
	query_page_free(page);
	return r ? r : (int)n;
}

static inline int ask_pages(struct view *view, const struct filter *f, uint64_t *d)
{
	int r = 0;

	for (enum page_order order = PAGE_BY_TIME; !r && order <= PAGE_BY_SIZE; order++)
		r = ask_page_of(view, f, order, d);
	return r;
}

static inline int ask_walk_row(void *context, const struct row_block *block, uint32_t index)
{
	ask_digest(context, block->first_row + index);
	return 0;
}

static inline int ask_walk(struct view *view, const struct filter *f, uint64_t *d)
{
	uint64_t end = recording_rows(view_recording(view));
	struct walked_rows rows;
	struct row_walk *walk;
	int r = row_walk_new(view, f, ROWS_ALL, end / 4, end, &walk, NULL);

	if (r)
		return r;
	while ((r = row_walk_next(walk, &rows, NULL)) > 0)
		for (uint32_t k = 0; k < rows.count; k++)
			ask_digest_row(d, rows.block, walked_row(&rows, k));
	row_walk_free(walk);
	return r;
}

static inline int ask_rows(struct view *view, const struct filter *f, uint64_t *d)
{
	struct row_cache *cache;
	const struct row_block *block;
	uint32_t index;
	int r = query_each(view, f, ask_walk_row, d, NULL);

	if (!r)
		r = ask_walk(view, f, d);
	if (!r)
		r = row_cache_new(view_recording(view), ROWS_SIZE, &cache);
	if (r)
		return r;
	block = row_cache_get(cache, 3, &index, NULL);
	if (block)
		ask_digest(d, block->size[index]);
	row_cache_free(cache);
	return block || recording_rows(view_recording(view)) <= 3 ? 0 : -ENOMEM;
}

static inline int ask_mappings(struct view *view, const struct filter *f, uint64_t *d)
{
	struct mappings mappings;
	struct map_spans spans;
	const unsigned not_taken =
		FILTER_GROUP | FILTER_CHAIN | FILTER_POSITION | FILTER_BITS | FILTER_ORIGIN;
	bool *passes = NULL;
	int r = query_mappings(view, true, NULL, &mappings, NULL);

	if (r)
		return r;
	r = map_spans_init(&spans, &mappings);
	if (!r) {
		map_spans_done(&spans);
		if (!(filter_asked(f) & not_taken))
			r = query_mappings_match(view, f, &mappings, &passes, NULL);
	}
	if (!r)
		ask_digest_mappings(d, &mappings);
	for (uint32_t i = 0; i < mappings.count && passes; i++)
		ask_digest(d, passes[i]);
	free(passes);
	mappings_done(&mappings);
	return r;
}

struct ask_question {
	const char *name;
	int (*ask)(struct view *view, const struct filter *f, uint64_t *d);
};

#define X(name)                                                                                    \
	{                                                                                          \
#name, ask_##name                                                                  \
	}
static const struct ask_question ask_questions[] = {
	X(report),    X(groups),   X(overview),	 X(kinds),	   X(callers),
	X(tree),      X(timeline), X(series),	 X(custom_series), X(histogram),
	X(survivors), X(diff),	   X(tree_diff), X(thread_groups), X(allocation_groups),
	X(unnamed),   X(live),	   X(in_use),	 X(fragmentation), X(events),
	X(pages),     X(rows),	   X(mappings),	 X(culled),
};
#undef X
#define ASK_QUESTIONS (sizeof(ask_questions) / sizeof(*ask_questions))
