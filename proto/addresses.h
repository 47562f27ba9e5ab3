#pragma once
/*
 * How addresses are predicted, so that most of them take one small number. Encoder and decoder keep
 * this same state, which begins anew with each batch; README.md, "Addresses", is the specification.
 *
 * An allocator hands out again what was given back last (one stack of blocks for each chunk size of
 * each thread, as glibc's tcache has), or what lies behind the last block it handed out. A program
 * frees in the order in which it has allocated, or against it. So a birth says "the top of its
 * stack" or "the next", and a death says by how much its block's number, counted in births, differs
 * from that of the thread's death before. What is neither stands in a column of its own.
 *
 * The state is a guess about the allocator: where it is wrong, the columns get longer, and nothing
 * else happens.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ADDRESSES_CLASSES   64 /* chunks of 32, 48... 1040 bytes */
#define ADDRESSES_DEPTH	    8  /* blocks that a stack remembers */
#define ADDRESSES_MAX_SLOTS 256
/* shifted addresses above are never predicted */
#define ADDRESSES_MAX (UINT64_C(1) << 56)

enum birth_code {
	BIRTH_IN_PLACE, /* reallocations: where the old block was */
	BIRTH_TOP,
	BIRTH_NEXT,
	BIRTH_EXPLICIT,
	BIRTH_CODES,
};

enum death_code {
	DEATH_NONE, /* address 0 */
	DEATH_EXPLICIT,
	DEATH_NUMBERED, /* and above: + zigzag of the difference of numbers */
};

/* Of a thread; threads share one by the lower bits of their numbers. All addresses are shifted. */
struct addresses_slot {
	uint64_t freed[ADDRESSES_CLASSES][ADDRESSES_DEPTH];
	uint8_t top[ADDRESSES_CLASSES]; /* where the next one goes */
	uint64_t birth, death;		/* the last explicit reference for each: any last one */
	uint64_t next;
	uint32_t number; /* of the block that died last */
};

/* A block: where it was born and of what class, in one word; 0: none. */
typedef uint64_t addresses_block;

static inline uint64_t addresses_chunk(uint64_t size)
{
	return size <= 24 ? 32 : (size + 23) & ~UINT64_C(15);
}

/* ADDRESSES_CLASSES: of none. */
static inline unsigned addresses_class(uint64_t size)
{
	return size <= 24 ? 0 : size <= 1032 ? (unsigned)((size + 23) >> 4) - 2 : ADDRESSES_CLASSES;
}

static inline addresses_block addresses_block_of(uint64_t address, unsigned class)
{
	return address < ADDRESSES_MAX ? address << 8 | class : 0;
}

static inline uint64_t addresses_of_block(addresses_block block)
{
	return block >> 8;
}

/* A block has been given back; 0: nothing is known of it. */
static inline void addresses_push(struct addresses_slot *s, addresses_block block)
{
	unsigned class = block & 0xff;

	if (block && class < ADDRESSES_CLASSES) {
		s->freed[class][s->top[class]] = addresses_of_block(block);
		s->top[class] = (s->top[class] + 1) % ADDRESSES_DEPTH;
	}
}

/* Where the block on top of the stack is; it may be 0. */
static inline uint64_t *addresses_top(struct addresses_slot *s, unsigned class)
{
	return &s->freed[class][(s->top[class] + ADDRESSES_DEPTH - 1u) % ADDRESSES_DEPTH];
}

static inline void addresses_pop(struct addresses_slot *s, unsigned class)
{
	s->top[class] = (s->top[class] + ADDRESSES_DEPTH - 1u) % ADDRESSES_DEPTH;
	s->freed[class][s->top[class]] = 0;
}

/* A block was born: what the next one is compared with. */
static inline void addresses_born(struct addresses_slot *s, uint64_t address, uint64_t size,
				  uint32_t shift)
{
	s->birth = address;
	s->next = address + (addresses_chunk(size) >> shift);
}
