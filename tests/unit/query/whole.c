/*
 * Sums of all rows, written down and read back: the same answers. Whatever is wrong with the bytes,
 * they are refused, or an answer is given, but no harm done. And answers made of them are those of
 * a filter that lets all rows through.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <xxhash.h>

#include "collector/columns/row_block.h"
#include "collector/query/sums/whole_sums.h"
#include "collector/recording/recording.h"
#include "tests/unit/query/recording.h"

#define EVENTS 3000
#define STATE  4711
#define PARTS  (WHOLE_PEAK | WHOLE_REALLOCATIONS | WHOLE_GROUP_PEAKS)

static const struct whole_sums *whole_of(struct test_recording *t, unsigned parts)
{
	const struct whole_sums *whole;
	struct filter all;

	filter_init(&all);
	assert_int_equal(view_whole_sums(t->view, &all, parts, &whole, NULL), 0);
	return whole;
}

static void vouch(struct buf *bytes)
{
	uint64_t check = XXH3_64bits(bytes->data + 16, bytes->length - 16);

	for (unsigned i = 0; i < 8; i++)
		bytes->data[8 + i] = (uint8_t)(check >> 8 * i);
}

static void refused(const struct buf *bytes, size_t length, const struct test_recording *t,
		    uint64_t state)
{
	struct whole_sums *whole = NULL;

	assert_int_equal(whole_sums_read(bytes->data, length, t->recording, state, &whole),
			 -EBADMSG);
	assert_null(whole);
}

static void same_tallies(const struct tally *a, const struct tally *b)
{
	assert_memory_equal(a, b, sizeof(*a));
}

static void same_sums(const struct whole_sums *a, const struct whole_sums *b)
{
	assert_int_equal(a->parts, b->parts);
	assert_int_equal(a->peak_ns, b->peak_ns);
	assert_int_equal(a->sums.reallocations, b->sums.reallocations);
	assert_int_equal(a->sums.count, b->sums.count);
	for (uint32_t i = 0; i < a->sums.count; i++) {
		const struct node_sum *x = &a->sums.list[i], *y = &b->sums.list[i];

		assert_int_equal(x->node, y->node);
		assert_ptr_equal(node_sums_get(&b->sums, x->node), y);
		assert_int_equal(x->min_size, y->min_size);
		assert_int_equal(x->max_size, y->max_size);
		assert_int_equal(x->first_ns, y->first_ns);
		assert_int_equal(x->last_ns, y->last_ns);
		assert_int_equal(!a->group_peaks, !b->group_peaks);
		if (a->group_peaks)
			assert_int_equal(a->group_peaks[i], b->group_peaks[i]);
		for (enum value v = VALUE_ALLOCATED; v <= VALUE_PEAK; v++) {
			struct tally of_x = node_sum_tally(&a->sums, x, v),
				     of_y = node_sum_tally(&b->sums, y, v);

			same_tallies(&of_x, &of_y);
		}
	}
}

static void test_written_and_read(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 16; round++) {
		struct test_recording t, other;
		struct whole_sums *again;
		struct buf bytes = {0};
		const struct whole_sums *whole;

		test_random_recording(&t, 3, EVENTS, round & 1);
		test_random_recording(&other, 4, EVENTS, round & 1);
		whole = whole_of(&t, round / 2);
		assert_int_equal(whole_sums_write(whole, t.recording, STATE, &bytes), 0);
		assert_int_equal(
			whole_sums_read(bytes.data, bytes.length, t.recording, STATE, &again), 0);
		same_sums(whole, again);
		whole_sums_free(again);
		refused(&bytes, bytes.length, &t, STATE + 1);
		refused(&bytes, bytes.length, &other, STATE);
		refused(&bytes, bytes.length - 1, &t, STATE);
		refused(&bytes, 3, &t, STATE);
		bytes.data[bytes.length / 2] ^= 1;
		refused(&bytes, bytes.length, &t, STATE);
		bytes.data[bytes.length / 2] ^= 1;
		bytes.data[7]++;
		refused(&bytes, bytes.length, &t, STATE);
		buf_done(&bytes);
		test_close(&t);
		test_close(&other);
	}
}

/* A part that is asked for later is the one that comes of asking for all at once. */
static void test_parts_in_any_order(void **state)
{
	static const unsigned orders[][3] = {
		{WHOLE_PEAK, WHOLE_REALLOCATIONS, WHOLE_GROUP_PEAKS},
		{WHOLE_GROUP_PEAKS, WHOLE_PEAK, WHOLE_REALLOCATIONS},
		{0, WHOLE_REALLOCATIONS | WHOLE_GROUP_PEAKS, WHOLE_PEAK},
	};

	(void)state;
	for (unsigned round = 0; round < 6; round++) {
		struct test_recording t, same;

		test_random_recording(&t, 5, EVENTS, round & 1);
		test_random_recording(&same, 5, EVENTS, round & 1);
		for (unsigned i = 0; i < 3; i++)
			whole_of(&t, orders[round / 2][i]);
		same_sums(whole_of(&t, PARTS), whole_of(&same, PARTS));
		test_close(&t);
		test_close(&same);
	}
}

