/* Which mapping a block lay in, against looking at all of them; and large numbers of mappings in no
 * time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <time.h>

#include "collector/columns/row_block.h"
#include "collector/query/match/mappings.h"
#include "collector/query/match/map_spans.h"

static uint64_t seed = 88172645463325252u;

static uint64_t any(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* As map_spans.h has it, the slow way. */
static uint64_t begun(const struct mappings *all, const struct mapping_region *map)
{
	uint64_t from_ns = 0;

	for (size_t i = 0; i < all->region_count; i++) {
		const struct mapping_region *m = &all->regions[i];

		if (m != map && m->to_ns <= map->from_ns && m->to_ns > from_ns &&
		    m->address < map->address + map->size && m->address + m->size > map->address)
			from_ns = m->to_ns;
	}
	return from_ns;
}

static size_t look(const struct mappings *all, uint64_t address, uint64_t birth_ns)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < all->region_count; i++) {
		const struct mapping_region *m = &all->regions[i];

		if (address >= m->address && address < m->address + m->size &&
		    birth_ns >= begun(all, m) && birth_ns <= m->to_ns)
			found = i;
	}
	return found;
}

static struct mappings some(uint32_t count, uint64_t addresses, uint64_t times)
{
	struct mappings all = {.regions = calloc(count + 1, sizeof(*all.regions)),
			       .region_count = count};

	assert_non_null(all.regions);
	for (size_t i = 0; i < count; i++) {
		struct mapping_region *m = &all.regions[i];

		m->mapping = (uint32_t)i;
		m->address = any(addresses);
		m->size = 1 + (any(8) ? any(5) : any(addresses)); /* small or large */
		m->from_ns = 4 * any(times);
		/* No two go in one moment, nor one when another comes: else it depends on who is
		 * asked about first. */
		m->to_ns = any(6) ? m->from_ns + 4 * any(times) : NO_TIME;
		if (m->to_ns != NO_TIME)
			m->to_ns = m->to_ns * 1000 + i;
		m->from_ns *= 1000;
		if (m->to_ns < m->from_ns + 1000)
			m->to_ns = m->from_ns += i; /* it went when it came */
	}
	return all;
}

static void test_all(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		struct mappings all = some((uint32_t)any(40), 1 + any(40), 1 + any(30));
		struct map_spans spans;

		assert_int_equal(map_spans_init(&spans, &all), 0);
		for (unsigned i = 0; i < 300; i++) {
			uint64_t address = any(50), birth_ns = any(250) * 1000, map = 0;
			size_t expected = look(&all, address, birth_ns);

			assert_int_equal(map_spans_find(&spans, address, birth_ns, &map),
					 expected != SIZE_MAX);
			if (expected != SIZE_MAX)
				assert_int_equal(map, expected);
		}
		map_spans_done(&spans);
		free(all.regions);
	}
}

/* A large one that was there first, and as many as there may be in it, one behind the other and
 * again and again at one place. */
static void test_many(void **state)
{
	struct mappings all = {.regions = calloc(MAPPINGS_MAX, sizeof(*all.regions)),
			       .region_count = MAPPINGS_MAX};
	struct map_spans spans;
	clock_t before = clock();

	(void)state;
	all.regions[0] =
		(struct mapping_region){.address = 4096, .size = UINT64_MAX / 2, .to_ns = NO_TIME};
	for (uint64_t i = 1; i < MAPPINGS_MAX; i++) {
		uint64_t address = i % 2 ? 1u << 20 : (i + 1024) << 12;

		all.regions[i] = (struct mapping_region){.mapping = (uint32_t)i,
							 .address = address,
							 .size = 4096,
							 .from_ns = 10 * i,
							 .to_ns = 10 * i + 5};
	}
	assert_int_equal(map_spans_init(&spans, &all), 0);
	for (uint64_t i = 1; i < MAPPINGS_MAX; i++) {
		uint64_t map;

		assert_true(map_spans_find(&spans, all.regions[i].address + 8, 10 * i + 2, &map));
		assert_int_equal(map, i);
		assert_true(
			map_spans_find(&spans, all.regions[i].address + 4096, 10 * i + 7, &map));
		assert_int_equal(map, 0);
	}
	map_spans_done(&spans);
	free(all.regions);
	assert_true((double)(clock() - before) / CLOCKS_PER_SEC < 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
