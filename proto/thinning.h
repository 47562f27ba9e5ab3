#pragma once
/*
 * Which blocks are still followed when not all frees are recorded: what a program's library and a
 * collector have to decide alike (docs/sampling.md has the law and its proof).
 *
 * A program tells the state of its law by MARK_THINNED, whose text is THINNING_BYTES long, little
 * endian:
 *
 *	byte   0..7  seed   8 level   9 cut   10 keep   11 ahead   12..13 openings   14..15 halvings
 *
 *	level     a block that is not in the set of sampled ones is followed if the upper `level`
 *		  bits of its hash are 0: one in 1 << level. 0: all are
 *	cut       for those of 1 << cut bytes or more the level is lower, by `ahead` and by one more
 *		  for each doubling of the size; where that leaves nothing they are followed
 *		  whatever their hash is. 0: there is no such rule
 *	ahead     0: all that are as large as `cut` are followed
 *	openings  how often the set was emptied and opened again. What was born before is not in it
 *	halvings  how often it was halved since the program began: of those born before, it keeps
 *		  those whose hash of that number is even, and all of 1 << keep bytes or more
 *
 * The rule by which the two stay in step: what the collector goes on counting must be followed by
 * the program. The program may follow more: a free of a block that the collector does not count any
 * more is passed over there. So each says late what sets blocks free of being counted, and early
 * what binds them.
 */
#include <stdbool.h>
#include <stdint.h>

#define THINNING_BYTES	   16
#define THINNING_LEVEL_MAX 40
#define THINNING_KEEP_ALL  64 /* `keep`: none is so large */

struct thinning {
	uint64_t seed;
	uint8_t level, cut, keep, ahead;
	uint16_t openings, halvings;
};

/* Each bit of it depends on all of the address. splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t thinning_hash(uint64_t seed, uint64_t address)
{
	uint64_t z = address ^ seed;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* The level that holds for a block of this size. It does not rise with the size, so who takes a
 * block for larger follows no less. */
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

/* Whether a block that is not in the set is followed, by its address and the level that holds for
 * it. */
static inline bool thinning_follows(uint64_t seed, unsigned level, uint64_t address)
{
	return !level || !(thinning_hash(seed, address) >> (64 - level));
}

/* Whether halving number `halving` keeps a block, by its address. The blocks of a line have the
 * same chance. */
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

/* From outside. false: no such text. */
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
