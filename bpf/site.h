#pragma once
/*
 * The site word: all that the kernel's programs must know of a probed place, in 64 bits. It is the
 * cookie of the attachment, or the value in a map by (tgid, pc) on kernels without cookies (before
 * 5.15). agent/ebpf/sites.c makes it; bpf/ and the agent read it. This header therefore includes no
 * other project header, and compiles to the same for clang -target bpf (with -ffreestanding).
 *
 *	63       48 47    38 37    30 29  24 23  18 17  12 11    8 7      0
 *	|   own   |  flags  |  words |  c   |  b   |  a   | shape  |  kind  |
 *
 * The *frame* of a call is sp + words * SITE_WORD_BYTES at a site: on x86-64 the stack slot that
 * holds the return address, elsewhere the caller's sp. It has the same value at a call's entry and
 * at its exit, and differs among the calls of a thread that are in flight. An exit therefore finds
 * its entry by the frame. (The frame of a call that ended by an exception or longjmp, without an
 * exit, lies below that of a later entry.)
 */
#include <stdbool.h>
#include <stdint.h>

#define SITE_NO_REGISTER 63u
#define SITE_WORD_BYTES	 8u
#define SITE_WORDS_MAX	 255u

enum site_flag {
	SITE_EXIT_PROBE = 1u << 0, /* the call's end: the result is in the result register; a, b and
				    * c are unknown */
	SITE_RETURN_OK = 1u << 1,  /* a uretprobe may be set at this offset */
	SITE_LINK = 1u << 2, /* the return address is in the link register; otherwise in the frame's
			      * slot */
	SITE_HAS_EXITS = 1u << 3, /* SITE_EXIT_PROBE sites report the result; without this flag and
				   * RETURN_OK the result is unknown */
	SITE_THROWS = 1u << 4,	  /* may end by an exception: then the entry gets no exit */
	SITE_NOT_NULL = 1u << 5,  /* calls with NULL in a do not pass */
	SITE_LEAF = 1u << 6,	  /* its own code calls no other allocator function */
	SITE_FOLLOWED = 1u << 7,  /* a free whose end is probed, too: it may call another free,
				   * which is no event then */
};

/* a, b and c are the arguments of agent/allocator_functions.h, without a leading heap argument: the
 * DWARF numbers of the registers that hold them at this place. SITE_NO_REGISTER: the shape has no
 * such argument, or the site is an exit. For SHAPE_END, which only has a, b and c are registers of
 * the caller that the function has pushed into the first and the second word below the frame, and
 * may have changed since. */
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

/* A set of enum site_flag. */
static inline uint32_t site_flags(uint64_t word)
{
	return word >> 38 & 1023u;
}

/* True if a return probe sees the end of the call. Otherwise probes at exit sites see it, or none
 * does. */
static inline bool site_returns(uint64_t word)
{
	return (site_flags(word) & (SITE_RETURN_OK | SITE_HAS_EXITS)) == SITE_RETURN_OK;
}

static inline uint64_t site_with_flags(uint64_t word, uint32_t flags)
{
	return (word & ~(UINT64_C(1023) << 38)) | (uint64_t)(flags & 1023u) << 38;
}

/* Returns the call's frame, as defined above. */
static inline uint64_t site_frame(uint64_t word, uint64_t sp)
{
	return sp + (uint64_t)site_words(word) * SITE_WORD_BYTES;
}

/* Returns the top 16 bits, which belong to the code that sets the probe; sites_find leaves them 0.
 */
static inline uint32_t site_own(uint64_t word)
{
	return (uint32_t)(word >> 48);
}

static inline uint64_t site_with_own(uint64_t word, uint16_t own)
{
	return (word & ((UINT64_C(1) << 48) - 1)) | (uint64_t)own << 48;
}
