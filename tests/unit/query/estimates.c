/* Estimates from samples: without bias, and within the stated error as often as stated. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/query/sweep/tally.h"
#include "tests/unit/query/recording.h"

#define RUNS	 400
#define BLOCKS	 20000
#define INTERVAL 4096.0

static double uniform(uint64_t *random)
{
	return (double)(test_random(random) >> 11) / 9007199254740992.0;
}

/* One run of sampling by bytes over blocks whose sum is known. */
static struct usage run(uint64_t *random, uint64_t *ret_bytes)
{
	struct tally tally = {0};
	uint64_t bytes = 0;

	for (unsigned i = 0; i < BLOCKS; i++) {
		uint64_t size = i % 50 ? 16 + i % 700 : 5000 + i % 3000;
		double p = 1 - exp(-(double)size / INTERVAL);

		bytes += size;
		if (uniform(random) < p)
			tally_add(&tally, size, (uint64_t)((double)size / p + 0.5));
	}
	*ret_bytes = bytes;
	return tally_usage(&tally);
}

static void test_unbiased_and_covered(void **state)
{
	uint64_t random = 42, bytes = 0, covered_bytes = 0, covered_blocks = 0;
	double sum_bytes = 0, sum_blocks = 0, error = 0;

	(void)state;
	for (unsigned i = 0; i < RUNS; i++) {
		struct usage u = run(&random, &bytes);

		sum_bytes += (double)u.bytes;
		sum_blocks += (double)u.blocks;
		error += u.bytes_error;
		covered_bytes += fabs((double)u.bytes - (double)bytes) <= u.bytes_error;
		covered_blocks += fabs((double)u.blocks - BLOCKS) <= u.blocks_error;
	}
	/* The mean of 400 runs is 20 times as exact as one. */
	assert_true(fabs(sum_bytes / RUNS - (double)bytes) < error / RUNS / 10);
	assert_true(fabs(sum_blocks / RUNS - BLOCKS) < BLOCKS / 50.0);
	assert_in_range(covered_bytes, RUNS * 92 / 100, RUNS * 98 / 100);
	assert_in_range(covered_blocks, RUNS * 92 / 100, RUNS * 98 / 100);
}

/* Few samples: each count from 1 on, blocks of one size. The interval holds the truth in 90 of 100
 * cases and more. */
static void test_few_samples(void **state)
{
	uint64_t random = 7;

	(void)state;
	for (unsigned blocks = 8; blocks <= 256; blocks *= 2) {
		uint64_t covered = 0, stated = 0;

		for (unsigned i = 0; i < 4000; i++) {
			struct tally tally = {0};
			struct usage u;

			for (unsigned k = 0; k < blocks; k++)
				if (uniform(&random) < 1 - exp(-1 / 4.0))
					tally_add(&tally, 1024,
						  (uint64_t)(1024 / (1 - exp(-1 / 4.0)) + 0.5));
			u = tally_usage(&tally);
			assert_int_equal(u.samples > 0, u.bytes_error > 0);
			stated += u.samples > 0;
			covered += u.samples &&
				   fabs((double)u.bytes - 1024.0 * blocks) <= u.bytes_error;
		}
		assert_in_range(covered * 1000 / stated, 900, blocks < 64 ? 1000 : 990);
	}
}

static void test_exact_has_no_error(void **state)
{
	struct tally tally = {0};
	struct usage u;

	(void)state;
	tally_add(&tally, 100, 0);
	tally_add(&tally, 0, 0);
	tally_add(&tally, 5000, 5000);
	tally_add(&tally, 0, 1);
	u = tally_usage(&tally);
	assert_int_equal(u.blocks, 4);
	assert_int_equal(u.bytes, 5100);
	assert_true(u.bytes_error == 0 && u.blocks_error == 0);
	tally_add(&tally, 0, 4096); /* an empty block stands for 4096 empty ones */
	u = tally_usage(&tally);
	assert_int_equal(u.blocks, 4100);
	assert_int_equal(u.bytes, 5100);
	assert_true(u.bytes_error == 0 && u.blocks_error > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unbiased_and_covered),
		cmocka_unit_test(test_few_samples),
		cmocka_unit_test(test_exact_has_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
