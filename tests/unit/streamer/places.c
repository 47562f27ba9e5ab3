/* Tables with open addressing, against a list: whatever is put in and removed, each entry is found
 * between its home and the next free place. And the numbers that agents weigh samples by. */
#include "base/places.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "agent/core/weight.h"

#define COUNT 11

/* Keys have their homes here: several share one, and the last ones wrap around. */
static const uint32_t homes[] = {0, 0, 9, 9, 10, 10, 10, 4};
#define KEYS (sizeof(homes) / sizeof(homes[0]))

struct table {
	uint32_t entry[COUNT]; /* key + 1; 0: free */
};

static uint32_t place_of(const struct table *t, uint32_t key)
{
	uint32_t place = homes[key];

	while (t->entry[place] && t->entry[place] != key + 1)
		place = places_next(place, COUNT);
	return place;
}

static void remove_key(struct table *t, uint32_t key)
{
	uint32_t hole = place_of(t, key);

	for (uint32_t p = places_next(hole, COUNT); t->entry[p]; p = places_next(p, COUNT)) {
		if (!places_may_fill(hole, p, homes[t->entry[p] - 1], COUNT))
			continue;
		t->entry[hole] = t->entry[p];
		hole = p;
	}
	t->entry[hole] = 0;
}

/* Puts all keys in, in one of many orders, and removes them in another. */
static void test_table(void **state)
{
	(void)state;
	for (uint32_t put = 1; put < KEYS; put += 2)
		for (uint32_t first = 0; first < KEYS; first++)
			for (uint32_t step = 1; step < KEYS; step += 2) {
				struct table t = {{0}};
				bool there[KEYS] = {false};

				for (uint32_t i = 0; i < KEYS; i++) {
					uint32_t key = (first + i * put) % KEYS;

					t.entry[place_of(&t, key)] = key + 1;
					there[key] = true;
				}
				for (uint32_t i = 0; i < KEYS; i++) {
					uint32_t gone = (i * step) % KEYS;

					remove_key(&t, gone);
					there[gone] = false;
					for (uint32_t key = 0; key < KEYS; key++)
						assert_int_equal(t.entry[place_of(&t, key)],
								 there[key] ? key + 1 : 0);
				}
			}
}

static void test_places(void **state)
{
	(void)state;
	assert_int_equal(places_next(0, COUNT), 1);
	assert_int_equal(places_next(COUNT - 2, COUNT), COUNT - 1);
	assert_int_equal(places_next(COUNT - 1, COUNT), 0);
	assert_int_equal(places_home(0, COUNT), 0);
	assert_int_equal(places_home(UINT64_MAX, COUNT), COUNT - 1);
	assert_int_equal(places_home(UINT64_MAX, UINT32_MAX), UINT32_MAX - 1);
	assert_int_equal(places_home(1ull << 63, COUNT), COUNT / 2);
}

/* Neighbours, as addresses and node numbers are, spread over all homes. */
static void test_spreads(void **state)
{
	uint32_t at[16] = {0};

	(void)state;
	for (uint64_t key = 0; key < 1600; key++)
		at[places_home(places_hash(key * 16), 16)]++;
	for (unsigned i = 0; i < 16; i++)
		assert_in_range(at[i], 50, 200);
}

/* size / (1 - exp(-size / interval)): known to the byte, and no weight where all are recorded. */
static void test_weight(void **state)
{
	(void)state;
	assert_int_equal(weight_of(100, 0), 0);
	assert_int_equal(weight_of(100, 1), 0);
	assert_int_equal(weight_of(0, 2), llround(1 / -expm1(-0.5)));
	assert_int_equal(weight_of(1, 2), weight_of(0, 2));
	assert_int_equal(weight_of(99, 100), llround(99 / -expm1(-0.99)));
	assert_int_equal(weight_of(100, 100), 0);
	assert_int_equal(weight_of(1, 524288), 524289);
	assert_int_equal(weight_of(1000, RING_INTERVAL_MAX), weight_of(1000, UINT64_MAX));
	assert_true(weight_of(1000, RING_INTERVAL_MAX) > weight_of(1000, RING_INTERVAL_MAX - 9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_spreads),
		cmocka_unit_test(test_weight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
