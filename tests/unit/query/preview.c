/*
 * Previews: one run of rows in so many is looked at, by every kind of question alike, and each of
 * its rows stands for so many. That the sums are near the true ones is a question of the recording;
 * that they are those of just these rows is held here, at sizes of pieces that cut runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/columns/row_block.h"
#include "collector/query/time/history.h"
#include "collector/query/sweep/sweep.h"
#include "collector/recording/recording.h"
#include "collector/recording/row_reader.h"
#include "tests/unit/query/recording.h"

#define EVENTS 400000

struct sums {
	uint64_t bytes, blocks, leaked_bytes, leaked_blocks, rows;
};

static struct sums naive(const struct recording *r, uint32_t one_in, uint64_t size_min)
{
	struct row_reader *reader;
	struct sums s = {0};

	assert_int_equal(row_reader_new(r, &reader), 0);
	for (uint32_t b = 0; b < recording_blocks(r); b++) {
		const struct row_block *block =
			row_reader_block(reader, b, ROWS_SIZE | ROWS_END, NULL);

		assert_non_null(block);
		for (uint32_t i = 0; i < block->count; i++) {
			if ((block->first_row + i) / PREVIEW_ROWS % one_in ||
			    block->size[i] < size_min)
				continue;
			s.rows++;
			s.blocks += one_in;
			s.bytes += one_in * block->size[i];
			if (row_leaked(block, i)) {
				s.leaked_blocks += one_in;
				s.leaked_bytes += one_in * block->size[i];
			}
		}
	}
	row_reader_free(reader);
	return s;
}

static void hold(const struct usage *u, uint64_t bytes, uint64_t blocks)
{
	assert_int_equal(u->bytes, bytes);
	assert_int_equal(u->blocks, blocks);
}

static void check_sums(struct view *view, const struct filter *f, const struct sums *s)
{
	struct report report;
	struct groups groups;
	struct histogram histogram;
	uint64_t bytes = 0, blocks = 0;

	assert_int_equal(query_report(view, f, &report, NULL), 0);
	hold(&report.allocated, s->bytes, s->blocks);
	hold(&report.leaked, s->leaked_bytes, s->leaked_blocks);
	assert_int_equal(report.allocated.samples, s->rows);
	assert_true(report.allocated.bytes_error > 0);
	assert_int_equal(
		query_groups(view, f, GROUP_BY_BACKTRACE, VALUE_ALLOCATED, 0, &groups, NULL), 0);
	for (uint32_t i = 0; i < groups.count; i++) {
		bytes += groups.list[i].value.bytes;
		blocks += groups.list[i].value.blocks;
	}
	assert_int_equal(bytes, s->bytes);
	assert_int_equal(blocks, s->blocks);
	groups_done(&groups);
	assert_int_equal(query_histogram(view, f, VALUE_ALLOCATED, 0, &histogram, NULL), 0);
	hold(&histogram.total, s->bytes, s->blocks);
	histogram_done(&histogram);
}

static void check_course(struct view *view, const struct filter *f, const struct sums *s,
			 uint32_t buckets)
{
	struct timeline_question q = {.to_ns = NO_TIME, .buckets = buckets};
	struct timeline timeline;
	uint64_t born = 0, bytes = 0;

	assert_int_equal(query_timeline(view, f, &q, &timeline, NULL), 0);
	for (uint32_t b = 0; b < timeline.count; b++) {
		born += timeline.list[b].allocations;
		bytes += timeline.list[b].allocated_bytes;
	}
	assert_int_equal(born, s->blocks);
	assert_int_equal(bytes, s->bytes);
	assert_int_equal(timeline.list[timeline.count - 1].bytes, s->leaked_bytes);
	assert_int_equal(timeline.list[timeline.count - 1].blocks, s->leaked_blocks);
	timeline_done(&timeline);
}

static void test_just_these_rows(void **state)
{
	static const uint32_t ones[] = {2, 7, 16};
	static const uint64_t sizes[] = {0, 100};
	static const uint32_t segments[] = {0, 256, 4096};
	struct test_recording t;

	(void)state;
	test_random_recording(&t, 11, EVENTS, false);
	assert_true(recording_rows(t.recording) > 2 * ROWS_PER_BLOCK);
	for (unsigned i = 0; i < 9; i++) {
		struct filter f;
		struct sums s;

		filter_init(&f);
		f.one_in = ones[i % 3];
		f.size_min = sizes[i & 1];
		history_set_sizes(segments[i / 3], 0);
		s = naive(t.recording, f.one_in, f.size_min);
		assert_true(s.rows > 1000);
		check_sums(t.view, &f, &s);
		check_course(t.view, &f, &s, 1 + 40 * (i % 2));
		filter_done(&f);
	}
	history_set_sizes(0, 0);
	test_close(&t);
}

/* What is kept of the whole recording is not touched by a preview, nor a preview by it. */
static void test_beside_the_whole(void **state)
{
	struct test_recording t;
	struct filter whole, part;
	struct report before, preview, after;

	(void)state;
	test_random_recording(&t, 12, EVENTS, false);
	filter_init(&whole);
	filter_init(&part);
	part.one_in = 16;
	assert_int_equal(query_report(t.view, &part, &preview, NULL), 0);
	assert_int_equal(query_report(t.view, &whole, &before, NULL), 0);
	assert_int_equal(query_report(t.view, &part, &after, NULL), 0);
	hold(&after.allocated, preview.allocated.bytes, preview.allocated.blocks);
	assert_int_equal(before.allocated.samples, 0);
	assert_int_equal(before.allocated.blocks, recording_rows(t.recording));
	assert_int_not_equal(preview.allocated.bytes, before.allocated.bytes);
	filter_done(&whole);
	filter_done(&part);
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_just_these_rows),
		cmocka_unit_test(test_beside_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
