#pragma once
/*
 * Each question once, of any view and with any filter. The answer adds up to a number, which
 * another answer hardly adds up to.
 */
#include <stdlib.h>

#include "collector/query/match/map_spans.h"
#include "collector/query/match/mappings.h"
#include "collector/query/sums/fragmentation.h"
#include "collector/query/sums/in_use.h"
#include "collector/query/sums/live.h"
#include "collector/query/query.h"
#include "collector/query/sweep/events.h"
#include "tests/unit/query/recording.h"

#define ASK_MIDDLE 800 /* a moment of the recording */

/* What an answer adds up to: other answers add up to something else. */
static inline void ask_digest(uint64_t *d, uint64_t value)
{
	*d = (*d ^ value) * 0x9E3779B97F4A7C15ull;
	*d ^= *d >> 29;
}

static inline void ask_digest_usage(uint64_t *d, const struct usage *usage)
{
	ask_digest(d, usage->blocks);
	ask_digest(d, usage->bytes);
}

static inline void ask_digest_text(uint64_t *d, const char *text)
{
	for (; text && *text; text++)
		ask_digest(d, (uint8_t)*text);
	ask_digest(d, text != NULL);
}

static inline int ask_report(struct view *view, const struct filter *f, uint64_t *d)
{
	struct report report;
	int r = query_report(view, f, &report, NULL);

	if (r)
		return r;
	ask_digest_usage(d, &report.allocated);
	ask_digest_usage(d, &report.leaked);
	ask_digest_usage(d, &report.temporary);
	ask_digest_usage(d, &report.peak);
	ask_digest(d, report.distinct_stacks);
	return 0;
}

static inline void ask_digest_groups(uint64_t *d, const struct groups *groups)
{
	ask_digest_usage(d, &groups->total);
	for (size_t i = 0; i < groups->count; i++) {
		ask_digest_usage(d, &groups->list[i].value);
		ask_digest_text(d, groups->list[i].function);
		ask_digest_text(d, groups->list[i].module);
	}
}

static inline int ask_groups(struct view *view, const struct filter *f, uint64_t *d)
{
	for (enum grouping by = GROUP_BY_BACKTRACE; by < GROUPINGS; by++) {
		struct groups groups;
		int r = query_groups(view, f, by, by % 2 ? VALUE_PEAK : VALUE_ALLOCATED, 0, &groups,
				     NULL);

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
	int r = query_overview(view, f, &overview, NULL);

	if (r)
		return r;
	ask_digest_usage(d, &overview.report.peak);
	ask_digest_groups(d, &overview.allocated.sites);
	ask_digest_groups(d, &overview.peak.backtraces);
	ask_digest_groups(d, &overview.leaked.sites);
	overview_done(&overview);
	return 0;
}

static inline int ask_kinds(struct view *view, const struct filter *f, uint64_t *d)
{
	struct kind_groups groups;
	int r = query_kinds(view, f, VALUE_ALLOCATED, 0, &groups, NULL);

	if (r)
		return r;
	for (size_t i = 0; i < groups.count; i++) {
		ask_digest(d, groups.list[i].kind);
		ask_digest_usage(d, &groups.list[i].value);
	}
	kind_groups_done(&groups);
	return 0;
}

static inline int ask_callers(struct view *view, const struct filter *f, uint64_t *d)
{
	struct groups backtraces, sites;
	struct caller callers[8];
	size_t count = 0;
	int r = query_groups(view, f, GROUP_BY_BACKTRACE, VALUE_ALLOCATED, 0, &backtraces, NULL);

	if (r)
		return r;
	r = query_groups(view, f, GROUP_BY_SITE, VALUE_ALLOCATED, 0, &sites, NULL);
	if (!r) {
		r = sites.count
			    ? query_callers(view, &backtraces, &sites.list[0], callers, 8, &count)
			    : 0;
		for (size_t i = 0; i < count && !r; i++) {
			ask_digest_text(d, callers[i].function);
			ask_digest_usage(d, &callers[i].value);
		}
		groups_done(&sites);
	}
	groups_done(&backtraces);
	return r;
}

static inline void ask_digest_tree(uint64_t *d, const struct tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		ask_digest_text(d, tree->nodes[i].function);
		ask_digest(d, tree->nodes[i].first_child);
		ask_digest(d, tree->nodes[i].bytes);
		ask_digest(d, tree->nodes[i].self_blocks);
	}
}

