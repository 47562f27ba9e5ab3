/* Timelines, histograms and group peaks against the slow way, for random recordings; also where
 * memory holds few events at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collector/columns/row_block.h"
#include "collector/query/sums/group_peaks.h"
#include "collector/query/sums/group_table.h"
#include "collector/query/time/history.h"
#include "collector/query/sums/whole_sums.h"
#include "tests/unit/locks.h"
#include "tests/unit/query/naive.h"

#define ROUNDS 10
#define EVENTS 600

struct in_use {
	uint64_t bytes, blocks;
};

static bool fits(const struct naive_row *r, const struct filter *f, bool leaked_only)
{
	return r->size >= f->size_min && r->birth >= f->from_ns &&
	       (!leaked_only || r->end == BLOCK_IN_USE);
}

static struct in_use naive_in_use(const struct naive_rows *n, const struct filter *f,
				  bool leaked_only, uint64_t at)
{
	struct in_use sum = {0};

	for (size_t i = 0; i < n->count; i++) {
		if (!fits(&n->list[i], f, leaked_only) || !naive_alive(&n->list[i], at))
			continue;
		sum.bytes += n->list[i].size;
		sum.blocks++;
	}
	return sum;
}

static void check_extremes(const struct naive_rows *n, const struct filter *f,
			   const struct timeline_question *q, const struct timeline_bucket *b,
			   uint64_t end)
{
	struct in_use at = naive_in_use(n, f, q->leaked_only, b->start_ns);
	uint64_t least = at.bytes, most = at.bytes, fewest = at.blocks, mostest = at.blocks;

	for (uint64_t t = b->start_ns; t < end; t++) {
		bool step = false;

		for (size_t i = 0; i < n->count && !step; i++)
			step = n->list[i].birth == t || n->list[i].death == t;
		if (!step)
			continue;
		at = naive_in_use(n, f, q->leaked_only, t);
		least = at.bytes < least ? at.bytes : least;
		most = at.bytes > most ? at.bytes : most;
		fewest = at.blocks < fewest ? at.blocks : fewest;
		mostest = at.blocks > mostest ? at.blocks : mostest;
	}
	assert_int_equal(b->bytes_min, least);
	assert_int_equal(b->bytes_max, most);
	assert_int_equal(b->blocks_min, fewest);
	assert_int_equal(b->blocks_max, mostest);
	assert_int_equal(b->bytes, at.bytes);
	assert_int_equal(b->blocks, at.blocks);
}

static void check_flow(const struct naive_rows *n, const struct filter *f,
		       const struct timeline_question *q, const struct timeline_bucket *b,
		       uint64_t end)
{
	uint64_t births = 0, deaths = 0;

	for (size_t i = 0; i < n->count; i++) {
		const struct naive_row *r = &n->list[i];

		if (!fits(r, f, q->leaked_only))
			continue;
		births += r->birth >= b->start_ns && r->birth < end;
		deaths += r->death >= b->start_ns && r->death < end;
	}
	assert_int_equal(b->allocations, births);
	assert_int_equal(b->deallocations, deaths);
}

/* ---- bands ---- */

/* Of which band a row is: of filters big and leaked, or of its backtrace, or of the rest. */
static uint32_t naive_band(const struct naive_row *r, const struct series_list *s, bool custom)
{
	uint32_t k = 0;

	if (custom)
		return r->size >= 150 ? 0 : r->end == BLOCK_IN_USE ? 1 : 2;
	while (k < s->count && !s->list[k].is_rest && s->list[k].node != r->stack)
		k++;
	return k;
}

static uint64_t naive_band_at(const struct naive_rows *n, const struct filter *f, bool leaked_only,
			      const struct series_list *s, const struct series_question *q,
			      uint32_t band, uint64_t at)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n->count; i++) {
		const struct naive_row *r = &n->list[i];

		if (fits(r, f, leaked_only) && naive_alive(r, at) &&
		    naive_band(r, s, q->filters) == band)
			sum += q->blocks ? 1 : r->size;
	}
	return sum;
}

