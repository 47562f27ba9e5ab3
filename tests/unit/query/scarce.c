/* Questions when memory runs out: each failed allocation is told, or the answer is what it is with
 * plenty of memory. */
#include "tests/unit/scarce.h"

#include "collector/query/match/mappings.h"
#include "collector/query/match/map_spans.h"
#include "collector/query/sums/fragmentation.h"
#include "collector/query/sums/in_use.h"
#include "collector/query/sums/live.h"
#include "collector/query/sweep/events.h"
#include "collector/query/sweep/parallel.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/time/history.h"
#include "tests/unit/query/recording.h"

#define EVENTS	 300
#define MAPPINGS 20
#define MIDDLE	 800 /* a moment of the recording */

static struct test_recording recording, sampled;

/* With a few mappings over the blocks, whose calls are read from the file. Free the path. */
static char *open_recording(struct test_recording *t, uint64_t seed, bool samples)
{
	struct symbols_options options = {0};
	struct stack_node nodes[TEST_NODES];
	struct builder b;
	char *path;

	builder_init(&b, (uint8_t)seed);
	test_nodes(nodes, &seed);
	test_first_batch(&b, nodes, TEST_NODES, "/nowhere/libexample.so", 0, samples);
	for (uint64_t i = 0; i < MAPPINGS; i++)
		builder_event(&b, &(struct event){.kind = HEAPCAST__EVENT_KIND__EVENT_MMAP,
						  .thread = 1,
						  .time_ns = 10 + i,
						  .address = 0x10000 + i * 0x40000,
						  .size = 0x50000,
						  .weight = 0x50000});
	test_random_events(&b, &seed, EVENTS, samples);
	builder_end(&b, 0);
	path = builder_save(&b, b.file.length);
	builder_done(&b);
	assert_int_equal(recording_open(path, NULL, NULL, &t->recording, NULL), 0);
	assert_int_equal(symbols_new(&options, &t->symbols, NULL), 0);
	return path;
}

static void close_recording(struct test_recording *t, char *path)
{
	symbols_free(t->symbols);
	recording_close(t->recording);
	unlink(path);
	free(path);
}

/* What an answer adds up to: other answers add up to something else. */
static void digest(uint64_t *d, uint64_t value)
{
	*d = (*d ^ value) * 0x9E3779B97F4A7C15ull;
	*d ^= *d >> 29;
}

static void digest_usage(uint64_t *d, const struct usage *usage)
{
	digest(d, usage->blocks);
	digest(d, usage->bytes);
}

static void digest_text(uint64_t *d, const char *text)
{
	for (; text && *text; text++)
		digest(d, (uint8_t)*text);
	digest(d, text != NULL);
}

/* ---- questions ---- */

static int ask_report(struct view *view, const struct filter *f, uint64_t *d)
{
	struct report report;
	int r = query_report(view, f, &report, NULL);

	if (r)
		return r;
	digest_usage(d, &report.allocated);
	digest_usage(d, &report.leaked);
	digest_usage(d, &report.temporary);
	digest_usage(d, &report.peak);
	digest(d, report.distinct_stacks);
	return 0;
}

static void digest_groups(uint64_t *d, const struct groups *groups)
{
	digest_usage(d, &groups->total);
	for (size_t i = 0; i < groups->count; i++) {
		digest_usage(d, &groups->list[i].value);
		digest_text(d, groups->list[i].function);
		digest_text(d, groups->list[i].module);
	}
}

static int ask_groups(struct view *view, const struct filter *f, uint64_t *d)
{
	for (enum grouping by = GROUP_BY_BACKTRACE; by < GROUPINGS; by++) {
		struct groups groups;
		int r = query_groups(view, f, by, by % 2 ? VALUE_PEAK : VALUE_ALLOCATED, 0, &groups,
				     NULL);

		if (r)
			return r;
		digest_groups(d, &groups);
		groups_done(&groups);
	}
	return 0;
}

static int ask_overview(struct view *view, const struct filter *f, uint64_t *d)
{
	struct overview overview;
	int r = query_overview(view, f, &overview, NULL);

	if (r)
		return r;
	digest_usage(d, &overview.report.peak);
	digest_groups(d, &overview.allocated.sites);
	digest_groups(d, &overview.peak.backtraces);
	digest_groups(d, &overview.leaked.sites);
	overview_done(&overview);
	return 0;
}

static int ask_kinds(struct view *view, const struct filter *f, uint64_t *d)
{
	struct kind_groups groups;
	int r = query_kinds(view, f, VALUE_ALLOCATED, 0, &groups, NULL);

	if (r)
		return r;
	for (size_t i = 0; i < groups.count; i++) {
		digest(d, groups.list[i].kind);
		digest_usage(d, &groups.list[i].value);
	}
	kind_groups_done(&groups);
	return 0;
}

