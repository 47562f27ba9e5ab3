/* What a filter says of a sum of culled blocks: to the nanosecond, byte and number, on both sides
 * of each edge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/query/sweep/culled.h"

#define FIRST (7 * (uint64_t)CULLED_TICK_NS)
#define LAST  (9 * (uint64_t)CULLED_TICK_NS)
#define BORN  (LAST + CULLED_TICK_NS - 1) /* the last block, at the latest */
#define CLASS 3				  /* 5,000 to 9,999 ns */
#define GONE  (BORN + 9999)

static struct culled_row row = {.thread = 2,
				.stack = 5,
				.lifetime = CLASS,
				.blocks = 3,
				.bytes = 90,
				.size_least = 16,
				.size_most = 31,
				.first_ns = FIRST,
				.last_ns = LAST};

static enum culled_fit fit_of(const struct filter *f)
{
	struct matcher m = {.filter = f};

	return culled_fit(&m, &row);
}

/* Each field with a value, and what follows for the sum. */
#define CHECK(field, value, expected)                                                              \
	do {                                                                                       \
		struct filter one;                                                                 \
                                                                                                   \
		filter_init(&one);                                                                 \
		one.field = value;                                                                 \
		assert_int_equal(fit_of(&one), expected);                                          \
		filter_done(&one);                                                                 \
	} while (0)

static void ranges(void **state)
{
	(void)state;
	CHECK(size_min, 16, CULLED_YES);
	CHECK(size_min, 17, CULLED_UNKNOWN);
	CHECK(size_min, 31, CULLED_UNKNOWN);
	CHECK(size_min, 32, CULLED_NO);
	CHECK(size_max, 31, CULLED_YES);
	CHECK(size_max, 30, CULLED_UNKNOWN);
	CHECK(size_max, 16, CULLED_UNKNOWN);
	CHECK(size_max, 15, CULLED_NO);
	CHECK(from_ns, FIRST, CULLED_YES);
	CHECK(from_ns, FIRST + 1, CULLED_UNKNOWN);
	CHECK(from_ns, BORN, CULLED_UNKNOWN);
	CHECK(from_ns, BORN + 1, CULLED_NO);
	CHECK(to_ns, BORN, CULLED_YES);
	CHECK(to_ns, BORN - 1, CULLED_UNKNOWN);
	CHECK(to_ns, FIRST, CULLED_UNKNOWN);
	CHECK(to_ns, FIRST - 1, CULLED_NO);
	CHECK(lifetime_min_ns, 5000, CULLED_YES);
	CHECK(lifetime_min_ns, 5001, CULLED_UNKNOWN);
	CHECK(lifetime_min_ns, 9999, CULLED_UNKNOWN);
	CHECK(lifetime_min_ns, 10000, CULLED_NO);
	CHECK(lifetime_max_ns, 9999, CULLED_YES);
	CHECK(lifetime_max_ns, 9998, CULLED_UNKNOWN);
	CHECK(lifetime_max_ns, 5000, CULLED_UNKNOWN);
	CHECK(lifetime_max_ns, 4999, CULLED_NO);
}

static void moments(void **state)
{
	struct filter f;

	(void)state;
	CHECK(alive_at_ns, FIRST - 1, CULLED_NO);
	CHECK(alive_at_ns, FIRST, CULLED_UNKNOWN);
	CHECK(alive_at_ns, GONE, CULLED_UNKNOWN);
	CHECK(alive_at_ns, GONE + 1, CULLED_NO);
	CHECK(alive_at_2_ns, FIRST - 1, CULLED_NO);
	CHECK(alive_at_2_ns, GONE, CULLED_UNKNOWN);
	CHECK(alive_at_2_ns, GONE + 1, CULLED_NO);
	filter_init(&f);
	f.alive_at_ns = f.alive_at_2_ns = FIRST;
	assert_int_equal(fit_of(&f), CULLED_UNKNOWN);
	filter_done(&f);
	/* those that live longest have no end that is known */
	row.lifetime = (uint8_t)(culled_lifetimes - 1);
	CHECK(alive_at_ns, UINT64_MAX - 1, CULLED_UNKNOWN);
	CHECK(alive_at_ns, FIRST - 1, CULLED_NO);
	CHECK(before_start, true, CULLED_NO);
	row.lifetime = CLASS;
	CHECK(before_start, true, CULLED_NO);
}

