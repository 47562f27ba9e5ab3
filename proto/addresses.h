#pragma once
/*
 * Address prediction, so that most addresses take one small number. The encoder and the decoder
 * keep the same state, which is reset for each batch. README.md, "Addresses", is the specification.
 *
 * An allocator returns the block that was freed last (glibc's tcache has a stack of blocks per
 * chunk size and thread), or the memory behind the block that it returned last. A program frees
 * blocks in the order of their allocation, or in the reverse order. A birth is therefore coded as
 * "the top of its stack" or "the next". A death is coded as the difference between its block's
 * birth number and that of the thread's previous death. Any other address goes to a separate
 * column.
 *
 * The state only guesses what the allocator does. A wrong guess makes the columns longer and has no
 * other effect.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ADDRESSES_CLASSES   64 /* chunks of 32, 48, ... 1040 bytes */
#define ADDRESSES_DEPTH	    8  /* blocks per stack */
#define ADDRESSES_MAX_SLOTS 256
/* shifted addresses at or above this are never predicted */
#define ADDRESSES_MAX (UINT64_C(1) << 56)

enum birth_code {
	BIRTH_IN_PLACE, /* a reallocation that kept the old address */
	BIRTH_TOP,
	BIRTH_NEXT,
	BIRTH_EXPLICIT,
	BIRTH_CODES,
};

enum death_code {
	DEATH_NONE, /* the address is 0 */
	DEATH_EXPLICIT,
	DEATH_NUMBERED, /* and above: plus the zigzag code of the difference of numbers */
};

/*
 * State of a thread. Threads whose numbers have equal low bits share a slot. All addresses are
 * shifted.
 */
struct addresses_slot {
	uint64_t freed[ADDRESSES_CLASSES][ADDRESSES_DEPTH];
	uint8_t top[ADDRESSES_CLASSES]; /* index of the next entry */
	uint64_t birth, death;		/* the previous birth and death, to which explicit addresses
					 * are relative */
	uint64_t next;
	uint32_t number; /* birth number of the block that died last */
};

/* The address of a block and its class in one word; 0 means unknown. */
typedef uint64_t addresses_block;

static inline uint64_t addresses_chunk(uint64_t size)
{
	return size <= 24 ? 32 : (size + 23) & ~UINT64_C(15);
}

/* Returns ADDRESSES_CLASSES for a size that has no class. */
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

/* Records that a block was freed; 0 means that the block is unknown. */
static inline void addresses_push(struct addresses_slot *s, addresses_block block)
{
	unsigned class = block & 0xff;

	if (block && class < ADDRESSES_CLASSES) {
		s->freed[class][s->top[class]] = addresses_of_block(block);
		s->top[class] = (s->top[class] + 1) % ADDRESSES_DEPTH;
	}
}

/* Returns the slot of the topmost block; its value may be 0. */
static inline uint64_t *addresses_top(struct addresses_slot *s, unsigned class)
{
	return &s->freed[class][(s->top[class] + ADDRESSES_DEPTH - 1u) % ADDRESSES_DEPTH];
}

static inline void addresses_pop(struct addresses_slot *s, unsigned class)
{
	s->top[class] = (s->top[class] + ADDRESSES_DEPTH - 1u) % ADDRESSES_DEPTH;
	s->freed[class][s->top[class]] = 0;
}

/* Records a birth, relative to which the next one is coded. */
static inline void addresses_born(struct addresses_slot *s, uint64_t address, uint64_t size,
				  uint32_t shift)
{
	s->birth = address;
	s->next = address + (addresses_chunk(size) >> shift);
}
