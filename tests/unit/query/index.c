/*
 * The index of usage over time, written down and read back: the same answers; and whatever is wrong
 * with the bytes, an error or an answer, but no harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/query/sweep/parallel.h"
#include "collector/query/time/usage_index.h"
#include "tests/unit/query/recording.h"

#define EVENTS 3000
#define SPANS  40
#define STATE  4711

static void fill_spans(struct usage_span *spans, uint64_t end_ns)
{
	for (uint32_t i = 0; i < SPANS; i++)
		spans[i] = (struct usage_span){.from_ns = i * (end_ns / SPANS),
					       .to_ns = (i + 1) * (end_ns / SPANS)};
}

static struct usage_index *make(const struct history_of *of)
{
	struct usage_index *index;
	struct err_text err = {0};

	assert_int_equal(usage_index_new(of, &index, &err), 0);
	return index;
}

static void same_answers(const struct usage_index *a, const struct usage_index *b,
			 const struct history_of *of)
{
	struct usage_span x[SPANS], y[SPANS];
	uint64_t peak_a, peak_b;

	fill_spans(x, of->matcher->end_ns);
	fill_spans(y, of->matcher->end_ns);
	assert_int_equal(usage_index_spans(a, of, x, SPANS, NULL), 0);
	assert_int_equal(usage_index_spans(b, of, y, SPANS, NULL), 0);
	assert_memory_equal(x, y, sizeof(x));
	assert_int_equal(usage_index_peak(a, of, &peak_a, NULL), 0);
	assert_int_equal(usage_index_peak(b, of, &peak_b, NULL), 0);
	assert_int_equal(peak_a, peak_b);
}

static void refused(const struct buf *bytes, size_t length, const struct test_recording *t,
		    uint64_t state, const char *sentence)
{
	struct usage_index *index = NULL;
	struct err_text err = {0};

	assert_int_equal(usage_index_read(bytes->data, length, t->recording, state, &index, &err),
			 -EBADMSG);
	assert_non_null(strstr(err.text, sentence));
	assert_null(index);
}

static void write_index(const struct usage_index *index, const struct test_recording *t,
			struct buf *bytes)
{
	const uint8_t *far;
	size_t length;

	buf_clear(bytes);
	assert_int_equal(usage_index_write(index, t->recording, STATE, bytes, &far, &length), 0);
	buf_append(bytes, far, length);
}

static void test_written_and_read(void **state)
{
	struct test_recording t, other;
	struct usage_index *index, *again, *roomy;
	struct buf bytes = {0};
	struct filter all;
	struct matcher m;
	struct history_of of = {.matcher = &m};

	(void)state;
	history_set_sizes(32, 100);
	filter_init(&all);
	for (unsigned sampled = 0; sampled < 2; sampled++) {
		test_random_recording(&t, 3, EVENTS, sampled);
		test_random_recording(&other, 4, EVENTS, sampled);
		matcher_init_all(&m, t.recording, &all);
		index = make(&of);
		/* With room for all far events at once it is the same. */
		history_set_sizes(32, 0);
		roomy = make(&of);
		history_set_sizes(32, 100);
		same_answers(index, roomy, &of);
		usage_index_free(roomy);
		write_index(index, &t, &bytes);
		assert_int_equal(usage_index_read(bytes.data, bytes.length, t.recording, STATE,
						  &again, NULL),
				 0);
		same_answers(index, again, &of);
		usage_index_free(again);
		usage_index_free(index);
		refused(&bytes, bytes.length, &t, STATE + 1, "has changed since");
		refused(&bytes, bytes.length, &other, STATE, "another recording");
		refused(&bytes, bytes.length - 1, &t, STATE, "checksum");
		bytes.data[bytes.length / 2] ^= 1;
		refused(&bytes, bytes.length, &t, STATE, "checksum");
		bytes.data[7]++;
		refused(&bytes, bytes.length, &t, STATE, "another version");
		bytes.data[0]++;
		refused(&bytes, bytes.length, &t, STATE, "it is none");
		refused(&bytes, 3, &t, STATE, "it is none");
		test_close(&t);
		test_close(&other);
	}
	buf_done(&bytes);
}

/* Rows that were told of too late lie behind those that were born after them. However few rows
 * share a bin, the answers are those of a single bin. */
static void test_late_rows(void **state)
{
	static const enum test_disorder disorder[] = {TEST_THREADS_APART, TEST_GAPS, TEST_LYING};
	struct filter all;
	struct matcher m;
	struct history_of of = {.matcher = &m};

	(void)state;
	filter_init(&all);
	for (unsigned seed = 1; seed <= 12; seed++) {
		struct usage_index *single, *index;
		struct test_recording t;

		test_disordered_recording(&t, seed, EVENTS / 2, seed % 4 == 0, disorder[seed % 3]);
		matcher_init_all(&m, t.recording, &all);
		history_set_sizes(EVENTS, 0);
		single = make(&of);
		for (uint32_t segment = 2; segment <= 128; segment *= 2) {
			history_set_sizes(segment, 100);
			index = make(&of);
			same_answers(single, index, &of);
			usage_index_free(index);
		}
		usage_index_free(single);
		test_close(&t);
	}
	history_set_sizes(32, 100);
}

