/*
 * Every answer against one computed naively: totals, peak, groups, tree, in use at a moment, orders
 * and pages, for random filters of every kind, and any number of threads that share pieces of the
 * rows. Rows are those of random programs as a model of theirs has them (program.h), received by a
 * store whose collector is killed again and again (receive.h); or, where threads tell late of what
 * the clock can't tell apart, and of samples, as the store has them. The other questions are in
 * answers.c. HEAPCAST_TEST_FULL: thousands of them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/columns/row_block.h"
#include "collector/query/sweep/rank.h"
#include "collector/query/time/peak.h"
#include "collector/recording/recording.h"
#include "tests/unit/query/asked.h"

#define ROUNDS	    24
#define ROUNDS_FULL 2000
#define QUESTIONS   12 /* of each program */

static struct usage culled_sum(const struct naive *n, enum culled_fit fit)
{
	struct usage sum = {0};

	for (uint32_t i = 0; i < n->culled_count; i++) {
		if (n->culled_match[i] != fit)
			continue;
		sum.blocks += n->culled[i].blocks;
		sum.bytes += n->culled[i].bytes;
	}
	return sum;
}

static void check_report(const struct asked *a, const struct filter *f)
{
	struct report report;
	struct err_text err = {0};
	struct usage wanted;

	assert_int_equal(query_report(a->t.view, f, &report, &err), 0);
	wanted = naive_sum(&a->n, VALUE_ALLOCATED, 0, NAIVE_ALL);
	asked_equal(a, "allocated", &report.allocated, &wanted);
	wanted = naive_sum(&a->n, VALUE_LEAKED, 0, NAIVE_ALL);
	asked_equal(a, "leaked", &report.leaked, &wanted);
	wanted = naive_sum(&a->n, VALUE_FREED, 0, NAIVE_ALL);
	asked_equal(a, "temporary", &report.freed, &wanted);
	wanted = naive_sum(&a->n, VALUE_PEAK, report.peak_ns, NAIVE_ALL);
	asked_equal(a, "peak", &report.peak, &wanted);
	wanted = culled_sum(&a->n, CULLED_YES);
	asked_equal(a, "culled matched", &report.culled.matched, &wanted);
	wanted = culled_sum(&a->n, CULLED_UNKNOWN);
	asked_equal(a, "culled unknown", &report.culled.unknown, &wanted);
}

static void check_groups(const struct asked *a, const struct filter *f, enum value value,
			 uint64_t at)
{
	struct groups groups, sites;
	struct err_text err = {0};
	struct usage total = naive_sum(&a->n, value, at, NAIVE_ALL);
	uint64_t bytes = 0, site_bytes = 0;
	size_t seen = 0;

	assert_int_equal(query_groups(a->t.view, f, GROUP_BY_BACKTRACE, value, at, &groups, &err),
			 0);
	asked_equal(a, "total", &groups.total, &total);
	for (size_t i = 0; i < groups.count; i++) {
		struct usage wanted = naive_sum(&a->n, value, at, groups.list[i].node);

		asked_equal(a, "a group's value", &groups.list[i].value, &wanted);
		wanted = naive_sum(&a->n, VALUE_LEAKED, at, groups.list[i].node);
		asked_equal(a, "a group's leaked", &groups.list[i].leaked, &wanted);
		wanted = naive_sum(&a->n, VALUE_ALLOCATED, at, groups.list[i].node);
		asked_equal(a, "a group's allocated", &groups.list[i].allocated, &wanted);
		wanted = naive_sum(&a->n, VALUE_FREED, at, groups.list[i].node);
		asked_equal(a, "a group's temporary", &groups.list[i].freed, &wanted);
		assert_true(!i || groups.list[i - 1].value.bytes >= groups.list[i].value.bytes);
		bytes += groups.list[i].value.bytes;
	}
	for (uint32_t s = 0; s <= TEST_NODES; s++)
		seen += naive_sum(&a->n, value, at, s).blocks > 0;
	assert_int_equal(groups.count, seen);
	assert_in_range(bytes + seen, total.bytes, total.bytes + 2 * seen);
	assert_int_equal(query_groups(a->t.view, f, GROUP_BY_SITE, value, at, &sites, &err), 0);
	for (size_t i = 0; i < sites.count; i++)
		site_bytes += sites.list[i].value.bytes;
	assert_in_range(site_bytes + seen, total.bytes, total.bytes + 2 * seen);
	assert_true(sites.count <= groups.count);
	groups_done(&groups);
	groups_done(&sites);
}

