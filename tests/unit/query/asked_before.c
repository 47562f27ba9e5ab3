/*
 * What a view keeps of an answer is for that question alone: whatever was asked before, with other
 * filters, the answer is that of a view that was asked nothing else. And what is given back is
 * empty, so that it can be given back again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/query/match/view.h"
#include "collector/query/sums/whole_sums.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/time/history.h"
#include "collector/query/survivors.h"
#include "tests/unit/query/ask.h"
#include "tests/unit/query/golden_recordings.h"

static const char *const filters[][2] = {
	{"size_min", "0"},   {"size_min", "60"},
	{"size_max", "200"}, {"thread", "2"},
	{"hide", "yes"},     {"lifetime", "only_leaked"},
	{"temporary", "no"}, {"module", "libother.so.1"},
};
#define FILTERS_ASKED (sizeof(filters) / sizeof(*filters))
#define PREVIEWS      3				     /* none, and two of different sizes */
#define WAYS	      (2 * PREVIEWS * FILTERS_ASKED) /* of all, and of what leaked */

static struct test_recording t;
static char *path;

static int open_recording(void **state)
{
	struct builder b;

	(void)state;
	sweep_set_piece(64);
	history_set_sizes(16, 50);
	golden_named(&b, 91, 300);
	path = builder_save(&b, b.file.length);
	builder_done(&b);
	assert_int_equal(recording_open(path, NULL, NULL, &t.recording, NULL), 0);
	return symbols_new(&(struct symbols_options){0}, &t.symbols, NULL);
}

static int close_recording(void **state)
{
	(void)state;
	symbols_free(t.symbols);
	recording_close(t.recording);
	unlink(path);
	free(path);
	return 0;
}

static struct view *new_view(void)
{
	struct view *view;

	assert_int_equal(view_new(t.recording, t.symbols, &view, NULL), 0);
	return view;
}

static uint64_t answer(struct view *view, const struct ask_question *q, size_t way)
{
	const char *const *filter = filters[way / 2 / PREVIEWS % FILTERS_ASKED];
	uint64_t d = 1;
	struct filter f;

	filter_init(&f);
	assert_int_equal(filter_set(&f, view, filter[0], filter[1], NULL), 0);
	f.one_in = way / 2 % PREVIEWS * 2;
	ask_about.leaked_only = way % 2;
	assert_int_equal(q->ask(view, &f, &d), 0);
	ask_about.leaked_only = false;
	filter_done(&f);
	return d;
}

static void in_any_order(void **state)
{
	(void)state;
	ask_about.at_ns = recording_end_ns(t.recording) / 2;
	for (size_t i = 0; i < ASK_QUESTIONS; i++) {
		const struct ask_question *q = &ask_questions[i];
		struct view *up = new_view(), *down = new_view();
		uint64_t wanted[WAYS];

		if (q->ask == ask_mappings)
			goto next;
		for (size_t way = 0; way < WAYS; way++) {
			struct view *fresh = new_view();

			wanted[way] = answer(fresh, q, way);
			view_free(fresh);
		}
		for (size_t way = 0; way < 2 * WAYS; way++)
			if (answer(up, q, way % WAYS) != wanted[way % WAYS])
				fail_msg("%s, way %zu: another answer", q->name, way);
		for (size_t way = WAYS; way-- > 0;)
			if (answer(down, q, way) != wanted[way])
				fail_msg("%s, way %zu, down: another answer", q->name, way);
	next:
		view_free(up);
		view_free(down);
	}
}

/* Different questions one after the other. */
static void of_any_kind(void **state)
{
	struct view *all = new_view();

	(void)state;
	for (size_t way = 0; way < 2; way++)
		for (size_t i = 0; i < ASK_QUESTIONS; i++) {
			struct view *fresh = new_view();

			if (answer(all, &ask_questions[i], way) !=
			    answer(fresh, &ask_questions[i], way))
				fail_msg("%s: another answer", ask_questions[i].name);
			view_free(fresh);
		}
	view_free(all);
}

