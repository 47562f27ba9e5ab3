#pragma once
/*
 * An open-addressing map from a 64-bit key to a 64-bit value, for hot paths. Linear probing with a multiplicative hash,
 * at most three quarters full; deletions shift the following entries back, so that there are no tombstones.
 * Key MAP_NO_KEY can't be stored.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_NO_KEY UINT64_MAX

struct map_entry {
	uint64_t key;
	uint64_t value;
};

struct map {
	struct map_entry *entries; /* capacity entries; NULL: empty */
	size_t count;
	size_t capacity; /* a power of two */
};

void map_done(struct map *m);
void map_clear(struct map *m);
/* The value's place, or NULL. Valid until the next put or remove. */
uint64_t *map_get(const struct map *m, uint64_t key);
/* Where the search for a key begins. Fibonacci hashing: the high bits of the product are the mixed ones. */
static inline size_t map_home(const struct map *m, uint64_t key)
{
	return (size_t)((key * 0x9E3779B97F4A7C15ull) >> 32) & (m->capacity - 1);
}

/* The key will be asked for, put or removed soon. */
static inline void map_prefetch(const struct map *m, uint64_t key)
{
	if (m->capacity)
		__builtin_prefetch(&m->entries[map_home(m, key)]);
}

/* The value's place, made (0) if it was not there; NULL if memory ran out. */
uint64_t *map_put(struct map *m, uint64_t key, bool *ret_new);
/* True if it was there; its value goes to ret_value (may be NULL). */
bool map_remove(struct map *m, uint64_t key, uint64_t *ret_value);

#define map_each(m, e)                                                                                                 \
	for (struct map_entry *e = (m)->entries; e && e < (m)->entries + (m)->capacity; e++)                           \
		if (e->key != MAP_NO_KEY)