/* The names from the outermost frame on, as a collapsed stack. */
static void path_of(const struct asked *a, uint32_t node, char *out, size_t size)
{
	char *tail;

	out[0] = 0;
	if (!node) {
		snprintf(out, size, ";[no backtrace]");
		return;
	}
	if (recording_node(a->t.recording, node)->parent)
		path_of(a, recording_node(a->t.recording, node)->parent, out, size);
	tail = out + strlen(out);
	snprintf(tail, size - (size_t)(tail - out), ";%s", view_frame_name(a->t.view, node, 0));
}

static void check_leaf(const struct asked *a, const struct filter *f, enum value value, uint64_t at,
		       const struct tree *tree, uint32_t index, const char *path)
{
	uint64_t self = 0, below = tree->nodes[index].self_bytes;
	char other[4096], deeper[4096];

	for (uint32_t s = 0; s <= TEST_NODES && index; s++) {
		path_of(a, s, other, sizeof(other));
		if (!strcmp(other, path))
			self += naive_sum(&a->n, value, at, s).bytes;
	}
	if (index)
		assert_in_range(tree->nodes[index].self_bytes + 2, self, self + 4);
	for (uint32_t c = tree->nodes[index].first_child; c; c = tree->nodes[c].next_sibling) {
		uint32_t next = tree->nodes[c].next_sibling;

		assert_true(!next || tree->nodes[next].bytes <= tree->nodes[c].bytes);
		snprintf(deeper, sizeof(deeper), "%s;%s", path, tree->nodes[c].function);
		check_leaf(a, f, value, at, tree, c, deeper);
		below += tree->nodes[c].bytes;
	}
	assert_int_equal(below, tree->nodes[index].bytes);
}

/* From the inside out: who allocated comes first, with all that it has itself. */
static void check_reversed(const struct tree *tree)
{
	struct tree reversed;

	assert_int_equal(tree_reversed(tree, 1, 1, UINT32_MAX, &reversed), 0);
	assert_int_equal(reversed.nodes[0].bytes, tree->nodes[0].bytes);
	for (uint32_t c = reversed.nodes[0].first_child; c; c = reversed.nodes[c].next_sibling) {
		uint64_t self = 0;

		for (size_t i = 1; i < tree->count; i++)
			if (tree->nodes[i].function == reversed.nodes[c].function &&
			    tree->nodes[i].module == reversed.nodes[c].module)
				self += tree->nodes[i].self_bytes;
		assert_int_equal(reversed.nodes[c].bytes, self);
	}
	for (size_t i = 0; i < reversed.count; i++) {
		uint64_t below = reversed.nodes[i].self_bytes;

		for (uint32_t c = reversed.nodes[i].first_child; c;
		     c = reversed.nodes[c].next_sibling)
			below += reversed.nodes[c].bytes;
		assert_int_equal(below, reversed.nodes[i].bytes);
	}
	tree_done(&reversed);
}

/* What is leaked beside what `value` counts. */
static void check_tree_diff(const struct asked *a, const struct filter *f, enum value value,
			    uint64_t at)
{
	struct diff_side base = {a->t.view, f, VALUE_LEAKED, NO_TIME},
			 now = {a->t.view, f, value, at};
	struct tree_diff diff;

	assert_int_equal(query_tree_diff(&base, &now, NULL, 0, &diff, NULL), 0);
	assert_int_equal(diff.changes[0].base_bytes,
			 naive_sum(&a->n, VALUE_LEAKED, at, NAIVE_ALL).bytes);
	assert_int_equal(diff.changes[0].now_bytes, naive_sum(&a->n, value, at, NAIVE_ALL).bytes);
	for (size_t i = 0; i < diff.tree.count; i++) {
		const struct tree_node *n = &diff.tree.nodes[i];
		uint64_t below = n->self_bytes;

		assert_true(n->bytes >= diff.changes[i].base_bytes);
		assert_true(n->bytes >= diff.changes[i].now_bytes);
		for (uint32_t c = n->first_child; c; c = diff.tree.nodes[c].next_sibling)
			below += diff.tree.nodes[c].bytes;
		assert_int_equal(below, n->bytes);
	}
	tree_diff_done(&diff);
}