static int ask_callers(struct view *view, const struct filter *f, uint64_t *d)
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
			digest_text(d, callers[i].function);
			digest_usage(d, &callers[i].value);
		}
		groups_done(&sites);
	}
	groups_done(&backtraces);
	return r;
}

static void digest_tree(uint64_t *d, const struct tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		digest_text(d, tree->nodes[i].function);
		digest(d, tree->nodes[i].first_child);
		digest(d, tree->nodes[i].bytes);
		digest(d, tree->nodes[i].self_blocks);
	}
}

static int ask_tree(struct view *view, const struct filter *f, uint64_t *d)
{
	struct tree tree, reversed;
	int r = query_tree(view, f, VALUE_ALLOCATED, 0, &tree, NULL);

	if (r)
		return r;
	digest_tree(d, &tree);
	r = tree_reversed(&tree, 1, 1, 1000, &reversed);
	if (!r) {
		digest_tree(d, &reversed);
		tree_done(&reversed);
	}
	tree_done(&tree);
	return r;
}

static int ask_timeline(struct view *view, const struct filter *f, uint64_t *d)
{
	struct timeline_question over = {.to_ns = NO_TIME, .buckets = 7};
	struct timeline timeline;
	int r = query_timeline(view, f, &over, &timeline, NULL);

	if (r)
		return r;
	for (uint32_t i = 0; i < timeline.count; i++) {
		digest(d, timeline.list[i].bytes);
		digest(d, timeline.list[i].blocks_max);
	}
	timeline_done(&timeline);
	return 0;
}

static int series_of(struct view *view, const struct filter *f,
		     const struct series_question *question, uint64_t *d)
{
	struct timeline_question over = {.to_ns = NO_TIME, .buckets = 7};
	struct timeline timeline;
	struct series_list series;
	int r = query_series(view, f, &over, question, &timeline, &series, NULL);

	if (r)
		return r;
	for (uint32_t i = 0; i < series.count; i++) {
		digest_text(d, series.list[i].name);
		for (uint32_t k = 0; k < timeline.count; k++)
			digest(d, series.list[i].values[k]);
	}
	timeline_done(&timeline);
	series_done(&series);
	return 0;
}

static int ask_series(struct view *view, const struct filter *f, uint64_t *d)
{
	for (enum grouping by = GROUP_BY_BACKTRACE; by < GROUPINGS; by++) {
		struct series_question question = {.grouping = by, .most = 3, .blocks = by % 2};
		int r = series_of(view, f, &question, d);

		if (r)
			return r;
	}
	return 0;
}

static int ask_custom_series(struct view *view, const struct filter *f, uint64_t *d)
{
	struct series_filters filters = {.count = 0};
	struct series_question question = {.filters = &filters};
	int r = series_filters_add(&filters, view, "small:size_max=100", NULL);

	if (!r)
		r = series_filters_add(&filters, view, "other:module=libother.so.1&size_min=1",
				       NULL);
	if (!r)
		r = series_of(view, f, &question, d);
	series_filters_done(&filters);
	return r;
}

static int ask_histogram(struct view *view, const struct filter *f, uint64_t *d)
{
	struct histogram h;
	int r = query_histogram(view, f, VALUE_ALLOCATED, 0, &h, NULL);

	if (r)
		return r;
	for (size_t i = 0; i < h.size_count; i++)
		digest_usage(d, &h.sizes[i].usage);
	for (size_t i = 0; i < h.lifetime_count; i++)
		digest_usage(d, &h.lifetimes[i].usage);
	histogram_done(&h);
	return 0;
}

static int ask_survivors(struct view *view, const struct filter *f, uint64_t *d)
{
	struct survivors s;
	int r = query_survivors(view, f, NO_TIME, &s, NULL);

	if (r)
		return r;
	for (size_t i = 0; i < s.count; i++) {
		digest_usage(d, &s.list[i].old);
		digest_usage(d, &s.list[i].young);
	}
	survivors_done(&s);
	return 0;
}

static int ask_diff(struct view *view, const struct filter *f, uint64_t *d)
{
	struct diff_side base = {view, f, VALUE_IN_USE, MIDDLE}, now = {view, f, VALUE_LEAKED, 0};

	for (enum grouping by = GROUP_BY_BACKTRACE; by < GROUPINGS; by++) {
		struct diff diff;
		int r = query_diff(&base, &now, by, &diff, NULL);

		if (r)
			return r;
		for (size_t i = 0; i < diff.count; i++) {
			digest_usage(d, &diff.list[i].base);
			digest_usage(d, &diff.list[i].now);
		}
		diff_done(&diff);
	}
	return 0;
}