/* Damage that a right checksum vouches for. */
static void test_hostile(void **state)
{
	struct test_recording t;
	struct buf bytes = {0};
	uint64_t random = 99;
	unsigned read = 0;

	(void)state;
	test_random_recording(&t, 3, EVENTS / 4, true);
	for (unsigned round = 0; round < 3000; round++) {
		struct whole_sums *damaged;

		buf_clear(&bytes);
		assert_int_equal(whole_sums_write(whole_of(&t, PARTS), t.recording, STATE, &bytes),
				 0);
		for (unsigned n = 1 + test_random(&random) % 3; n; n--)
			bytes.data[48 + test_random(&random) % (bytes.length - 48)] =
				(uint8_t)test_random(&random);
		vouch(&bytes);
		if (whole_sums_read(bytes.data, bytes.length, t.recording, STATE, &damaged) < 0)
			continue;
		read++;
		for (uint32_t i = 0; i < damaged->sums.count; i++)
			for (enum value v = VALUE_ALLOCATED; v <= VALUE_PEAK; v++)
				node_sum_tally(&damaged->sums, &damaged->sums.list[i], v);
		whole_sums_free(damaged);
	}
	assert_true(read > 100);
	buf_done(&bytes);
	test_close(&t);
}

/* ---- the same as of rows that are looked at one by one ---- */

static void near(double a, double b)
{
	assert_true(a - b <= 1 + 1e-9 * b && b - a <= 1 + 1e-9 * b);
}

static void same_usage(const struct usage *a, const struct usage *b)
{
	near((double)a->blocks, (double)b->blocks);
	near((double)a->bytes, (double)b->bytes);
	assert_int_equal(a->samples, b->samples);
	near(a->bytes_error, b->bytes_error);
	near(a->blocks_error, b->blocks_error);
}

static void same_group(const struct group *a, const struct group *b)
{
	assert_int_equal(a->node, b->node);
	same_usage(&a->value, &b->value);
	same_usage(&a->allocated, &b->allocated);
	same_usage(&a->leaked, &b->leaked);
	same_usage(&a->freed, &b->freed);
	assert_int_equal(a->min_size, b->min_size);
	assert_int_equal(a->max_size, b->max_size);
	assert_int_equal(a->first_ns, b->first_ns);
	assert_int_equal(a->last_ns, b->last_ns);
}

static void same_groups(const struct groups *a, const struct groups *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->at_ns, b->at_ns);
	same_usage(&a->total, &b->total);
	for (size_t i = 0; i < a->count; i++)
		same_group(&a->list[i], &b->list[i]);
}