/* Of each thread and stack, and of all threads of a stack. Culled blocks are no rows: they count
 * where they are known. */
static void check_threads(const struct asked *a, const struct filter *f, enum value value,
			  uint64_t at)
{
	struct usage all = naive_sum(&a->n, VALUE_ALLOCATED, at, NAIVE_ALL),
		     counted = naive_sum(&a->n, value, at, NAIVE_ALL);
	bool moment = value == VALUE_LEAKED || value == VALUE_IN_USE || value == VALUE_PEAK;
	struct thread_groups groups;
	uint64_t bytes = 0;

	assert_int_equal(query_thread_groups(a->t.view, f, value, at, &groups, NULL), 0);
	asked_equal(a, "allocated by all threads", &groups.allocated, &all);
	asked_equal(a, "of all threads", &groups.value, &counted);
	for (size_t i = 0; i < groups.count; i++) {
		const struct thread_group *g = &groups.list[i];
		uint64_t own = 0;

		assert_true(!i || g[-1].node < g->node ||
			    (g[-1].node == g->node && g[-1].thread < g->thread));
		bytes += g->allocated.bytes;
		for (size_t row = 0; row < a->n.rows.count && moment && !a->sampled; row++) {
			const struct naive_row *r = &a->n.rows.list[row];
			bool alive = value == VALUE_LEAKED ? r->end == BLOCK_IN_USE
							   : r->birth <= at && r->death > at;

			own += a->n.match[row] && r->stack == g->node && r->thread == g->thread &&
					       alive
				       ? r->size
				       : 0;
		}
		if (moment && !a->sampled)
			assert_int_equal(g->value.bytes, own);
	}
	assert_in_range(bytes + groups.count, all.bytes, all.bytes + 2 * groups.count);
	thread_groups_done(&groups);
}

/* Rows of a value are those that it counts. */
static void check_narrow(const struct asked *a, const struct filter *f, enum value value,
			 uint64_t at)
{
	struct usage wanted = naive_sum(&a->n, value, at, NAIVE_ALL);
	struct filter narrow = *f; /* nothing of it is freed */
	struct groups groups;

	if (filter_narrow(&narrow, a->t.view, value, at, NULL) < 0)
		return;
	assert_int_equal(query_groups(a->t.view, &narrow, GROUP_BY_BACKTRACE, VALUE_ALLOCATED,
				      NO_TIME, &groups, NULL),
			 0);
	asked_equal(a, "rows of a value", &groups.total, &wanted);
	groups_done(&groups);
}

static void check_tree(const struct asked *a, const struct filter *f, enum value value, uint64_t at)
{
	struct filter whole = *f; /* what is hidden: unit.query.wrappers */
	struct tree tree;
	struct err_text err = {0};

	whole.hide = HIDE_NONE;
	assert_int_equal(query_tree(a->t.view, &whole, value, at, &tree, &err), 0);
	assert_int_equal(tree.nodes[0].bytes, naive_sum(&a->n, value, at, NAIVE_ALL).bytes);
	check_leaf(a, f, value, at, &tree, 0, "");
	check_reversed(&tree);
	check_tree_diff(a, f, value, at);
	tree_done(&tree);
}

static uint64_t key_of(const struct naive_row *r, enum page_order order)
{
	return order == PAGE_BY_SIZE ? r->size : order == PAGE_BY_ADDRESS ? r->address : r->birth;
}

/* Counting finds the place behind which the rest begins, however few rows may be left to be left
 * out. */
static void check_rank(const struct asked *a, const struct filter *f, enum page_order order,
		       bool descending, const uint64_t *in_order, uint64_t skip, uint64_t few)
{
	struct rank_entry last = {0};
	struct matcher matcher;
	uint64_t left, gone = 0;
	bool any;

	assert_int_equal(matcher_init(&matcher, a->t.view, f, NULL), 0);
	assert_int_equal(
		rank_skip(&matcher, order, descending, skip, few, &last, &any, &left, NULL), 0);
	assert_in_range(left, 0, few > skip ? skip : few);
	for (; any; gone++) {
		uint64_t row = in_order[gone], key = key_of(&a->n.rows.list[row], order);
		bool is_last = key == last.key && row == last.row;
		bool comes_after = key != last.key ? (descending ? key < last.key : key > last.key)
						   : (descending ? row < last.row : row > last.row);

		if (comes_after && !is_last)
			break;
	}
	assert_int_equal(gone, skip - left);
	matcher_done(&matcher);
}