static int ask_tree_diff(struct view *view, const struct filter *f, uint64_t *d)
{
	struct diff_side base = {view, f, VALUE_IN_USE, MIDDLE}, now = {view, f, VALUE_LEAKED, 0};
	struct tree_diff diff;
	int r = query_tree_diff(&base, &now, &diff, NULL);

	if (r)
		return r;
	digest_tree(d, &diff.tree);
	for (size_t i = 0; i < diff.tree.count; i++) {
		digest(d, diff.changes[i].base_bytes);
		digest(d, diff.changes[i].now_bytes);
	}
	tree_diff_done(&diff);
	return 0;
}

static int ask_thread_groups(struct view *view, const struct filter *f, uint64_t *d)
{
	struct thread_groups groups;
	int r = query_thread_groups(view, f, VALUE_IN_USE, MIDDLE, &groups, NULL);

	if (r)
		return r;
	for (size_t i = 0; i < groups.count; i++) {
		digest(d, groups.list[i].thread);
		digest_usage(d, &groups.list[i].value);
	}
	thread_groups_done(&groups);
	return 0;
}

static int ask_allocation_groups(struct view *view, const struct filter *f, uint64_t *d)
{
	struct allocation_groups groups;
	int r = query_allocation_groups(view, f, &groups, NULL);

	if (r)
		return r;
	for (size_t i = 0; i < groups.count; i++) {
		digest_usage(d, &groups.list[i].all.allocated);
		digest_usage(d, &groups.list[i].matched.allocated);
		digest(d, groups.list[i].peak_ns);
	}
	allocation_groups_done(&groups);
	return 0;
}

static int ask_unnamed(struct view *view, const struct filter *f, uint64_t *d)
{
	struct unnamed_module *list;
	size_t count;
	int r = query_unnamed(view, &list, &count, NULL);

	(void)f;
	if (r)
		return r;
	for (size_t i = 0; i < count; i++)
		digest(d, list[i].bytes);
	free(list);
	return 0;
}

static int ask_live(struct view *view, const struct filter *f, uint64_t *d)
{
	static const uint64_t times[] = {1, MIDDLE, 2 * MIDDLE, NO_TIME - 1};
	uint64_t bytes[4];
	struct live_block *live;
	size_t count;
	int r = query_live(view, f, MIDDLE, &live, &count, NULL);

	if (r)
		return r;
	for (size_t i = 0; i < count; i++)
		digest(d, live[i].address);
	free(live);
	r = query_in_use_at(view, f, times, 4, bytes, NULL);
	for (size_t i = 0; i < 4 && !r; i++)
		digest(d, bytes[i]);
	return r;
}

static int take_in_use(void *context, const struct in_use_blocks *blocks)
{
	uint64_t *d = context;

	*d += (blocks->stack + 1) * 7919 * (blocks->size + 1) * blocks->blocks; /* in any order */
	return 0;
}

static int ask_in_use(struct view *view, const struct filter *f, uint64_t *d)
{
	return query_in_use(view, f, MIDDLE, take_in_use, d, NULL, NULL);
}

static int ask_fragmentation(struct view *view, const struct filter *f, uint64_t *d)
{
	struct fragmentation fragmentation;
	int r = query_fragmentation(view, f, MIDDLE, &fragmentation, NULL);

	if (r)
		return r;
	digest(d, fragmentation.bytes);
	digest(d, fragmentation.pages);
	fragmentation_done(&fragmentation);
	return 0;
}

static int ask_events(struct view *view, const struct filter *f, uint64_t *d)
{
	struct query_events *events;
	struct block_event event;
	int r = query_events_new(view, f, 50, &events, NULL);

	if (r)
		return r;
	while ((r = query_events_next(events, &event, NULL)) == 1) {
		digest(d, event.time_ns);
		digest(d, event.row);
	}
	query_events_free(events);
	return r;
}

static int page_of(struct view *view, const struct filter *f, enum page_order order, uint64_t *d)
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
	digest(d, total);
	while (!r && (n = query_page_next(page, rows, 16, NULL)) > 0)
		for (long i = 0; i < n; i++)
			digest(d, rows[i]);
	query_page_free(page);
	return r ? r : (int)n;
}

static int ask_pages(struct view *view, const struct filter *f, uint64_t *d)
{
	int r = 0;

	for (enum page_order order = PAGE_BY_TIME; !r && order <= PAGE_BY_SIZE; order++)
		r = page_of(view, f, order, d);
	return r;
}

static int walk_row(void *context, const struct row_block *block, uint32_t index)
{
	digest(context, block->address[index]);
	return 0;
}

