#pragma once
/*
 * Words of a ring whose program may be of another byte order than this agent: a program that an
 * emulator runs beside it. The ring's words are the program's (proto/ring.h), so it is the agent
 * that turns them. `swapped` says whether there is anything to turn; the same function reads both
 * kinds, since none of this is done for each event (those: ring_reader_native).
 *
 * Who reads or writes a word of the ring that both sides know does so by these. Words that only
 * agents read (their notes) are in the agents' own order.
 */
#include <stdbool.h>
#include <stdint.h>

static inline uint32_t ring_turn32(bool swapped, uint32_t value)
{
	return swapped ? __builtin_bswap32(value) : value;
}

static inline uint64_t ring_turn64(bool swapped, uint64_t value)
{
	return swapped ? __builtin_bswap64(value) : value;
}

/* Relaxed, or with the barrier that the name says. */
static inline uint32_t ring_get32(bool swapped, const uint32_t *shared)
{
	return ring_turn32(swapped, __atomic_load_n(shared, __ATOMIC_RELAXED));
}

static inline uint64_t ring_get64(bool swapped, const uint64_t *shared)
{
	return ring_turn64(swapped, __atomic_load_n(shared, __ATOMIC_RELAXED));
}

static inline uint32_t ring_acquire32(bool swapped, const uint32_t *shared)
{
	return ring_turn32(swapped, __atomic_load_n(shared, __ATOMIC_ACQUIRE));
}

static inline uint64_t ring_acquire64(bool swapped, const uint64_t *shared)
{
	return ring_turn64(swapped, __atomic_load_n(shared, __ATOMIC_ACQUIRE));
}

static inline void ring_put32(bool swapped, uint32_t *shared, uint32_t value)
{
	__atomic_store_n(shared, ring_turn32(swapped, value), __ATOMIC_RELAXED);
}

static inline void ring_put64(bool swapped, uint64_t *shared, uint64_t value)
{
	__atomic_store_n(shared, ring_turn64(swapped, value), __ATOMIC_RELAXED);
}

static inline void ring_release32(bool swapped, uint32_t *shared, uint32_t value)
{
	__atomic_store_n(shared, ring_turn32(swapped, value), __ATOMIC_RELEASE);
}

static inline void ring_release64(bool swapped, uint64_t *shared, uint64_t value)
{
	__atomic_store_n(shared, ring_turn64(swapped, value), __ATOMIC_RELEASE);
}

/* Raises a counter, with release order. Of another byte order it is done by comparing and
 * exchanging. */
static inline void ring_raise32(bool swapped, uint32_t *shared)
{
	uint32_t was = __atomic_load_n(shared, __ATOMIC_RELAXED);

	if (!swapped) {
		__atomic_fetch_add(shared, 1, __ATOMIC_RELEASE);
		return;
	}
	while (!__atomic_compare_exchange_n(shared, &was,
					    __builtin_bswap32(__builtin_bswap32(was) + 1), true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* Lifts a counter to `least`, if it is below. What it was. */
static inline uint64_t ring_lift64(bool swapped, uint64_t *shared, uint64_t least)
{
	uint64_t was = __atomic_load_n(shared, __ATOMIC_SEQ_CST);

	while (ring_turn64(swapped, was) < least &&
	       !__atomic_compare_exchange_n(shared, &was, ring_turn64(swapped, least), true,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	return ring_turn64(swapped, was);
}

/* Is the program big-endian? */
static inline bool ring_big_endian(bool swapped)
{
	return (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != swapped;
}

#define RING_ORDER_MARK 0x01020304u /* byte_order of hello and header, as its writer sees it */