/* The first moment of the bucket at which most was in use. */
static uint64_t naive_highest(const struct naive_rows *n, const struct filter *f, bool leaked_only,
			      bool blocks, uint64_t from, uint64_t to)
{
	uint64_t best = 0, best_ns = NO_TIME;

	for (uint64_t at = from; at < to; at++) {
		bool step = at == from;
		struct in_use sum;

		for (size_t i = 0; i < n->count && !step; i++)
			step = n->list[i].birth == at || n->list[i].death == at;
		if (!step)
			continue;
		sum = naive_in_use(n, f, leaked_only, at);
		if (best_ns == NO_TIME || (blocks ? sum.blocks : sum.bytes) > best) {
			best = blocks ? sum.blocks : sum.bytes;
			best_ns = at;
		}
	}
	return best_ns;
}

static void check_series(struct test_recording *t, const struct naive_rows *n,
			 const struct filter *f, const struct timeline_question *over,
			 uint64_t *random)
{
	struct series_filters filters = {.count = 0};
	struct series_question q = {.grouping = GROUP_BY_BACKTRACE,
				    .most = 1 + (uint32_t)(test_random(random) % 6),
				    .blocks = test_random(random) % 2};
	struct timeline timeline;
	struct series_list series;

	if (test_random(random) % 2) {
		q.filters = &filters;
		assert_int_equal(series_filters_add(&filters, t->view, "big:size_min=150", NULL),
				 0);
		assert_int_equal(
			series_filters_add(&filters, t->view, "kept:&lifetime=only_leaked&", NULL),
			0);
	}
	assert_int_equal(query_series(t->view, f, over, &q, &timeline, &series, NULL), 0);
	assert_in_range(series.count, q.filters ? 2 : 0, q.filters ? 3 : q.most + 1);
	for (uint32_t b = 0; b < timeline.count; b++) {
		const struct timeline_bucket *bucket = &timeline.list[b];
		uint64_t end = b + 1 < timeline.count ? bucket[1].start_ns : timeline.to_ns,
			 sum = 0;
		uint64_t at =
			naive_highest(n, f, over->leaked_only, q.blocks, bucket->start_ns, end);

		for (uint32_t k = 0; k < series.count; k++) {
			assert_int_equal(
				series.list[k].values[b],
				naive_band_at(n, f, over->leaked_only, &series, &q, k, at));
			assert_true(series.list[k].values[b] <= series.list[k].most);
			sum += series.list[k].values[b];
		}
		assert_int_equal(sum, q.blocks ? bucket->blocks_max : bucket->bytes_max);
	}
	timeline_done(&timeline);
	series_done(&series);
	series_filters_done(&filters);
}

/* Bands are named, and what is no band is said. */
static void test_series_words(void **state)
{
	struct series_filters filters = {.count = 0};
	struct series_question q = {.most = 1};
	struct test_recording t;
	struct err_text err = {{0}};

	(void)state;
	test_random_recording(&t, 1, 50, false);
	assert_int_equal(series_filters_add(&filters, t.view, "no filter", &err), -EINVAL);
	assert_non_null(strstr(err.text, "NAME:FILTER=VALUE"));
	assert_int_equal(series_filters_add(&filters, t.view, ":size_min=1", &err), -EINVAL);
	assert_int_equal(series_filters_add(&filters, t.view, "a:size=1", &err), -EINVAL);
	assert_non_null(strstr(err.text, "no filter is called \"size\""));
	assert_int_equal(series_filters_add(&filters, t.view, "a:size_min=big", &err), -EINVAL);
	assert_int_equal(series_filters_add(&filters, t.view, "a:size_min", &err), -EINVAL);
	series_filters_done(&filters);
	assert_int_equal(series_settle("colour", &q, &filters, t.view, &err), -EINVAL);
	assert_int_equal(series_settle(NULL, &q, &filters, t.view, &err), 0);
	assert_ptr_equal(q.filters, &filters);
	assert_int_equal(filters.count, 2);
	assert_string_equal(filters.list[0].name, "leaked");
	assert_int_equal(series_settle("module", &q, &filters, t.view, &err), -EINVAL);
	for (unsigned i = 2; i < SERIES_FILTERS_MAX; i++)
		assert_int_equal(series_filters_add(&filters, t.view, "a:size_min=1", &err), 0);
	assert_int_equal(series_filters_add(&filters, t.view, "a:size_min=1", &err), -EINVAL);
	series_filters_done(&filters);
	test_close(&t);
}