/* A page that begins behind some rows is a part of the whole. */
static void check_skip(struct asked *a, const struct filter *f, enum page_order order,
		       bool descending, const uint64_t *in_order, uint64_t count)
{
	uint64_t skip = count > 1 ? 1 + test_random(&a->random) % (count - 1) : 0, rows[20];
	struct query_page *scan;
	long got;

	if (!skip)
		return;
	assert_int_equal(query_page_new(a->t.view, f, order, descending, &scan, NULL), 0);
	assert_int_equal(query_page_skip(scan, skip, NULL), 0);
	got = query_page_next(scan, rows, 20, NULL);
	assert_true(got > 0);
	for (long i = 0; i < got; i++)
		assert_int_equal(rows[i], in_order[skip + (uint64_t)i]);
	query_page_free(scan);
	if (order != PAGE_BY_TIME)
		check_rank(a, f, order, descending, in_order, skip,
			   1 + test_random(&a->random) % 50);
}

static void check_scan(struct asked *a, const struct filter *f, enum page_order order,
		       bool descending, uint64_t *random)
{
	const struct naive *n = &a->n;
	struct query_page *scan;
	struct err_text err = {0};
	uint64_t total, got = 0, wanted = 0, last = 0;
	uint8_t *seen = calloc(n->rows.count + 1, 1);
	uint64_t *in_order = calloc(n->rows.count + 1, sizeof(*in_order));

	for (size_t i = 0; i < n->rows.count; i++)
		wanted += n->match[i];
	assert_int_equal(query_page_new(a->t.view, f, order, descending, &scan, &err), 0);
	assert_int_equal(query_page_total(scan, &total, &err), 0);
	assert_int_equal(total, wanted);
	for (;;) {
		uint64_t rows[100];
		long count = query_page_next(scan, rows, 1 + test_random(random) % 100, &err);

		assert_true(count >= 0);
		if (!count)
			break;
		for (long i = 0; i < count; i++, got++) {
			const struct naive_row *r = &n->rows.list[rows[i]];
			uint64_t key = key_of(r, order);

			assert_true(n->match[rows[i]]);
			assert_false(seen[rows[i]]);
			seen[rows[i]] = 1;
			in_order[got] = rows[i];
			assert_true(!got || (descending ? key <= last : key >= last));
			last = key;
		}
	}
	assert_int_equal(got, wanted);
	query_page_free(scan);
	check_skip(a, f, order, descending, in_order, got);
	free(seen);
	free(in_order);
}

struct each {
	const struct naive *n;
	uint64_t next;
};

/* Each row that matches, in order, and none of the others. */
static int check_row(void *context, const struct row_block *block, uint32_t index)
{
	struct each *each = context;
	uint64_t row = block->first_row + index;

	for (; each->next < row; each->next++)
		assert_false(each->n->match[each->next]);
	assert_true(each->n->match[each->next++]);
	return 0;
}

static void check_each(const struct asked *a, const struct filter *f)
{
	struct each each = {.n = &a->n};

	assert_int_equal(query_each(a->t.view, f, check_row, &each, NULL), 0);
	for (; each.next < a->n.rows.count; each.next++)
		assert_false(a->n.match[each.next]);
}

/* The moment of the peak of all blocks. */
static uint64_t check_peak(struct asked *a)
{
	uint64_t best = 0, best_ns = 0, peak_ns;
	struct filter all;

	filter_init(&all);
	naive_ask(&a->n, &all);
	for (size_t i = 0; i < a->n.rows.count; i++) {
		uint64_t at = a->n.rows.list[i].birth,
			 bytes = naive_sum(&a->n, VALUE_IN_USE, at, NAIVE_ALL).bytes;

		if (bytes > best || (bytes == best && at < best_ns)) {
			best = bytes;
			best_ns = at;
		}
	}
	assert_int_equal(peak_moment(a->t.view, &all, &peak_ns, NULL), 0);
	assert_int_equal(naive_sum(&a->n, VALUE_IN_USE, peak_ns, NAIVE_ALL).bytes, best);
	assert_int_equal(peak_ns, best_ns);
	return peak_ns;
}