static inline int ask_tree(struct view *view, const struct filter *f, uint64_t *d)
{
	struct tree tree, reversed;
	int r = query_tree(view, f, VALUE_ALLOCATED, 0, &tree, NULL);

	if (r)
		return r;
	ask_digest_tree(d, &tree);
	r = tree_reversed(&tree, 1, 1, 1000, &reversed);
	if (!r) {
		ask_digest_tree(d, &reversed);
		tree_done(&reversed);
	}
	tree_done(&tree);
	return r;
}

static inline int ask_timeline(struct view *view, const struct filter *f, uint64_t *d)
{
	struct timeline_question over = {.to_ns = NO_TIME, .buckets = 7};
	struct timeline timeline;
	int r = query_timeline(view, f, &over, &timeline, NULL);

	if (r)
		return r;
	for (uint32_t i = 0; i < timeline.count; i++) {
		ask_digest(d, timeline.list[i].bytes);
		ask_digest(d, timeline.list[i].blocks_max);
	}
	timeline_done(&timeline);
	return 0;
}

static inline int ask_series_of(struct view *view, const struct filter *f,
				const struct series_question *question, uint64_t *d)
{
	struct timeline_question over = {.to_ns = NO_TIME, .buckets = 7};
	struct timeline timeline;
	struct series_list series;
	int r = query_series(view, f, &over, question, &timeline, &series, NULL);

	if (r)
		return r;
	for (uint32_t i = 0; i < series.count; i++) {
		ask_digest_text(d, series.list[i].name);
		for (uint32_t k = 0; k < timeline.count; k++)
			ask_digest(d, series.list[i].values[k]);
	}
	timeline_done(&timeline);
	series_done(&series);
	return 0;
}

static inline int ask_series(struct view *view, const struct filter *f, uint64_t *d)
{
	for (enum grouping by = GROUP_BY_BACKTRACE; by < GROUPINGS; by++) {
		struct series_question question = {.grouping = by, .most = 3, .blocks = by % 2};
		int r = ask_series_of(view, f, &question, d);

		if (r)
			return r;
	}
	return 0;
}

static inline int ask_custom_series(struct view *view, const struct filter *f, uint64_t *d)
{
	struct series_filters filters = {.count = 0};
	struct series_question question = {.filters = &filters};
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
	int r = query_histogram(view, f, VALUE_ALLOCATED, 0, &h, NULL);

	if (r)
		return r;
	for (size_t i = 0; i < h.size_count; i++)
		ask_digest_usage(d, &h.sizes[i].usage);
	for (size_t i = 0; i < h.lifetime_count; i++)
		ask_digest_usage(d, &h.lifetimes[i].usage);
	histogram_done(&h);
	return 0;
}

static inline int ask_survivors(struct view *view, const struct filter *f, uint64_t *d)
{
	struct survivors s;
	int r = query_survivors(view, f, NO_TIME, &s, NULL);

	if (r)
		return r;
	for (size_t i = 0; i < s.count; i++) {
		ask_digest_usage(d, &s.list[i].old);
		ask_digest_usage(d, &s.list[i].young);
	}
	survivors_done(&s);
	return 0;
}

static inline int ask_diff(struct view *view, const struct filter *f, uint64_t *d)
{
	struct diff_side base = {view, f, VALUE_IN_USE, ASK_MIDDLE},
			 now = {view, f, VALUE_LEAKED, 0};

	for (enum grouping by = GROUP_BY_BACKTRACE; by < GROUPINGS; by++) {
		struct diff diff;
		int r = query_diff(&base, &now, by, &diff, NULL);

		if (r)
			return r;
		for (size_t i = 0; i < diff.count; i++) {
			ask_digest_usage(d, &diff.list[i].base);
			ask_digest_usage(d, &diff.list[i].now);
		}
		diff_done(&diff);
	}
	return 0;
}

static inline int ask_tree_diff(struct view *view, const struct filter *f, uint64_t *d)
{
	struct diff_side base = {view, f, VALUE_IN_USE, ASK_MIDDLE},
			 now = {view, f, VALUE_LEAKED, 0};
	struct tree_diff diff;
	int r = query_tree_diff(&base, &now, &diff, NULL);

	if (r)
		return r;
	ask_digest_tree(d, &diff.tree);
	for (size_t i = 0; i < diff.tree.count; i++) {
		ask_digest(d, diff.changes[i].base_bytes);
		ask_digest(d, diff.changes[i].now_bytes);
	}
	tree_diff_done(&diff);
	return 0;
}