static void check_groups(struct test_recording *t, const struct filter *all,
			 const struct filter *matched, enum grouping grouping)
{
	for (enum value v = VALUE_ALLOCATED; v <= VALUE_PEAK; v++) {
		uint64_t at_ns = v == VALUE_IN_USE ? recording_end_ns(t->recording) / 2 : NO_TIME;
		struct groups a, b;

		assert_int_equal(query_groups(t->view, all, grouping, v, at_ns, &a, NULL), 0);
		assert_int_equal(query_groups(t->view, matched, grouping, v, at_ns, &b, NULL), 0);
		if (v != VALUE_IN_USE && v != VALUE_PEAK)
			a.at_ns = b.at_ns;
		same_groups(&a, &b);
		groups_done(&a);
		groups_done(&b);
	}
}

static void check_trees(struct test_recording *t, const struct filter *all,
			const struct filter *matched)
{
	struct tree a, b;

	assert_int_equal(query_tree(t->view, all, VALUE_ALLOCATED, NO_TIME, &a, NULL), 0);
	assert_int_equal(query_tree(t->view, matched, VALUE_ALLOCATED, NO_TIME, &b, NULL), 0);
	assert_int_equal(a.count, b.count);
	for (size_t i = 0; i < a.count; i++) {
		assert_int_equal(a.nodes[i].bytes, b.nodes[i].bytes);
		assert_int_equal(a.nodes[i].blocks, b.nodes[i].blocks);
		assert_int_equal(a.nodes[i].first_ns, b.nodes[i].first_ns);
		assert_int_equal(a.nodes[i].last_ns, b.nodes[i].last_ns);
	}
	tree_done(&a);
	tree_done(&b);
}

static void same_report(const struct report *a, const struct report *b)
{
	same_usage(&a->allocated, &b->allocated);
	same_usage(&a->leaked, &b->leaked);
	same_usage(&a->freed, &b->freed);
	same_usage(&a->peak, &b->peak);
	assert_int_equal(a->peak_ns, b->peak_ns);
	assert_int_equal(a->reallocations, b->reallocations);
	assert_int_equal(a->distinct_stacks, b->distinct_stacks);
	near((double)a->frees, (double)b->frees);
}

static void check_overview(struct test_recording *t, const struct filter *f)
{
	struct overview overview;
	struct report report;
	struct groups groups;

	assert_int_equal(query_overview(t->view, f, &overview, NULL), 0);
	assert_int_equal(query_report(t->view, f, &report, NULL), 0);
	same_report(&overview.report, &report);
	assert_int_equal(
		query_groups(t->view, f, GROUP_BY_SITE, VALUE_PEAK, NO_TIME, &groups, NULL), 0);
	same_groups(&overview.peak.sites, &groups);
	groups_done(&groups);
	assert_int_equal(
		query_groups(t->view, f, GROUP_BY_BACKTRACE, VALUE_LEAKED, NO_TIME, &groups, NULL),
		0);
	overview.leaked.backtraces.at_ns = groups.at_ns;
	same_groups(&overview.leaked.backtraces, &groups);
	groups_done(&groups);
	overview_done(&overview);
}

static void test_as_a_filter_for_all(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 8; round++) {
		struct filter all, matched;
		struct test_recording t;
		struct report a, b;

		test_disordered_recording(&t, 20 + round, EVENTS, round & 1,
					  round & 2 ? TEST_GAPS : TEST_IN_ORDER);
		filter_init(&all);
		filter_init(&matched);
		matched.size_max = UINT64_MAX - 1;
		check_groups(&t, &all, &matched, GROUP_BY_BACKTRACE);
		check_groups(&t, &all, &matched, GROUP_BY_SITE);
		check_trees(&t, &all, &matched);
		assert_int_equal(query_report(t.view, &all, &a, NULL), 0);
		assert_int_equal(query_report(t.view, &matched, &b, NULL), 0);
		same_report(&a, &b);
		check_overview(&t, &all);
		check_overview(&t, &matched);
		test_close(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written_and_read),
		cmocka_unit_test(test_parts_in_any_order),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_as_a_filter_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
