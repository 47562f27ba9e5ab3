#pragma once
/*
 * Thinning decides which blocks are still followed when not all frees are recorded. The program's
 * preload library and the collector must decide alike. docs/sampling.md has the rule and its proof.
 *
 * A program reports its state by MARK_THINNED, whose text is THINNING_BYTES long, little endian:
 *
 *   byte   0..7  seed   8 level   9 cut   10 keep   11 ahead   12..13 openings   14..15 halvings
 *
 *   level     a block outside the set of sampled blocks is followed if the upper `level` bits
 *             of its hash are 0: one in 1 << level. 0: all blocks are followed
 *   cut       for blocks of 1 << cut bytes or more the level is lower, by `ahead` and by one
 *             more for each doubling of the size; at level 0 they are followed whatever their
 *             hash is. cut 0: the rule does not apply
 *   ahead     0: all blocks at least as large as `cut` are followed
 *   openings  how often the set was emptied and opened again. Blocks born before the last opening
 *             are not in it
 *   halvings  how often the set was halved since the program began. Of the blocks born before it, a
 *             halving keeps those whose hash with its number is even, and those of 1 << keep bytes
 *             or more
 *
 * Both sides stay consistent by one rule: the program must follow every block that the collector
 * still counts. The program may follow more, because the collector ignores a free of a block that
 * it no longer counts. The program therefore reports a change before it follows fewer blocks, and
 * after it has begun to follow more.
 */
#include <stdbool.h>
#include <stdint.h>

#define THINNING_BYTES	   16
#define THINNING_LEVEL_MAX 40
#define THINNING_KEEP_ALL  64 /* `keep`: no block is so large */

struct thinning {
	uint64_t seed;
	uint8_t level, cut, keep, ahead;
	uint16_t openings, halvings;
};

/*
 * SplitMix64 (Steele, Lea, Flood 2014). Each bit of the result depends on all bits of the address.
 */
static inline uint64_t thinning_hash(uint64_t seed, uint64_t address)
{
	uint64_t z = address ^ seed;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/*
 * Returns the level that applies to a block of this size. The level never rises with the size, so a
 * caller that overestimates a block follows no less.
 */
static inline unsigned thinning_level(const struct thinning *t, unsigned level, uint64_t size)
{
	unsigned ahead = t->ahead;

	if (!t->cut || !(size >> t->cut))
		return level;
	if (!ahead)
		return 0;
	ahead += 63 - (unsigned)__builtin_clzll(size) - t->cut;
	return level > ahead ? level - ahead : 0;
}

/* Tells whether a block outside the set is followed. `level` is the level that applies to it. */
static inline bool thinning_follows(uint64_t seed, unsigned level, uint64_t address)
{
	return !level || !(thinning_hash(seed, address) >> (64 - level));
}

/*
 * Tells whether halving number `halving` keeps the block at `address`. Each halving has its own
 * hash, so the decision does not depend on the block's line in the set.
 */
static inline bool thinning_keeps(uint64_t seed, unsigned halving, uint64_t address)
{
	return !(thinning_hash(seed + halving * 0x9e3779b97f4a7c15u, address) & 1);
}

static inline bool thinning_is_large(unsigned shift, uint64_t size)
{
	return shift && shift < 64 && size >> shift;
}

static inline void thinning_put(const struct thinning *t, uint8_t to[THINNING_BYTES])
{
	for (unsigned i = 0; i < 8; i++)
		to[i] = (uint8_t)(t->seed >> 8 * i);
	to[8] = t->level;
	to[9] = t->cut;
	to[10] = t->keep;
	to[11] = t->ahead;
	to[12] = (uint8_t)t->openings;
	to[13] = (uint8_t)(t->openings >> 8);
	to[14] = (uint8_t)t->halvings;
	to[15] = (uint8_t)(t->halvings >> 8);
}

/* Decodes untrusted bytes. Returns false if they are not valid. */
static inline bool thinning_get(struct thinning *ret, const uint8_t *from, uint64_t length)
{
	uint64_t seed = 0;

	if (length < THINNING_BYTES || from[8] > THINNING_LEVEL_MAX || from[9] >= 64)
		return false;
	for (unsigned i = 8; i-- > 0;)
		seed = seed << 8 | from[i];
	*ret = (struct thinning){.seed = seed,
				 .level = from[8],
				 .cut = from[9],
				 .keep = from[10],
				 .ahead = from[11],
				 .openings = (uint16_t)(from[12] | from[13] << 8),
				 .halvings = (uint16_t)(from[14] | from[15] << 8)};
	return true;
}