static void check_timeline(struct test_recording *t, const struct naive_rows *n, uint64_t *random)
{
	struct filter f;
	struct timeline timeline;
	struct timeline_question q = {.to_ns = NO_TIME,
				      .buckets = 1 + (uint32_t)(test_random(random) % 40)};

	filter_init(&f);
	if (test_random(random) % 2)
		f.size_min = test_random(random) % 300;
	if (test_random(random) % 3 == 0)
		f.from_ns = test_random(random) % n->end_ns;
	if (test_random(random) % 2)
		q.from_ns = test_random(random) % n->end_ns;
	if (test_random(random) % 2)
		q.to_ns = q.from_ns + test_random(random) % n->end_ns;
	q.leaked_only = test_random(random) % 3 == 0;
	history_set_sizes(1u << (2 + test_random(random) % 6), 1 + test_random(random) % 200);
	for (unsigned times = 0; times < 2;
	     times++, q.buckets += 3) { /* then of an index that is kept */
		assert_int_equal(query_timeline(t->view, &f, &q, &timeline, NULL), 0);
		assert_in_range(timeline.count, 1, q.buckets);
		assert_int_equal(timeline.list[0].start_ns, q.from_ns);
		for (uint32_t b = 0; b < timeline.count; b++) {
			uint64_t end = b + 1 < timeline.count ? timeline.list[b + 1].start_ns
							      : timeline.to_ns;

			check_extremes(n, &f, &q, &timeline.list[b], end);
			check_flow(n, &f, &q, &timeline.list[b], end);
		}
		timeline_done(&timeline);
	}
	check_series(t, n, &f, &q, random);
}

static void check_histogram(struct test_recording *t, const struct naive_rows *n)
{
	struct histogram h;
	struct filter f;
	uint64_t blocks = 0, freed = 0;

	filter_init(&f);
	assert_int_equal(query_histogram(t->view, &f, VALUE_ALLOCATED, NO_TIME, &h, NULL), 0);
	for (size_t c = 0; c < h.size_count; c++) {
		uint64_t count = 0, bytes = 0, leaked = 0;

		for (size_t i = 0; i < n->count; i++) {
			if (n->list[i].size < h.sizes[c].from || n->list[i].size > h.sizes[c].to)
				continue;
			count++;
			bytes += n->list[i].size;
			leaked += n->list[i].end == BLOCK_IN_USE;
		}
		assert_int_equal(h.sizes[c].usage.blocks, count);
		assert_int_equal(h.sizes[c].usage.bytes, bytes);
		assert_int_equal(h.sizes[c].leaked.blocks, leaked);
		blocks += count;
	}
	assert_int_equal(blocks, n->count);
	blocks = 0;
	for (size_t c = 0; c < h.lifetime_count; c++) {
		uint64_t count = 0;

		for (size_t i = 0; i < n->count; i++) {
			uint64_t lived = n->list[i].death - n->list[i].birth;

			count += naive_freed(&n->list[i]) && lived >= h.lifetimes[c].from &&
				 lived <= h.lifetimes[c].to;
		}
		assert_int_equal(h.lifetimes[c].usage.blocks, count);
		blocks += count;
	}
	for (size_t i = 0; i < n->count; i++)
		freed += naive_freed(&n->list[i]);
	assert_int_equal(blocks, freed);
	assert_int_equal(h.total.blocks, freed + h.leaked.blocks + h.unknown.blocks);
	histogram_done(&h);
}

static uint64_t naive_group_peak(const struct naive_rows *n, uint32_t stack)
{
	uint64_t best = 0, best_ns = UINT64_MAX;

	for (size_t i = 0; i < n->count; i++) {
		uint64_t bytes = 0, at = n->list[i].birth;

		if (n->list[i].stack != stack)
			continue;
		for (size_t k = 0; k < n->count; k++)
			if (n->list[k].stack == stack && naive_alive(&n->list[k], at))
				bytes += n->list[k].size;
		if (bytes > best || (bytes == best && at < best_ns)) {
			best = bytes;
			best_ns = at;
		}
	}
	return best_ns;
}