static int ask_rows(struct view *view, const struct filter *f, uint64_t *d)
{
	struct row_cache *cache;
	const struct row_block *block;
	uint32_t index;
	int r = query_each(view, f, walk_row, d, NULL);

	if (!r)
		r = row_cache_new(view_recording(view), ROWS_SIZE, &cache);
	if (r)
		return r;
	block = row_cache_get(cache, 3, &index, NULL);
	if (block)
		digest(d, block->size[index]);
	row_cache_free(cache);
	return block ? 0 : -ENOMEM;
}

static int ask_mappings(struct view *view, const struct filter *f, uint64_t *d)
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
	digest(d, mappings.count);
	free(passes);
	mappings_done(&mappings);
	return r;
}

/* ---- with less and less memory ---- */

struct question {
	const struct test_recording *of;
	const char *name;
	const char *filter, *value; /* NULL: none */
	int (*ask)(struct view *view, const struct filter *f, uint64_t *d);
	uint64_t answer; /* with plenty of memory; 0: not known yet */
};

/* Of a view that has not been asked yet. */
static int ask(void *context)
{
	struct question *q = context;
	struct view *view;
	struct filter f;
	uint64_t d = 1;
	int r = view_new(q->of->recording, q->of->symbols, &view, NULL);

	if (r)
		return r;
	filter_init(&f);
	if (q->filter)
		r = filter_set(&f, view, q->filter, q->value, NULL);
	if (!r)
		r = q->ask(view, &f, &d);
	filter_done(&f);
	view_free(view);
	if (!r && !q->answer)
		q->answer = d;
	if (!r)
		assert_int_equal(d, q->answer);
	return r;
}

static void ask_each(struct question q)
{
	unsigned failed;
	int r = ask(&q);

	if (r)
		fail_msg("%s, %s: %s", q.name, q.filter ? q.filter : "no filter", strerror(-r));
	failed = scarce_each(ask, &q);
	if (!failed)
		fail_msg("%s, %s: no allocation", q.name, q.filter ? q.filter : "no filter");
}

#define QUESTIONS(X)                                                                               \
	X(report)                                                                                  \
	X(groups)                                                                                  \
	X(overview)                                                                                \
	X(kinds)                                                                                   \
	X(callers)                                                                                 \
	X(tree)                                                                                    \
	X(timeline)                                                                                \
	X(series)                                                                                  \
	X(custom_series)                                                                           \
	X(histogram)                                                                               \
	X(survivors)                                                                               \
	X(diff)                                                                                    \
	X(tree_diff)                                                                               \
	X(thread_groups)                                                                           \
	X(allocation_groups)                                                                       \
	X(unnamed)                                                                                 \
	X(live)                                                                                    \
	X(in_use)                                                                                  \
	X(fragmentation)                                                                           \
	X(events)                                                                                  \
	X(pages)                                                                                   \
	X(rows)                                                                                    \
	X(mappings)

static const struct {
	const char *name;
	int (*ask)(struct view *view, const struct filter *f, uint64_t *d);
} questions[] = {
#define X(name) {#name, ask_##name},
	QUESTIONS(X)
#undef X
};

static void all_questions(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++)
		ask_each((struct question){
			.of = &recording, .name = questions[i].name, .ask = questions[i].ask});
}

static void samples(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i += 2)
		ask_each((struct question){
			.of = &sampled, .name = questions[i].name, .ask = questions[i].ask});
}

static void all_filters(void **state)
{
	static const char *const filters[][2] = {
		{"lifetime", "only_whole_group_leaked"},
		{"lifetime", "only_chain_leaked"},
		{"size_min", "50"},
		{"function_regex", "lib.*"},
		{"negative_source_regex", "\\.c$"},
		{"thread_name", ".*"},
		{"module", "libother.so.1"},
		{"tag", "none"},
		{"marker", "1"},
		{"from_map", "0"},
		{"temporary", "yes"},
		{"arena", "main"},
		{"mmaped", "no"},
		{"jemalloc", "no"},
		{"chain_length_min", "2"},
		{"last_size_min", "10"},
		{"group_allocations_min", "3"},
		{"group_leaked_allocations_min", "50%"},
		{"group_max_total_usage_first_seen_min", "0.0000001"},
		{"alive_at", "0.0000008"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++)
		for (unsigned k = 0; k < 2; k++)
			ask_each((struct question){.of = &recording,
						   .name = k ? "timeline" : "report",
						   .filter = filters[i][0],
						   .value = filters[i][1],
						   .ask = k ? ask_timeline : ask_report});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_questions),
		cmocka_unit_test(samples),
		cmocka_unit_test(all_filters),
	};
	char *path, *path_sampled;
	int r;

	parallel_limit(1); /* each time the same allocation is the n-th */
	sweep_set_piece(64);
	history_set_sizes(16, 50);
	path = open_recording(&recording, 3, false);
	path_sampled = open_recording(&sampled, 4, true);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	close_recording(&recording, path);
	close_recording(&sampled, path_sampled);
	return r;
}
