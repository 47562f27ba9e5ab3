/* Blocks that die far from where they were born, and so many of them that the time of their deaths
 * is divided again and again: what was in use, and most of it when, as a model counts it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collector/query/time/history_parts.h"
#include "collector/query/time/usage_index.h"
#include "tests/unit/query/recording.h"

#define BLOCKS 40000u /* rows of 40 segments, and far deaths enough to divide a bin */
#define FIRST  1000u
#define SPANS  50u

static struct test_recording t;
static struct step {
	uint64_t time_ns;
	int64_t bytes; /* below 0: a death */
} steps[2 * BLOCKS];
static size_t count;
static uint64_t end_ns;

static int step_by_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static uint64_t size_of(uint32_t block)
{
	return 1 + block % 97 + (block == 12345);
}

/* The block that is freed as the i-th: all in a disorder that is always the same. */
static uint32_t freed(uint32_t i)
{
	return (uint32_t)((uint64_t)i * 7919 % BLOCKS);
}

/* All are born in order; the deaths of `die` in 1000 follow within `within` nanoseconds. */
static void make(uint64_t within, uint32_t die)
{
	struct builder b;

	builder_init(&b, 1);
	count = 0;
	for (uint32_t i = 0; i < BLOCKS; i++) {
		uint64_t time_ns = FIRST + 10 * (uint64_t)i;

		builder_malloc(&b, time_ns, 1, 0x1000 + 128 * (uint64_t)i, size_of(i));
		steps[count++] = (struct step){time_ns, (int64_t)size_of(i)};
	}
	end_ns = FIRST + 10 * (uint64_t)BLOCKS;
	for (uint32_t i = 0; i < BLOCKS; i++) {
		uint64_t time_ns = end_ns + 5000 + i * within / BLOCKS;

		if (freed(i) % 1000 >= die)
			continue;
		builder_free(&b, time_ns, 1, 0x1000 + 128 * (uint64_t)freed(i));
		steps[count++] = (struct step){time_ns, -(int64_t)size_of(freed(i))};
	}
	end_ns += 5000 + within;
	builder_end(&b, 0);
	test_open(&t, &b);
	builder_done(&b);
	qsort(steps, count, sizeof(*steps), step_by_time);
}

static void span_widen(struct usage_span *s, int64_t bytes, int64_t blocks)
{
	s->least.bytes = bytes < s->least.bytes ? bytes : s->least.bytes;
	s->least.units = blocks < s->least.units ? blocks : s->least.units;
	s->most.bytes = bytes > s->most.bytes ? bytes : s->most.bytes;
	s->most.units = blocks > s->most.units ? blocks : s->most.units;
}

/* What happens in a nanosecond has happened at its end: of that moment on the amounts count. */
static void expect_span(const struct usage_span *got)
{
	struct usage_span s = {.from_ns = got->from_ns, .to_ns = got->to_ns};
	int64_t bytes = 0, blocks = 0;
	size_t i = 0;

	for (; i < count && steps[i].time_ns < s.from_ns; i++) {
		bytes += steps[i].bytes;
		blocks += steps[i].bytes > 0 ? 1 : -1;
	}
	s.start = (struct usage_sum){bytes, blocks};
	s.least = (struct usage_sum){INT64_MAX, INT64_MAX};
	if (i >= count || steps[i].time_ns > s.from_ns)
		span_widen(&s, bytes, blocks);
	while (i < count && steps[i].time_ns < s.to_ns) {
		uint64_t now = steps[i].time_ns;

		for (; i < count && steps[i].time_ns == now; i++) {
			struct usage_sum *flow = steps[i].bytes > 0 ? &s.births : &s.deaths;

			bytes += steps[i].bytes;
			blocks += steps[i].bytes > 0 ? 1 : -1;
			flow->bytes += llabs(steps[i].bytes);
			flow->units++;
		}
		span_widen(&s, bytes, blocks);
	}
	s.end = (struct usage_sum){bytes, blocks};
	for (unsigned k = 0; k < 6; k++) {
		assert_true((&got->start)[k].bytes == (&s.start)[k].bytes);
		assert_true((&got->start)[k].units == (&s.start)[k].units * HISTORY_UNIT);
	}
}

