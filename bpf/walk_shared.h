#pragma once
/*
 * The interface between the walk in the kernel (bpf/walk.h) and the agent (agent/ebpf/remote.h). It
 * consists of three array maps. A program gets them by including walk.h; the agent sets their sizes
 * before it loads the program.
 *
 *   walk_rows    lines of 8 entries in the format of agent/unwind/row.h. Mapped by the agent, which
 *                alone writes it.
 *   walk_spaces  a process's part of walk_rows. Mapped by the agent.
 *   walk_slots   a thread's last stack. Used by the kernel only.
 *
 * A space has 2^bits lines of its own, at least 2^WALK_BITS_MIN. An entry's line and tag together
 * determine the program counter, as in row.h, so no entry can be taken for another's.
 *
 * A space is open while the low half of `unmapped` equals its word's generation. The kernel counts
 * unmappings there. The agent reads the count, then the process's maps, drops the rows of unmapped
 * code, and writes the count into the word. A walk reads both at its start and its end; if they
 * have changed in between, its result is discarded.
 */
#include <stdint.h>

#define WALK_LINE_ENTRIES 8
#define WALK_BITS_MIN	  10 /* 64 KiB of rows */
#define WALK_BITS_MAX	  13
#define WALK_SPACE_NONE	  UINT32_MAX

struct walk_line {
	uint64_t entries[WALK_LINE_ENTRIES];
} __attribute__((aligned(64)));

/* word:  | generation : 32 | bits : 8 | first line >> WALK_BITS_MIN : 24 |   bits 0: closed */
#define WALK_CODE_MAX 128
struct walk_code {
	uint64_t start;
	uint64_t end;
};

struct walk_space {
	uint64_t word;
	uint64_t unmapped; /* written by the kernel's programs */
	/* executable ranges, sorted by address; 0 after the last */
	struct walk_code code[WALK_CODE_MAX];
};

static inline uint64_t walk_word(uint32_t generation, uint32_t bits, uint32_t first_line)
{
	return (uint64_t)generation << 32 | bits << 24 | first_line >> WALK_BITS_MIN;
}

static inline uint32_t walk_word_bits(uint64_t word)
{
	return word >> 24 & 0xff;
}

static inline uint32_t walk_word_generation(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

/* Returns the number in walk_rows of the line for a program counter's key (row.h). */
static inline uint32_t walk_line_of(uint64_t word, uint64_t key)
{
	uint64_t high = key >> 10;

	return (uint32_t)((word & 0xffffff) << WALK_BITS_MIN) +
	       (uint32_t)((key ^ high ^ high >> 10) & ((1u << walk_word_bits(word)) - 1));
}

/* The reason why a walk returned no stack. */
enum walk_miss {
	WALK_DONE,
	WALK_NO_SPACE, /* the agent does not know this process yet */
	WALK_CLOSED,   /* code was unmapped: the agent must read the maps again */
	WALK_NO_ROW,   /* the row of walk_slot.miss_pc is missing */
	WALK_ROW,      /* only the agent can step by this row */
	WALK_DEEP,     /* more than WALK_FRAMES */
	WALK_STACK,    /* malformed, or not readable here */
	WALK_MISSES,   /* (number of these) */
};