/* Returns whether the rows could be followed as they lie. */
static bool check_group_peaks(struct test_recording *t, const struct naive_rows *n,
			      uint64_t *random)
{
	cleanup(cleanup_free) uint64_t *peaks = calloc(TEST_NODES + 1, sizeof(*peaks));
	const struct whole_sums *whole;
	struct group_table table;
	struct filter all;
	struct matcher m;
	int unfit;

	filter_init(&all);
	history_set_sizes(1u << (2 + test_random(random) % 6), 1 + test_random(random) % 200);
	assert_int_equal(group_table_init(&table, t->view, &all, true, NULL), 0);
	for (uint32_t g = 0; g < table.count; g++)
		assert_int_equal(table.list[g].peak_ns, naive_group_peak(n, table.list[g].node));
	group_table_done(&table);
	matcher_init_all(&m, t->recording, &all);
	assert_int_equal(view_whole_sums(t->view, &all, 0, &whole, NULL), 0);
	assert_true(whole->sums.count <= TEST_NODES + 1);
	unfit = group_queues_peaks(&whole->sums, &m, peaks, NULL);
	assert_in_range(unfit, 0, 1);
	return !unfit;
}

static void test_random_recordings(void **state)
{
	unsigned followed = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct test_recording t;
		struct naive_rows n;
		uint64_t random = seed * 77;

		test_random_recording(&t, seed, EVENTS, false);
		naive_rows_init(&n, t.recording);
		for (int i = 0; i < 4; i++)
			check_timeline(&t, &n, &random);
		check_histogram(&t, &n);
		group_peaks_set_room(seed % 3 ? 0 : 2);
		followed += check_group_peaks(&t, &n, &random);
		free(n.list);
		test_close(&t);
	}
	group_peaks_set_room(0);
	assert_int_equal(followed, ROUNDS - ROUNDS / 3);
}

/* Threads whose batches came late, losses, and an agent that lies: then rows may lie in another
 * order than that of their births. */
static void test_disordered(void **state)
{
	static const enum test_disorder disorder[] = {TEST_THREADS_APART, TEST_GAPS, TEST_LYING};
	unsigned followed = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct test_recording t;
		struct naive_rows n;
		uint64_t random = seed * 78;
		bool fit;

		test_disordered_recording(&t, seed, EVENTS, false, disorder[seed % 3]);
		naive_rows_init(&n, t.recording);
		fit = check_group_peaks(&t, &n, &random);
		assert_true(fit || disorder[seed % 3] == TEST_LYING);
		followed += fit;
		free(n.list);
		test_close(&t);
	}
	assert_in_range(followed, 1, ROUNDS - 1);
}

/* Of rows that lie in another order some are born far from their rows, too. */
static void test_far_births(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3 * ROUNDS; seed++) {
		struct test_recording t;
		struct naive_rows n;
		uint64_t random = seed * 79;

		test_disordered_recording(&t, seed, EVENTS / 2, false, TEST_LYING);
		naive_rows_init(&n, t.recording);
		for (unsigned i = 0; i < 3; i++)
			check_timeline(&t, &n, &random);
		free(n.list);
		test_close(&t);
	}
	history_set_sizes(0, 0);
}

/* What a birth adds its death takes away, for samples as well: in use at the end is what the report
 * says. */
static void test_sampled(void **state)
{
	struct timeline_question q = {.to_ns = NO_TIME, .buckets = 50};
	struct test_recording t;
	struct timeline timeline;
	struct filter f;
	struct report report;

	(void)state;
	filter_init(&f);
	test_random_recording(&t, 5, EVENTS, true);
	assert_int_equal(query_timeline(t.view, &f, &q, &timeline, NULL), 0);
	assert_int_equal(query_report(t.view, &f, &report, NULL), 0);
	assert_int_equal(timeline.list[timeline.count - 1].bytes, report.leaked.bytes);
	assert_in_range(timeline.list[timeline.count - 1].blocks + 1, report.leaked.blocks,
			report.leaked.blocks + 2);
	timeline_done(&timeline);
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_recordings), cmocka_unit_test(test_disordered),
		cmocka_unit_test(test_far_births),	  cmocka_unit_test(test_sampled),
		cmocka_unit_test(test_series_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