/* They were freed; in which part of the time is known only of all of it. */
static void fates(void **state)
{
	static const struct {
		enum filter_lifetime lifetime;
		enum culled_fit of_all, of_some;
	} cases[] = {
		{LIFETIME_ALL, CULLED_YES, CULLED_YES},
		{LIFETIME_ONLY_FREED, CULLED_YES, CULLED_YES},
		{LIFETIME_ONLY_LEAKED, CULLED_NO, CULLED_NO},
		{LIFETIME_ONLY_WHOLE_GROUP_LEAKED, CULLED_NO, CULLED_NO},
		{LIFETIME_ONLY_CHAIN_LEAKED, CULLED_UNKNOWN, CULLED_UNKNOWN},
		{LIFETIME_ONLY_DEALLOCATED_IN_CURRENT_RANGE, CULLED_YES, CULLED_UNKNOWN},
		{LIFETIME_ONLY_NOT_DEALLOCATED_IN_CURRENT_RANGE, CULLED_NO, CULLED_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (unsigned some = 0; some < 3; some++) {
			struct filter f;

			filter_init(&f);
			f.lifetime = cases[i].lifetime;
			f.from_ns = some == 1;
			f.to_ns = some == 2 ? UINT64_MAX - 1 : UINT64_MAX;
			assert_int_equal(fit_of(&f), some ? cases[i].of_some : cases[i].of_all);
			filter_done(&f);
		}
}

/* What was judged once for each thread and stack; a number that is none of them is that of none. */
static void numbers(void **state)
{
	uint8_t threads[] = {0, 0, 1, 0}, nodes[] = {0, 0, 0, 0, 0, 1, 0};
	struct filter f;
	struct matcher m = {.filter = &f, .threads = 3, .nodes = 6};

	(void)state;
	CHECK(thread, 2, CULLED_YES);
	CHECK(thread, 3, CULLED_NO);
	CHECK(backtrace, 5, CULLED_YES);
	CHECK(backtrace, 4, CULLED_NO);
	filter_init(&f);
	m.thread_passes = threads;
	m.node_passes = nodes;
	assert_int_equal(culled_fit(&m, &row), CULLED_YES);
	threads[2] = 0;
	assert_int_equal(culled_fit(&m, &row), CULLED_NO);
	threads[2] = nodes[6] = 1;
	nodes[5] = 0;
	assert_int_equal(culled_fit(&m, &row), CULLED_NO);
	nodes[5] = 1;
	m.threads = 2;
	m.nodes = 5;
	assert_int_equal(culled_fit(&m, &row), CULLED_YES);
	m.threads = 1;
	assert_int_equal(culled_fit(&m, &row), CULLED_NO);
	threads[0] = 1;
	assert_int_equal(culled_fit(&m, &row), CULLED_YES);
	m.nodes = 4;
	assert_int_equal(culled_fit(&m, &row), CULLED_NO);
	nodes[0] = 1;
	assert_int_equal(culled_fit(&m, &row), CULLED_YES);
	f.size_min = 20;
	assert_int_equal(culled_fit(&m, &row), CULLED_UNKNOWN);
	m.everything = true;
	assert_int_equal(culled_fit(&m, &row), CULLED_YES);
	filter_done(&f);
}

/* What only rows could answer. */
static void columns(void **state)
{
	static const unsigned known[] = {ROWS_STACK, ROWS_THREAD, ROWS_SIZE, ROWS_WEIGHT,
					 ROWS_BIRTH, ROWS_DEATH,  ROWS_END,  ROWS_KIND},
			      unknown[] = {ROWS_ADDRESS, ROWS_DEATH_STACK, ROWS_CHAIN};
	uint8_t passes = 0xff;
	struct filter f;
	struct matcher m = {.filter = &f};

	(void)state;
	filter_init(&f);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		m.columns = known[i];
		assert_int_equal(culled_fit(&m, &row), CULLED_YES);
	}
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		m.columns = ROWS_SIZE | unknown[i];
		assert_int_equal(culled_fit(&m, &row), CULLED_UNKNOWN);
	}
	m.columns = 0;
	m.row_passes = &passes;
	assert_int_equal(culled_fit(&m, &row), CULLED_UNKNOWN);
	f.size_max = 1;
	assert_int_equal(culled_fit(&m, &row), CULLED_NO);
	filter_done(&f);
}

/* As many as they are; a sampled sum's blocks are alike, so it counts as that many of one. */
static void tallies(void **state)
{
	struct tally sum = {0}, by_one = {0};

	(void)state;
	tally_add_culled(&sum, &row);
	tally_add_culled(&sum, &row);
	assert_true(sum.blocks == 6 && sum.bytes == 180 && !sum.samples);
	sum = (struct tally){0};
	row.size_most = row.size_least;
	row.weight = 400;
	tally_add_culled(&sum, &row);
	for (uint64_t i = 0; i < row.blocks; i++)
		tally_add(&by_one, row.size_least, row.weight);
	assert_int_equal(sum.samples, 3);
	assert_int_equal(by_one.samples, 3);
	assert_float_equal(sum.sampled_blocks, by_one.sampled_blocks, 1e-9);
	assert_float_equal(sum.sampled_bytes, by_one.sampled_bytes, 1e-9);
	assert_float_equal(sum.blocks_variance, by_one.blocks_variance, 1e-6);
	assert_float_equal(sum.bytes_variance, by_one.bytes_variance, 1e-3);
	assert_true(!sum.blocks && !sum.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges),  cmocka_unit_test(moments), cmocka_unit_test(fates),
		cmocka_unit_test(numbers), cmocka_unit_test(columns), cmocka_unit_test(tallies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