static void expect_peak(uint64_t at)
{
	int64_t bytes = 0, most = 0;
	uint64_t best = 0;

	for (size_t i = 0; i < count; i++) {
		bytes += steps[i].bytes;
		if (bytes > most && (i + 1 == count || steps[i + 1].time_ns != steps[i].time_ns)) {
			most = bytes;
			best = steps[i].time_ns;
		}
	}
	assert_true(at == best);
}

/* Spans of all lengths, over all of the time and over that of the deaths. */
static void ask(const struct usage_index *index, const struct history_of *of, uint64_t from,
		uint64_t to)
{
	struct usage_span spans[SPANS];

	if (to - from < SPANS)
		to = from + SPANS;
	for (uint32_t i = 0; i < SPANS; i++)
		spans[i] = (struct usage_span){.from_ns = from + (to - from) * i / SPANS,
					       .to_ns = from + (to - from) * (i + 1) / SPANS};
	assert_int_equal(usage_index_spans(index, of, spans, SPANS, NULL), 0);
	for (uint32_t i = 0; i < SPANS; i++)
		expect_span(&spans[i]);
}

/* A bin has at most 16,384 far events, or it is a nanosecond; and only bins that had more were
 * divided, into parts of 4,096 or so. */
static void expect_bins(const struct history_of *of)
{
	uint32_t *counts = NULL, divided = 0;
	struct history_bins bins;
	struct far_all all;
	uint64_t far = 0;

	assert_int_equal(history_bins_make(of, &bins, &counts, &all, NULL), 0);
	assert_int_equal(all.known, history_far_room() > BLOCKS);
	assert_int_equal(bins.segments, (BLOCKS + 1023) / 1024);
	assert_int_equal(bins.start[0], 0);
	assert_true(bins.start[bins.count] == UINT64_MAX);
	for (uint32_t k = 0; k < bins.count; k++) {
		assert_true(bins.start[k] < bins.start[k + 1]);
		assert_in_range(bins.segment[k], k ? bins.segment[k - 1] : 0, bins.segments - 1);
		divided += k && bins.segment[k] == bins.segment[k - 1];
		if (counts[k] > 16384)
			assert_int_equal(bins.start[k + 1] < end_ns ? bins.start[k + 1] : end_ns,
					 bins.start[k] + 1);
		far += counts[k];
	}
	assert_int_equal(all.known ? all.count : far, far);
	if (count - BLOCKS > 20000) /* at most five times */
		assert_in_range(divided, 1, 5 * (count - BLOCKS) / 4096);
	else
		assert_int_equal(divided, 0);
	assert_int_equal(bins.count, bins.segments + divided);
	free(counts);
	free(all.list);
	history_bins_done(&bins);
}

static void check(uint64_t within, uint32_t die)
{
	struct usage_index *index;
	struct history_of of = {0};
	struct filter all;
	struct matcher m;
	uint64_t peak;

	make(within, die);
	filter_init(&all);
	for (unsigned i = 0; i < 2; i++) { /* with room for all far events at once, and for a few */
		history_set_sizes(1024, i ? 5000 : 0);
		matcher_init_all(&m, t.recording, &all);
		of.matcher = &m;
		assert_int_equal(usage_index_new(&of, &index, NULL), 0);
		assert_int_equal(usage_index_peak(index, &of, &peak, NULL), 0);
		expect_peak(peak);
		expect_bins(&of);
		ask(index, &of, 1, end_ns + 100);
		ask(index, &of, end_ns - within, end_ns + 1);
		ask(index, &of, end_ns - within, end_ns - within + SPANS);
		usage_index_free(index);
		matcher_done(&m);
	}
	history_set_sizes(0, 0);
	test_close(&t);
}

static void over_a_time(void **state)
{
	(void)state;
	check(30000, 900);
}

static void not_too_many(void **state)
{
	(void)state;
	check(30000, 350);
	check(1, 350);
}

static void in_a_moment(void **state)
{
	(void)state;
	check(3, 999);
	check(1, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(over_a_time),
		cmocka_unit_test(not_too_many),
		cmocka_unit_test(in_a_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
