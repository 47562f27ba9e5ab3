#pragma once
/*
 * The site word: what the kernel's side has to know of a place that is probed, in 64 bits. It
 * travels as the cookie of the attachment, or lies in a map by (tgid, pc) where kernels have no
 * cookies (before 5.15). Made by agent/ebpf/sites.c, read by bpf/ and the agent; so this header
 * stands alone, and means the same to clang -target bpf (with -ffreestanding).
 *
 *	63       48 47    38 37    30 29  24 23  18 17  12 11    8 7      0
 *	|   own   |  flags  |  words |  c   |  b   |  a   | shape  |  kind  |
 *
 * The *frame* of a call is sp + words * SITE_WORD_BYTES at a site: on x86-64 the slot of the stack
 * that holds the return address, elsewhere sp as the caller had it. It is the same number at a
 * call's entry and at its exit, and no other call of the thread that is under way has it: by it an
 * exit finds its entry. (What ended without an exit, by an exception or longjmp, left a frame below
 * that of a later entry's.)
 */
#include <stdbool.h>
#include <stdint.h>

#define SITE_NO_REGISTER 63u
#define SITE_WORD_BYTES	 8u
#define SITE_WORDS_MAX	 255u

enum site_flag {
	SITE_EXIT_PROBE = 1u << 0, /* the call's end: its result is in the result's register; a, b
				      and c are not known */
	SITE_RETURN_OK = 1u << 1,  /* a uretprobe may be set, at this very offset */
	SITE_LINK =
		1u << 2, /* the return address is in the link register; else in the frame's slot */
	SITE_HAS_EXITS = 1u << 3, /* sites of SITE_EXIT_PROBE tell the result; with neither this nor
				     RETURN_OK: nobody does */
	SITE_THROWS = 1u << 4,	  /* may end by an exception: then an entry is never answered */
	SITE_NOT_NULL = 1u << 5,  /* calls that pass NULL in a do not come by */
	SITE_LEAF = 1u << 6,	  /* its own code leads into no other function of allocators */
	SITE_FOLLOWED = 1u << 7,  /* a free whose end is of interest, too: it may hand on to another
				     one, which is no event then */
};

/* The arguments a, b and c of agent/allocator_functions.h, a heap in front of them left out
 * already: numbers of DWARF for this processor, of the registers that hold them at this very place.
 * SITE_NO_REGISTER: the shape has no such argument, or it is an exit. Of SHAPE_END, which has a
 * alone, b and c are registers of the caller's that the function has pushed and may have changed
 * since: into the first and the second word below the frame. */
struct site_word {
	uint8_t kind;  /* of the event: proto/event.h */
	uint8_t shape; /* enum allocator_shape */
	uint8_t a, b, c;
	uint8_t words;
	uint16_t flags;
};

static inline uint64_t site_pack(const struct site_word *w)
{
	return (uint64_t)w->kind | (uint64_t)(w->shape & 15u) << 8 | (uint64_t)(w->a & 63u) << 12 |
	       (uint64_t)(w->b & 63u) << 18 | (uint64_t)(w->c & 63u) << 24 |
	       (uint64_t)w->words << 30 | (uint64_t)(w->flags & 1023u) << 38;
}

static inline uint32_t site_kind(uint64_t word)
{
	return word & 255u;
}

static inline uint32_t site_shape(uint64_t word)
{
	return word >> 8 & 15u;
}

static inline uint32_t site_a(uint64_t word)
{
	return word >> 12 & 63u;
}

static inline uint32_t site_b(uint64_t word)
{
	return word >> 18 & 63u;
}

static inline uint32_t site_c(uint64_t word)
{
	return word >> 24 & 63u;
}

static inline uint32_t site_words(uint64_t word)
{
	return word >> 30 & 255u;
}

/* Of enum site_flag. */
static inline uint32_t site_flags(uint64_t word)
{
	return word >> 38 & 1023u;
}

/* The end of such a call can be seen at its return; of others at sites of their own, or not at
 * all. */
static inline bool site_returns(uint64_t word)
{
	return (site_flags(word) & (SITE_RETURN_OK | SITE_HAS_EXITS)) == SITE_RETURN_OK;
}

static inline uint64_t site_with_flags(uint64_t word, uint32_t flags)
{
	return (word & ~(UINT64_C(1023) << 38)) | (uint64_t)(flags & 1023u) << 38;
}

/* See above. */
static inline uint64_t site_frame(uint64_t word, uint64_t sp)
{
	return sp + (uint64_t)site_words(word) * SITE_WORD_BYTES;
}

/* 16 bits at the top are whoever's who sets the probe: sites_find leaves them 0. */
static inline uint32_t site_own(uint64_t word)
{
	return (uint32_t)(word >> 48);
}

static inline uint64_t site_with_own(uint64_t word, uint16_t own)
{
	return (word & ((UINT64_C(1) << 48) - 1)) | (uint64_t)own << 48;
}
