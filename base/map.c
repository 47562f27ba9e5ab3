/* An open-addressing hash table. map.h describes the interface. */
#include "base/map.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define CAPACITY_LEAST 64
#define FIBONACCI      0x9E3779B97F4A7C15ull /* 2^64 divided by the golden ratio */
/*
 * The longest distance of an entry from its home slot before the factor changes. With millions of
 * random keys the maximum is a few hundred.
 */
#define FROM_HOME_MAX 2048

void map_done(struct map *m)
{
	free(m->entries);
	*m = (struct map){0};
}

void map_clear(struct map *m)
{
	for (size_t i = 0; i < m->capacity; i++)
		m->entries[i].key = MAP_NO_KEY;
	m->count = 0;
}

static struct map_entry *map_find(const struct map *m, uint64_t key)
{
	size_t i = map_home(m, key);

	while (m->entries[i].key != key && m->entries[i].key != MAP_NO_KEY)
		i = (i + 1) & (m->capacity - 1);
	return &m->entries[i];
}

static bool rehash(struct map *m, size_t capacity, uint64_t factor)
{
	struct map bigger = {
		.capacity = capacity,
		.factor = factor,
		.shift = 64 - (unsigned)__builtin_ctzll(capacity),
	};

	bigger.entries = malloc(bigger.capacity * sizeof(*bigger.entries));
	if (!bigger.entries)
		return false;
	map_clear(&bigger);
	map_each(m, e)
	{
		*map_find(&bigger, e->key) = *e;
	}
	bigger.count = m->count;
	free(m->entries);
	*m = bigger;
	return true;
}

static bool map_grow(struct map *m)
{
	return m->capacity ? rehash(m, m->capacity * 2, m->factor)
			   : rehash(m, CAPACITY_LEAST, FIBONACCI);
}

bool map_reserve(struct map *m, size_t count)
{
	size_t capacity = m->capacity ? m->capacity : CAPACITY_LEAST;

	while (capacity / 4 * 3 < count) {
		if (capacity > SIZE_MAX / 2 / sizeof(*m->entries))
			return false;
		capacity *= 2;
	}
	return capacity == m->capacity || rehash(m, capacity, m->capacity ? m->factor : FIBONACCI);
}

/* Changes to a random factor. If memory is short, the map keeps the old one, slow but correct. */
static bool choose_factor(struct map *m)
{
	struct hash_key key;

	hash_key_choose(&key);
	return rehash(m, m->capacity, key.word[1]);
}

uint64_t *map_get(const struct map *m, uint64_t key)
{
	struct map_entry *e;

	if (!m->count || key == MAP_NO_KEY)
		return NULL;
	e = map_find(m, key);
	return e->key == key ? &e->value : NULL;
}

uint64_t *map_put(struct map *m, uint64_t key, bool *ret_new)
{
	struct map_entry *e;

	if (key == MAP_NO_KEY || (m->count >= m->capacity / 4 * 3 && !map_grow(m)))
		return NULL;
	e = map_find(m, key);
	if (ret_new)
		*ret_new = e->key != key;
	if (e->key != key) {
		size_t from_home =
			((size_t)(e - m->entries) - map_home(m, key)) & (m->capacity - 1);

		if (from_home > FROM_HOME_MAX && m->factor == FIBONACCI && choose_factor(m))
			e = map_find(m, key);
		*e = (struct map_entry){.key = key};
		m->count++;
	}
	return &e->value;
}

bool map_remove(struct map *m, uint64_t key, uint64_t *ret_value)
{
	size_t mask = m->capacity - 1, hole, i;
	struct map_entry *e;

	if (!m->count || key == MAP_NO_KEY)
		return false;
	e = map_find(m, key);
	if (e->key != key)
		return false;
	if (ret_value)
		*ret_value = e->value;
	hole = (size_t)(e - m->entries);
	for (i = (hole + 1) & mask; m->entries[i].key != MAP_NO_KEY; i = (i + 1) & mask) {
		size_t wanted = map_home(m, m->entries[i].key);

		/* The entry can move into the hole if its home is not in (hole, i]. */
		if (((i - wanted) & mask) >= ((i - hole) & mask)) {
			m->entries[hole] = m->entries[i];
			hole = i;
		}
	}
	m->entries[hole].key = MAP_NO_KEY;
	m->count--;
	return true;
}
