/*
 * Answers are the same bit for bit whether one thread, two or eight work at a question, also where
 * samples make sums of fractions; a question can be withdrawn in the middle, and tells how far it
 * is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "collector/columns/row_block.h"
#include "collector/query/sweep/parallel.h"
#include "collector/query/time/history.h"
#include "collector/query/sweep/sweep.h"
#include "collector/query/survivors.h"
#include "tests/unit/query/recording.h"

#define EVENTS 5000
#define PIECE  64

static void put(struct buf *out, const void *data, size_t length)
{
	buf_append(out, data, length);
}

static void put_report(struct buf *out, struct view *view, const struct filter *f)
{
	struct report report;

	memset(&report, 0, sizeof(report));
	assert_int_equal(query_report(view, f, &report, NULL), 0);
	put(out, &report.allocated, sizeof(report.allocated));
	put(out, &report.leaked, sizeof(report.leaked));
	put(out, &report.freed, sizeof(report.freed));
	put(out, &report.peak, sizeof(report.peak));
	buf_printf(out, "%llu %llu %llu %llu", (unsigned long long)report.peak_ns,
		   (unsigned long long)report.frees, (unsigned long long)report.reallocations,
		   (unsigned long long)report.distinct_stacks);
}

static void put_groups(struct buf *out, struct view *view, const struct filter *f,
		       enum grouping grouping, enum value value)
{
	struct groups groups;

	assert_int_equal(query_groups(view, f, grouping, value, 900, &groups, NULL), 0);
	for (size_t i = 0; i < groups.count; i++) {
		const struct group *g = &groups.list[i];

		put(out, &g->value, sizeof(g->value));
		put(out, &g->allocated, sizeof(g->allocated));
		put(out, &g->leaked, sizeof(g->leaked));
		put(out, &g->freed, sizeof(g->freed));
		buf_printf(out, "%u %llu %llu %llu %llu", g->node, (unsigned long long)g->min_size,
			   (unsigned long long)g->max_size, (unsigned long long)g->first_ns,
			   (unsigned long long)g->last_ns);
	}
	put(out, &groups.total, sizeof(groups.total));
	groups_done(&groups);
}

static void put_tree(struct buf *out, struct view *view, const struct filter *f, enum value value)
{
	struct tree tree;

	assert_int_equal(query_tree(view, f, value, 900, &tree, NULL), 0);
	for (size_t i = 0; i < tree.count; i++)
		buf_printf(out, "%u %llu %llu %llu %llu;", tree.nodes[i].node,
			   (unsigned long long)tree.nodes[i].bytes,
			   (unsigned long long)tree.nodes[i].blocks,
			   (unsigned long long)tree.nodes[i].first_ns,
			   (unsigned long long)tree.nodes[i].last_ns);
	tree_done(&tree);
}

static void put_over_time(struct buf *out, struct view *view, const struct filter *f)
{
	struct timeline timeline;
	struct allocation_groups groups;

	assert_int_equal(
		query_timeline(view, f,
			       &(struct timeline_question){.to_ns = NO_TIME, .buckets = 37},
			       &timeline, NULL),
		0);
	put(out, timeline.list, timeline.count * sizeof(*timeline.list));
	timeline_done(&timeline);
	assert_int_equal(query_allocation_groups(view, f, &groups, NULL), 0);
	for (size_t i = 0; i < groups.count; i++) {
		put(out, &groups.list[i].all, sizeof(groups.list[i].all));
		put(out, &groups.list[i].matched, sizeof(groups.list[i].matched));
		buf_printf(out, "%u %llu", groups.list[i].node,
			   (unsigned long long)groups.list[i].peak_ns);
	}
	allocation_groups_done(&groups);
}

static void put_classes(struct buf *out, struct view *view, const struct filter *f)
{
	struct histogram histogram;
	struct survivors survivors;

	assert_int_equal(query_histogram(view, f, VALUE_ALLOCATED, NO_TIME, &histogram, NULL), 0);
	put(out, histogram.sizes, histogram.size_count * sizeof(*histogram.sizes));
	put(out, histogram.lifetimes, histogram.lifetime_count * sizeof(*histogram.lifetimes));
	histogram_done(&histogram);
	assert_int_equal(query_survivors(view, f, 300, &survivors, NULL), 0);
	for (size_t i = 0; i < survivors.count; i++) {
		put(out, &survivors.list[i].old, sizeof(survivors.list[i].old));
		put(out, &survivors.list[i].young, sizeof(survivors.list[i].young));
		buf_printf(out, "%u %llu", survivors.list[i].node,
			   (unsigned long long)survivors.list[i].suspect_bytes);
	}
	survivors_done(&survivors);
}

static void put_pages(struct buf *out, struct view *view, const struct filter *f)
{
	for (unsigned order = PAGE_BY_TIME; order <= PAGE_BY_SIZE; order++) {
		struct query_page *page;
		uint64_t rows[50], total;
		long n;

		assert_int_equal(
			query_page_new(view, f, (enum page_order)order, order & 1, &page, NULL), 0);
		assert_int_equal(query_page_total(page, &total, NULL), 0);
		put(out, &total, sizeof(total));
		while ((n = query_page_next(page, rows, 50, NULL)) > 0)
			put(out, rows, (size_t)n * sizeof(*rows));
		assert_int_equal(n, 0);
		query_page_free(page);
	}
}

/* Every question, of a view that knows nothing yet. */
static void ask_all(struct buf *out, struct test_recording *t, const struct filter *f)
{
	assert_int_equal(view_refresh(t->view, NULL), 0);
	put_report(out, t->view, f);
	for (enum value v = VALUE_ALLOCATED; v <= VALUE_PEAK; v++) {
		put_groups(out, t->view, f, GROUP_BY_BACKTRACE, v);
		put_groups(out, t->view, f, GROUP_BY_SITE, v);
		put_tree(out, t->view, f, v);
	}
	put_over_time(out, t->view, f);
	put_classes(out, t->view, f);
	put_pages(out, t->view, f);
	assert_int_equal(buf_error(out), 0);
}

