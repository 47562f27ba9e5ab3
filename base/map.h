#pragma once
/*
 * A hash table from 64-bit keys to 64-bit values, for hot paths. It uses open addressing with
 * linear probing and a multiplicative hash, and is at most three quarters full. A removal shifts
 * the following entries back, so there are no tombstones. The key MAP_NO_KEY cannot be stored.
 *
 * The factor is that of Fibonacci hashing at first, so equal keys lie in the same order in every
 * run. Untrusted keys may be chosen to collide under that factor. As soon as an entry lies too far
 * from its home, the map therefore changes to a random factor.
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
	struct map_entry *entries; /* `capacity` entries; NULL while the map is empty */
	size_t count;
	size_t capacity; /* a power of two */
	uint64_t factor; /* odd */
	unsigned shift;	 /* 64 - log2(capacity) */
};

void map_done(struct map *m);
void map_clear(struct map *m);
/*
 * Makes room for `count` keys in all, so that putting them moves nothing. Returns false if memory
 * is short; the map is as before then.
 */
bool map_reserve(struct map *m, size_t count);
/*
 * Returns the address of the value, or NULL if the key is absent. It is valid until the next put or
 * remove.
 */
uint64_t *map_get(const struct map *m, uint64_t key);
/*
 * Returns the home slot, where the search for a key begins. The high bits of the product are the
 * well-mixed ones.
 */
static inline size_t map_home(const struct map *m, uint64_t key)
{
	return (size_t)(key * m->factor >> m->shift);
}

/* Prefetches the home slot of a key that is looked up, put or removed soon. */
static inline void map_prefetch(const struct map *m, uint64_t key)
{
	if (m->capacity)
		__builtin_prefetch(&m->entries[map_home(m, key)]);
}

/*
 * Returns the address of the value, or NULL if memory is short. A new key gets the value 0 and sets
 * `*ret_new` to true. `ret_new` may be NULL.
 */
uint64_t *map_put(struct map *m, uint64_t key, bool *ret_new);
/* The same, inlined where the home slot is free or has the key. */
static inline uint64_t *map_put_inline(struct map *m, uint64_t key, bool *ret_new)
{
	struct map_entry *e = m->capacity ? &m->entries[map_home(m, key)] : NULL;
	bool is_free = e && e->key == MAP_NO_KEY && m->count < m->capacity / 4 * 3;

	if (key == MAP_NO_KEY || !(is_free || (e && e->key == key)))
		return map_put(m, key, ret_new);
	if (ret_new)
		*ret_new = is_free;
	if (is_free) {
		*e = (struct map_entry){.key = key};
		m->count++;
	}
	return &e->value;
}
/*
 * Returns true if the key was present, and stores its value in `*ret_value`. `ret_value` may be
 * NULL.
 */
bool map_remove(struct map *m, uint64_t key, uint64_t *ret_value);

#define map_each(m, e)                                                                             \
	for (struct map_entry *e = (m)->entries; e && e < (m)->entries + (m)->capacity; e++)       \
		if (e->key != MAP_NO_KEY)