/* Damage that a right checksum vouches for: bytes are changed at random, and asked. */
static void test_hostile(void **state)
{
	struct test_recording t;
	struct usage_index *index;
	struct buf bytes = {0};
	struct filter all;
	struct matcher m;
	struct history_of of = {.matcher = &m};
	uint64_t random = 99;
	unsigned read = 0;

	(void)state;
	history_set_sizes(32, 100);
	parallel_limit(1);
	filter_init(&all);
	test_random_recording(&t, 3, EVENTS / 4, false);
	matcher_init_all(&m, t.recording, &all);
	index = make(&of);
	for (unsigned round = 0; round < 3000; round++) {
		struct usage_span spans[SPANS];
		struct usage_index *damaged;
		uint64_t peak;

		write_index(index, &t, &bytes);
		for (unsigned n = 1 + test_random(&random) % 3; n; n--)
			bytes.data[48 + test_random(&random) % (bytes.length - 48)] =
				(uint8_t)test_random(&random);
		usage_index_vouch(bytes.data, bytes.length);
		if (usage_index_read(bytes.data, bytes.length, t.recording, STATE, &damaged, NULL) <
		    0)
			continue;
		read++;
		fill_spans(spans, m.end_ns);
		usage_index_spans(damaged, &of, spans, SPANS, NULL);
		usage_index_peak(damaged, &of, &peak, NULL);
		usage_index_free(damaged);
	}
	assert_true(read > 100);
	parallel_limit(0);
	usage_index_free(index);
	buf_done(&bytes);
	test_close(&t);
}

/* ---- the peak ---- */

static uint64_t peak_of(const struct test_recording *t)
{
	struct usage_index *index;
	struct filter all;
	struct matcher m;
	struct history_of of = {.matcher = &m};
	uint64_t peak;

	filter_init(&all);
	matcher_init_all(&m, t->recording, &all);
	index = make(&of);
	assert_int_equal(usage_index_peak(index, &of, &peak, NULL), 0);
	usage_index_free(index);
	return peak;
}

static uint64_t peak_of_built(struct builder *b)
{
	struct test_recording t;
	uint64_t peak = NO_TIME;

	builder_end(b, 0);
	test_open(&t, b);
	for (uint32_t segment = 2; segment <= 64; segment *= 2) { /* few bins, and many */
		uint64_t other;

		history_set_sizes(segment, 100);
		other = peak_of(&t);
		if (peak != NO_TIME)
			assert_int_equal(other, peak);
		peak = other;
	}
	history_set_sizes(32, 100);
	test_close(&t);
	builder_done(b);
	return peak;
}

#define TIMES 100

/* So many times just as much is in use: the first one is the peak. */
static void test_equal_peaks(void **state)
{
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	builder_malloc(&b, 5, 1, 0x800, 10); /* less, for good */
	for (unsigned i = 0; i < TIMES; i++) {
		builder_malloc(&b, 1000 + 20 * i, 1, 0x1000 + 64 * i, 100);
		builder_free(&b, 1010 + 20 * i, 1, 0x1000 + 64 * i);
	}
	assert_int_equal(peak_of_built(&b), 1000);

	/* One byte more, at the end. */
	builder_init(&b, 1);
	for (unsigned i = 0; i < TIMES; i++) {
		builder_malloc(&b, 1000 + 20 * i, 1, 0x1000 + 64 * i, 100 + (i + 1 == TIMES));
		builder_free(&b, 1010 + 20 * i, 1, 0x1000 + 64 * i);
	}
	assert_int_equal(peak_of_built(&b), 1000 + 20 * (TIMES - 1));
}

/* What is freed and what is allocated in one nanosecond is never in use together, whichever is told
 * first. */
static void test_peak_within_a_nanosecond(void **state)
{
	struct builder b;

	(void)state;
	for (unsigned free_first = 0; free_first < 2; free_first++) {
		builder_init(&b, 1);
		builder_malloc(&b, 1000, 1, 0x1000, 100);
		for (unsigned i = 1; i < TIMES; i++) {
			if (free_first)
				builder_free(&b, 1000 + 20 * i, 1, 0x1000 + 64 * (i - 1));
			builder_malloc(&b, 1000 + 20 * i, 1, 0x1000 + 64 * i,
				       100 + (i == TIMES / 2));
			if (!free_first)
				builder_free(&b, 1000 + 20 * i, 1, 0x1000 + 64 * (i - 1));
		}
		assert_int_equal(peak_of_built(&b), 1000 + 20 * (TIMES / 2));
	}

	/* Blocks that are born and freed in one never count: the peak comes behind them. */
	builder_init(&b, 1);
	builder_malloc(&b, 900, 1, 0x800, 10);
	for (unsigned i = 0; i < TIMES; i++) {
		builder_malloc(&b, 1000 + 20 * i, 1, 0x1000, 100);
		builder_free(&b, 1000 + 20 * i, 1, 0x1000);
	}
	builder_malloc(&b, 1000 + 20 * TIMES, 1, 0x1000, 100);
	builder_malloc(&b, 1010 + 20 * TIMES, 1, 0x2000, 0);
	assert_int_equal(peak_of_built(&b), 1000 + 20 * TIMES);
}

/* Of a program that has nothing. */
static void test_no_peak(void **state)
{
	struct builder b;

	(void)state;
	builder_init(&b, 1);
	builder_malloc(&b, 1000, 1, 0x1000, 0);
	assert_int_equal(peak_of_built(&b), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written_and_read),
		cmocka_unit_test(test_late_rows),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_equal_peaks),
		cmocka_unit_test(test_peak_within_a_nanosecond),
		cmocka_unit_test(test_no_peak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