static void ask(struct asked *a, uint64_t peak_ns)
{
	uint64_t at = test_random(&a->random) % a->end;
	enum value one = (enum value)(test_random(&a->random) % (VALUE_PEAK + 1));
	struct filter f;

	naive_random_filter(&f, &a->n, &a->random, a->sampled);
	naive_ask(&a->n, &f);
	check_report(a, &f);
	for (enum value v = VALUE_ALLOCATED; v <= VALUE_PEAK; v++) {
		check_groups(a, &f, v, v == VALUE_PEAK ? peak_ns : at);
		if (!a->sampled)
			check_tree(a, &f, v, v == VALUE_PEAK ? peak_ns : at);
	}
	check_threads(a, &f, one, one == VALUE_PEAK ? peak_ns : at);
	check_narrow(a, &f, one, one == VALUE_PEAK ? peak_ns : at);
	for (unsigned o = PAGE_BY_TIME; o <= PAGE_BY_SIZE; o++)
		check_scan(a, &f, (enum page_order)o, test_random(&a->random) & 1, &a->random);
	check_each(a, &f);
	filter_done(&f);
}

static void test_programs(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= asked_rounds(ROUNDS, ROUNDS_FULL); seed++) {
		struct asked a;
		uint64_t peak_ns;

		asked_open(&a, seed);
		peak_ns = check_peak(&a);
		for (unsigned i = 0; i < QUESTIONS; i++)
			ask(&a, peak_ns);
		asked_close(&a);
	}
}

static void of_rows(uint64_t seed, bool sampled)
{
	struct asked a;

	asked_open_rows(&a, seed, sampled);
	ask(&a, check_peak(&a));
	asked_close(&a);
}

static void test_exact(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= asked_rounds(ROUNDS, ROUNDS_FULL); seed++)
		of_rows(seed, false);
}

static void test_sampled(void **state)
{
	(void)state;
	for (uint64_t seed = 101; seed <= 100 + asked_rounds(ROUNDS, ROUNDS_FULL) / 4; seed++)
		of_rows(seed, true);
}

static void test_empty(void **state)
{
	struct test_recording t;
	struct filter f;
	struct report report;
	struct groups groups;
	struct tree tree;
	struct err_text err = {0};

	(void)state;
	test_random_recording(&t, 7, 0, false);
	filter_init(&f);
	assert_int_equal(query_report(t.view, &f, &report, &err), 0);
	assert_int_equal(report.allocated.blocks, 0);
	assert_int_equal(
		query_groups(t.view, &f, GROUP_BY_SITE, VALUE_PEAK, NO_TIME, &groups, &err), 0);
	assert_int_equal(groups.count, 0);
	groups_done(&groups);
	assert_int_equal(query_tree(t.view, &f, VALUE_ALLOCATED, NO_TIME, &tree, &err), 0);
	assert_int_equal(tree.count, 1);
	tree_done(&tree);
	test_close(&t);
}

static void test_cancelled(void **state)
{
	struct test_recording t;
	struct filter f;
	struct report report;
	struct timeline timeline;
	struct err_text err = {0};
	atomic_bool cancelled = true;

	(void)state;
	test_random_recording(&t, 7, 100, false);
	filter_init(&f);
	f.cancel.asked = &cancelled;
	assert_int_equal(query_report(t.view, &f, &report, &err), -ECANCELED);
	cancelled = false;
	f.cancel.deadline_ns = 1; /* long ago */
	assert_int_equal(query_report(t.view, &f, &report, &err), -ETIME);
	assert_int_equal(
		query_timeline(t.view, &f,
			       &(struct timeline_question){.to_ns = NO_TIME, .buckets = 10},
			       &timeline, &err),
		-ETIME);
	f.cancel.deadline_ns = cancel_clock_ns() + 3600000000000ull;
	assert_int_equal(query_report(t.view, &f, &report, &err), 0);
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),  cmocka_unit_test(test_exact),
		cmocka_unit_test(test_sampled),	  cmocka_unit_test(test_empty),
		cmocka_unit_test(test_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
