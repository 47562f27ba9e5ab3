#pragma once
/*
 * An open-addressing map from a 64-bit key to a 64-bit value, for hot paths. Linear probing with a
 * multiplicative hash, at most three quarters full; deletions shift the following entries back, so
 * that there are no tombstones. Key MAP_NO_KEY can't be stored.
 *
 * The factor is that of Fibonacci hashing: the same keys lie in the same order. Keys that come from
 * outside may be made to collide under it: as soon as one lies too far from its home, the factor
 * becomes a random one, which nobody outside knows.
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
	uint64_t factor; /* odd */
	unsigned shift;	 /* 64 - log2(capacity) */
};

void map_done(struct map *m);
void map_clear(struct map *m);
/* The value's place, or NULL. Valid until the next put or remove. */
uint64_t *map_get(const struct map *m, uint64_t key);
/* Where the search for a key begins: the high bits of the product are the mixed ones. */
static inline size_t map_home(const struct map *m, uint64_t key)
{
	return (size_t)(key * m->factor >> m->shift);
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

#define map_each(m, e)                                                                             \
	for (struct map_entry *e = (m)->entries; e && e < (m)->entries + (m)->capacity; e++)       \
		if (e->key != MAP_NO_KEY)