static void choose(struct filter *f, unsigned which)
{
	filter_init(f);
	if (which == 1)
		f->size_min = 50;
	if (which == 2)
		f->lifetime = LIFETIME_ONLY_WHOLE_GROUP_LEAKED;
	if (which == 3)
		f->from_ns = 2000;
	if (which == 4)
		f->chain_length_min = 2;
}

static void test_same_answers(void **state)
{
	static const unsigned threads[] = {1, 2, 8, 3};
	struct buf wanted = {0}, got = {0};
	struct test_recording t;
	struct filter f;

	(void)state;
	sweep_set_piece(PIECE);
	for (unsigned round = 0; round < 10; round++) {
		test_random_recording(&t, 11 + round, EVENTS, round & 1);
		choose(&f, round / 2);
		for (unsigned i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
			parallel_limit(threads[i]);
			buf_clear(&got);
			ask_all(i ? &got : &wanted, &t, &f);
			assert_true(!i || got.length == wanted.length);
			assert_true(!i || !memcmp(got.data, wanted.data, wanted.length));
		}
		buf_clear(&wanted);
		test_close(&t);
	}
	sweep_set_piece(0);
	parallel_limit(0);
	buf_done(&wanted);
	buf_done(&got);
}

/* ---- withdrawn, and how far ---- */

struct watching {
	struct progress progress;
	atomic_bool cancelled;
	uint64_t calls, cancel_at;
};

static void watch(void *context, uint64_t done, uint64_t of)
{
	struct watching *w = context;

	assert_true(done <= of);
	if (++w->calls == w->cancel_at)
		w->cancelled = true;
}

static int ask_one(struct test_recording *t, const struct filter *f, unsigned which)
{
	struct report report;
	struct timeline timeline = {0};
	struct allocation_groups groups = {0};
	struct survivors survivors = {0};
	struct tree tree = {0};
	int r = 0;

	switch (which) {
	case 0:
		return query_report(t->view, f, &report, NULL);
	case 1:
		r = query_timeline(t->view, f,
				   &(struct timeline_question){.to_ns = NO_TIME, .buckets = 9},
				   &timeline, NULL);
		timeline_done(&timeline);
		return r;
	case 2:
		r = query_allocation_groups(t->view, f, &groups, NULL);
		allocation_groups_done(&groups);
		return r;
	case 3:
		r = query_survivors(t->view, f, NO_TIME, &survivors, NULL);
		survivors_done(&survivors);
		return r;
	default:
		r = query_tree(t->view, f, VALUE_ALLOCATED, NO_TIME, &tree, NULL);
		tree_done(&tree);
		return r;
	}
}

/* Wherever a question is withdrawn it ends so, leaves nothing behind, and can be asked again. */
static void test_withdrawn_anywhere(void **state)
{
	struct test_recording t;
	struct filter f;

	(void)state;
	sweep_set_piece(PIECE);
	history_set_sizes(64, 0);
	test_random_recording(&t, 5, EVENTS, false);
	for (unsigned which = 0; which < 5; which++) {
		for (uint64_t at = 1, ended = 0; !ended; at = at * 3 / 2 + 1) {
			struct watching w = {.cancel_at = at};
			int r;

			w.progress.show = watch;
			w.progress.context = &w;
			filter_init(&f);
			f.cancel.asked = &w.cancelled;
			f.progress = &w.progress;
			parallel_limit(1 + at % 2 * 7);
			view_refresh(t.view, NULL);
			r = ask_one(&t, &f, which);
			assert_true(w.calls > 0 && w.calls <= at + 2);
			assert_true(r == 0 || (r == -ECANCELED && w.cancelled));
			ended = w.calls < at;
			if (ended)
				assert_int_equal(w.progress.done, w.progress.of);
			assert_true(!ended || r == 0);
		}
	}
	sweep_set_piece(0);
	history_set_sizes(0, 0);
	parallel_limit(0);
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_answers),
		cmocka_unit_test(test_withdrawn_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
