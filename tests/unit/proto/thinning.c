/*
 * The law of what is followed (proto/thinning.h, docs/sampling.md), drawn a few thousand times
 * over: a heap of blocks of all sizes, exact and sampled ones, through levels that fall and rise
 * and halvings of the set; what is counted at the end has the true sum as its mean, and the
 * variance that it states.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/exponential.h"
#include "proto/thinning.h"

#define BLOCKS	 2000
#define DRAWS	 2000
#define INTERVAL 1000
#define CUT	 12
#define AHEAD	 4

static void text(void **state)
{
	const struct thinning t = {.seed = 0x0123456789abcdef,
				   .level = 3,
				   .cut = 12,
				   .keep = 20,
				   .ahead = 6,
				   .openings = 0x1234,
				   .halvings = 0xfedc};
	uint8_t bytes[THINNING_BYTES];
	struct thinning got;

	(void)state;
	thinning_put(&t, bytes);
	assert_int_equal(bytes[0], 0xef);
	assert_false(thinning_get(&got, bytes, THINNING_BYTES - 1));
	assert_true(thinning_get(&got, bytes, THINNING_BYTES));
	assert_int_equal(got.seed, t.seed);
	assert_int_equal(got.level, 3);
	assert_int_equal(got.cut, 12);
	assert_int_equal(got.keep, 20);
	assert_int_equal(got.ahead, 6);
	assert_int_equal(got.openings, 0x1234);
	assert_int_equal(got.halvings, 0xfedc);
	bytes[8] = THINNING_LEVEL_MAX + 1;
	assert_false(thinning_get(&got, bytes, THINNING_BYTES));
	bytes[8] = 0;
	bytes[9] = 64;
	assert_false(thinning_get(&got, bytes, THINNING_BYTES));
}

/* Of neighbours as allocators give them, one in 1 << level is followed, and a higher level follows
 * none that a lower one does not. */
static void shares(void **state)
{
	enum { MANY = 1 << 18 };

	(void)state;
	for (unsigned level = 0; level <= 10; level++) {
		double p = ldexp(1, -(int)level), followed = 0, kept = 0;

		for (uint64_t i = 0; i < MANY; i++) {
			uint64_t address = 0x55550000 + 48 * i;
			bool now = thinning_follows(7, level, address);

			followed += now;
			kept += thinning_keeps(7, level, address);
			assert_false(now && level && !thinning_follows(7, level - 1, address));
		}
		assert_true(fabs(followed - p * MANY) <= 5 * sqrt(p * (1 - p) * MANY));
		assert_true(fabs(kept - 0.5 * MANY) <= 5 * sqrt(0.25 * MANY));
	}
}

/* Larger blocks are at a lower level, and who takes one for larger follows no less. */
static void by_size(void **state)
{
	const struct thinning t = {.cut = CUT, .ahead = AHEAD}, old = {.cut = CUT};

	(void)state;
	assert_int_equal(thinning_level(&t, 10, 4095), 10);
	assert_int_equal(thinning_level(&t, 10, 4096), 10 - AHEAD);
	assert_int_equal(thinning_level(&t, 10, 16384), 10 - AHEAD - 2);
	assert_int_equal(thinning_level(&t, 3, 4096), 0);
	assert_int_equal(thinning_level(&t, THINNING_LEVEL_MAX, UINT64_MAX), 0);
	assert_int_equal(thinning_level(&old, 10, 4096), 0);
	assert_int_equal(thinning_level(&(struct thinning){0}, 10, UINT64_MAX), 10);
	for (uint64_t size = 1; size < 1 << 20; size += 61)
		assert_true(thinning_level(&t, 12, size + 61) <= thinning_level(&t, 12, size));
}

struct one {
	uint64_t address, size;
	double weight; /* bytes; 0: not counted any more */
	unsigned level;
	bool in_set;
};

static void lower(struct one *blocks, uint64_t seed, unsigned level)
{
	const struct thinning t = {.cut = CUT, .ahead = AHEAD};

	for (unsigned i = 0; i < BLOCKS; i++) {
		struct one *b = &blocks[i];
		unsigned from = thinning_level(&t, b->level, b->size),
			 to = thinning_level(&t, level, b->size);

		if (b->in_set || from >= to)
			continue;
		b->weight *=
			thinning_follows(seed, to, b->address) ? ldexp(1, (int)(to - from)) : 0;
		b->level = level;
	}
}

static void halve(struct one *blocks, uint64_t seed, unsigned number)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		if (blocks[i].in_set && !thinning_is_large(16, blocks[i].size))
			blocks[i].weight *= thinning_keeps(seed, number, blocks[i].address) ? 2 : 0;
}

static uint64_t size_of(unsigned i)
{
	return i % 40 ? 16 + i % 400 : 2000 * (1 + i / 100);
}

/* One program: what is in use is estimated with its variance (Horvitz and Thompson). */
static double draw(uint64_t *random, double *ret_variance)
{
	struct one blocks[BLOCKS];
	uint64_t seed = random_next(random);
	double sum = 0;

	*ret_variance = 0;
	for (unsigned i = 0; i < BLOCKS; i++) {
		uint64_t size = size_of(i);
		double p = i % 2 && size < INTERVAL ? -expm1(-(double)size / INTERVAL) : 1;
		bool born = ldexp((double)(random_next(random) >> 11), -53) < p;

		blocks[i] = (struct one){.address = 0x7f0000001000 + 640 * i,
					 .size = size,
					 .weight = born ? (double)size / p : 0,
					 .in_set = i % 2};
	}
	lower(blocks, seed, 1);
	halve(blocks, seed, 1);
	lower(blocks, seed, 6);
	halve(blocks, seed, 2);
	for (unsigned i = 0; i < BLOCKS; i++) /* the set is emptied, and opened again */
		blocks[i].in_set = false;
	lower(blocks, seed, 2); /* after 0 */
	for (unsigned i = 0; i < BLOCKS; i++) {
		sum += blocks[i].weight;
		*ret_variance +=
			blocks[i].weight * fmax(blocks[i].weight - (double)blocks[i].size, 0);
	}
	return sum;
}

static void unbiased(void **state)
{
	uint64_t random = 1;
	double truth = 0, sum = 0, squares = 0, stated = 0, within = 0;

	(void)state;
	for (unsigned i = 0; i < BLOCKS; i++)
		truth += (double)size_of(i);
	for (unsigned i = 0; i < DRAWS; i++) {
		double variance, x = draw(&random, &variance) - truth;

		sum += x;
		squares += x * x;
		stated += variance;
		within += fabs(x) <= 1.96 * sqrt(variance);
	}
	assert_true(fabs(sum / DRAWS) < 4.5 * sqrt(squares / DRAWS / DRAWS));
	assert_true(fabs(stated / squares - 1) < 0.1);
	assert_true(within > 0.9 * DRAWS && within < 0.98 * DRAWS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text),
		cmocka_unit_test(shares),
		cmocka_unit_test(by_size),
		cmocka_unit_test(unbiased),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