/* Sums of the whole recording are asked for no more than is needed. */
static void no_more_than_needed(void **state)
{
	static const struct {
		int (*ask)(struct view *view, const struct filter *f, uint64_t *d);
		unsigned parts;
	} needs[] = {
		{ask_unnamed, 0},
		{ask_custom_series, 0},
		{ask_series, 0},
		{ask_report, WHOLE_PEAK | WHOLE_REALLOCATIONS},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++) {
		struct view *view = new_view();
		struct filter f;
		uint64_t d = 1;

		filter_init(&f);
		assert_int_equal(needs[i].ask(view, &f, &d), 0);
		assert_int_equal(view->whole_sums ? view->whole_sums->parts : 0, needs[i].parts);
		view_free(view);
	}
}

static void a_place_needs_no_parts(void **state)
{
	struct view *view = new_view();
	uint64_t count;

	(void)state;
	assert_int_equal(view_place_allocations(view, 1, &count, NULL), 0);
	assert_int_equal(view->whole_sums->parts, 0);
	view_free(view);
}

/* ---- given back ---- */

#define GIVEN_BACK(type, question, done, first)                                                    \
	do {                                                                                       \
		struct type x;                                                                     \
                                                                                                   \
		assert_int_equal(question, 0);                                                     \
		done(&x);                                                                          \
		assert_true(!x.first);                                                             \
		done(&x);                                                                          \
	} while (0)

static void given_back(void **state)
{
	struct timeline_question over = {.to_ns = NO_TIME, .buckets = 5};
	struct series_question by = {.grouping = GROUP_BY_SITE, .most = 3};
	struct view *view = new_view();
	struct timeline timeline;
	struct diff_side sides[2];
	struct filter f;

	(void)state;
	filter_init(&f);
	ask_sides(view, &f, sides);
	GIVEN_BACK(groups, query_groups(view, &f, GROUP_BY_SITE, VALUE_ALLOCATED, 0, &x, NULL),
		   groups_done, list);
	GIVEN_BACK(kind_groups, query_kinds(view, &f, VALUE_ALLOCATED, 0, &x, NULL),
		   kind_groups_done, list);
	GIVEN_BACK(overview, query_overview(view, &f, &x, NULL), overview_done,
		   leaked.backtraces.list);
	GIVEN_BACK(tree, query_tree(view, &f, VALUE_ALLOCATED, 0, &x, NULL), tree_done, nodes);
	GIVEN_BACK(timeline, query_timeline(view, &f, &over, &x, NULL), timeline_done, list);
	GIVEN_BACK(histogram, query_histogram(view, &f, VALUE_ALLOCATED, 0, &x, NULL),
		   histogram_done, sizes);
	GIVEN_BACK(survivors, query_survivors(view, &f, 0, &x, NULL), survivors_done, list);
	GIVEN_BACK(diff, query_diff(&sides[0], &sides[1], GROUP_BY_SITE, &x, NULL), diff_done,
		   list);
	GIVEN_BACK(tree_diff, query_tree_diff(&sides[0], &sides[1], NULL, 0, &x, NULL),
		   tree_diff_done, tree.nodes);
	GIVEN_BACK(thread_groups, query_thread_groups(view, &f, VALUE_ALLOCATED, 0, &x, NULL),
		   thread_groups_done, list);
	GIVEN_BACK(allocation_groups, query_allocation_groups(view, &f, &x, NULL),
		   allocation_groups_done, list);
	GIVEN_BACK(fragmentation, query_fragmentation(view, &f, 100, &x, NULL), fragmentation_done,
		   at_ns);
	GIVEN_BACK(mappings, query_mappings(view, true, NULL, &x, NULL), mappings_done, list);
	GIVEN_BACK(series_list, query_series(view, &f, &over, &by, &timeline, &x, NULL),
		   series_done, list[0].name);
	timeline_done(&timeline);
	view_free(view);
	view_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_any_order),	       cmocka_unit_test(of_any_kind),
		cmocka_unit_test(no_more_than_needed), cmocka_unit_test(a_place_needs_no_parts),
		cmocka_unit_test(given_back),
	};

	return cmocka_run_group_tests(tests, open_recording, close_recording);
}