static inline int ask_thread_groups(struct view *view, const struct filter *f, uint64_t *d)
{
	struct thread_groups groups;
	int r = query_thread_groups(view, f, VALUE_IN_USE, ASK_MIDDLE, &groups, NULL);

	if (r)
		return r;
	for (size_t i = 0; i < groups.count; i++) {
		ask_digest(d, groups.list[i].thread);
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
	for (size_t i = 0; i < groups.count; i++) {
		ask_digest_usage(d, &groups.list[i].all.allocated);
		ask_digest_usage(d, &groups.list[i].matched.allocated);
		ask_digest(d, groups.list[i].peak_ns);
	}
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
	for (size_t i = 0; i < count; i++)
		ask_digest(d, list[i].bytes);
	free(list);
	return 0;
}

static inline int ask_live(struct view *view, const struct filter *f, uint64_t *d)
{
	static const uint64_t times[] = {1, ASK_MIDDLE, 2 * ASK_MIDDLE, NO_TIME - 1};
	uint64_t bytes[4];
	struct live_block *live;
	size_t count;
	int r = query_live(view, f, ASK_MIDDLE, &live, &count, NULL);

	if (r)
		return r;
	for (size_t i = 0; i < count; i++)
		ask_digest(d, live[i].address);
	free(live);
	r = query_in_use_at(view, f, times, 4, bytes, NULL);
	for (size_t i = 0; i < 4 && !r; i++)
		ask_digest(d, bytes[i]);
	return r;
}

static inline int ask_take_in_use(void *context, const struct in_use_blocks *blocks)
{
	uint64_t *d = context;

	*d += (blocks->stack + 1) * 7919 * (blocks->size + 1) * blocks->blocks; /* in any order */
	return 0;
}

static inline int ask_in_use(struct view *view, const struct filter *f, uint64_t *d)
{
	return query_in_use(view, f, ASK_MIDDLE, ask_take_in_use, d, NULL, NULL);
}

static inline int ask_fragmentation(struct view *view, const struct filter *f, uint64_t *d)
{
	struct fragmentation fragmentation;
	int r = query_fragmentation(view, f, ASK_MIDDLE, &fragmentation, NULL);

	if (r)
		return r;
	ask_digest(d, fragmentation.bytes);
	ask_digest(d, fragmentation.pages);
	fragmentation_done(&fragmentation);
	return 0;
}

static inline int ask_events(struct view *view, const struct filter *f, uint64_t *d)
{
	struct query_events *events;
	struct block_event event;
	int r = query_events_new(view, f, 50, &events, NULL);

	if (r)
		return r;
	while ((r = query_events_next(events, &event, NULL)) == 1) {
		ask_digest(d, event.time_ns);
		ask_digest(d, event.row);
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
	int r = query_page_new(view, f, order, order == PAGE_BY_SIZE, &page, NULL);

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
	ask_digest(context, block->address[index]);
	return 0;
}

static inline int ask_rows(struct view *view, const struct filter *f, uint64_t *d)
{
	struct row_cache *cache;
	const struct row_block *block;
	uint32_t index;
	int r = query_each(view, f, ask_walk_row, d, NULL);

	if (!r)
		r = row_cache_new(view_recording(view), ROWS_SIZE, &cache);
	if (r)
		return r;
	block = row_cache_get(cache, 3, &index, NULL);
	if (block)
		ask_digest(d, block->size[index]);
	row_cache_free(cache);
	return block ? 0 : -ENOMEM;
}

static inline int ask_mappings(struct view *view, const struct filter *f, uint64_t *d)
{
	struct mappings mappings;
	struct map_spans spans;
	bool *passes = NULL;
	int r = query_mappings(view, true, NULL, &mappings, NULL);

	if (r)
		return r;
	r = map_spans_init(&spans, &mappings);
	if (!r) {
		map_spans_done(&spans);
		r = query_mappings_match(view, f, &mappings, &passes, NULL);
	}
	ask_digest(d, mappings.count);
	free(passes);
	mappings_done(&mappings);
	return r;
}
