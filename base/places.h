#pragma once
/*
 * Helpers for hash tables with open addressing and linear probing, in memory that was reserved at
 * the start. They compute where a key belongs, and which entry may fill a hole. The table's owner
 * defines the entries. Code that may allocate uses the complete tables in base/map.h and
 * base/intern.h instead.
 */
#include <stdbool.h>
#include <stdint.h>

/* Mixes all bits of the key. The upper half is mixed better. */
static inline uint64_t places_hash(uint64_t key)
{
	uint64_t hash = key * UINT64_C(0xff51afd7ed558ccd);

	hash ^= hash >> 32;
	return hash * UINT64_C(0x9e3779b97f4a7c15);
}

/* Returns the home of a key with this hash, in a table of `count` entries. */
static inline uint32_t places_home(uint64_t hash, uint32_t count)
{
	return (uint32_t)((hash >> 32) * count >> 32);
}

static inline uint32_t places_next(uint32_t place, uint32_t count)
{
	return place + 1 == count ? 0 : place + 1;
}

/* After a removal: returns true if the entry at `place`, whose home is `home`, may move back into
 * `hole`. It must not move before its home. */
static inline bool places_may_fill(uint32_t hole, uint32_t place, uint32_t home, uint32_t count)
{
	uint32_t from_home = place >= home ? place - home : place + count - home;
	uint32_t from_hole = place >= hole ? place - hole : place + count - hole;

	return from_home >= from_hole;
}
