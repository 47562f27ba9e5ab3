/* The map against a model: the plainest thing that could be right, an array indexed by key. */
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define KEYS 700

static uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* Few distinct keys that collide a lot: clustered, and far apart with the same low bits. */
static uint64_t key_of(unsigned index)
{
	return index % 2 ? (uint64_t)index : (uint64_t)index << 33;
}

struct model {
	bool there[KEYS];
	uint64_t value[KEYS];
	size_t count;
};

static void step_put(struct map *m, struct model *model, unsigned i, uint64_t value)
{
	bool is_new = false;
	uint64_t *place =
		value % 2 ? map_put(m, key_of(i), &is_new) : map_put_inline(m, key_of(i), &is_new);

	assert_non_null(place);
	assert_int_equal(is_new, !model->there[i]);
	assert_int_equal(*place, model->there[i] ? model->value[i] : 0);
	*place = value;
	model->count += is_new;
	model->there[i] = true;
	model->value[i] = value;
}

static void step_remove(struct map *m, struct model *model, unsigned i)
{
	uint64_t value = ~model->value[i];

	assert_int_equal(map_remove(m, key_of(i), &value), model->there[i]);
	assert_int_equal(value, model->there[i] ? model->value[i] : ~model->value[i]);
	model->count -= model->there[i];
	model->there[i] = false;
}

static void step_get(const struct map *m, const struct model *model, unsigned i)
{
	uint64_t *place = map_get(m, key_of(i));

	assert_int_equal(place != NULL, model->there[i]);
	if (place)
		assert_int_equal(*place, model->value[i]);
}

static void same(const struct map *m, const struct model *model)
{
	size_t seen = 0;

	for (unsigned i = 0; i < KEYS; i++)
		step_get(m, model, i);
	map_each(m, e)
	{
		seen++;
	}
	assert_int_equal(seen, model->count);
	assert_int_equal(m->count, model->count);
}

static void random_against_a_model(void **state)
{
	uint64_t random = 88172645463325252ull;

	(void)state;
	for (int round = 0; round < 20; round++) {
		static struct model model;
		struct map m = {0};

		memset(&model, 0, sizeof(model));
		for (int i = 0; i < 20000; i++) {
			unsigned key = (unsigned)(next_random(&random) % KEYS);
			unsigned action = (unsigned)(next_random(&random) % 8);

			if (action < (unsigned)(round % 5) + 2)
				step_put(&m, &model, key, next_random(&random));
			else if (action < 7)
				step_remove(&m, &model, key);
			else
				step_get(&m, &model, key);
		}
		same(&m, &model);
		map_clear(&m);
		memset(&model, 0, sizeof(model));
		same(&m, &model);
		map_done(&m);
	}
}

/* Made to collide under the factor that everybody knows: multiples of its inverse. */
static void made_to_collide(void **state)
{
	const uint64_t factor = 0x9e3779b97f4a7c15ull, many = 200000;
	uint64_t inverse = factor;
	clock_t begun = clock();
	struct map m = {0};

	(void)state;
	for (int i = 0; i < 5; i++) /* Newton, modulo 2^64 */
		inverse *= 2 - factor * inverse;
	assert_true(inverse * factor == 1);
	for (uint64_t i = 1; i <= many; i++)
		*map_put(&m, i * inverse, NULL) = i;
	assert_int_equal(m.count, many);
	for (uint64_t i = 1; i <= many; i++)
		assert_int_equal(*map_get(&m, i * inverse), i);
	for (uint64_t i = 1; i <= many; i += 2)
		assert_true(map_remove(&m, i * inverse, NULL));
	for (uint64_t i = 1; i <= many; i++)
		assert_int_equal(map_get(&m, i * inverse) != NULL, i % 2 == 0);
	/* It takes milliseconds. */
	assert_true(clock() - begun < 2 * CLOCKS_PER_SEC);
	map_done(&m);
}

static void empty_map_answers(void **state)
{
	struct map m = {0};

	(void)state;
	assert_null(map_get(&m, 1));
	assert_false(map_remove(&m, 1, NULL));
	map_clear(&m);
	map_done(&m);
}

static void the_reserved_key_is_refused(void **state)
{
	struct map m = {0};

	(void)state;
	assert_null(map_put(&m, MAP_NO_KEY, NULL));
	assert_non_null(map_put(&m, MAP_NO_KEY - 1, NULL));
	assert_null(map_get(&m, MAP_NO_KEY));
	assert_false(map_remove(&m, MAP_NO_KEY, NULL));
	assert_int_equal(m.count, 1);
	map_done(&m);
}

static void grows_with_addresses(void **state)
{
	struct map m = {0};

	(void)state;
	for (uint64_t i = 0; i < 200000; i++)
		*map_put(&m, 0x7f0000000000 + i * 16, NULL) = i;
	for (uint64_t i = 0; i < 200000; i++)
		assert_int_equal(*map_get(&m, 0x7f0000000000 + i * 16), i);
	assert_true(m.count <= m.capacity / 4 * 3 + 1);
	map_done(&m);
}

/* Room is made once, and what was there stays. */
static void room_is_reserved(void **state)
{
	const struct map_entry *entries;
	struct map m = {0};

	(void)state;
	assert_true(map_reserve(&m, 0));
	*map_put(&m, 7, NULL) = 8;
	assert_true(map_reserve(&m, 10000));
	assert_int_equal(*map_get(&m, 7), 8);
	entries = m.entries;
	for (uint64_t i = 0; i < 10000; i++)
		*map_put(&m, i * 16, NULL) = i;
	assert_true(map_reserve(&m, 5000));
	assert_ptr_equal(m.entries, entries);
	assert_false(map_reserve(&m, SIZE_MAX / 2));
	assert_int_equal(m.count, 10001);
	assert_int_equal(*map_get(&m, 7), 8);
	map_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_against_a_model),
		cmocka_unit_test(made_to_collide),
		cmocka_unit_test(empty_map_answers),
		cmocka_unit_test(the_reserved_key_is_refused),
		cmocka_unit_test(grows_with_addresses),
		cmocka_unit_test(room_is_reserved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
