#pragma once
/*
 * Access to the words of a ring whose program may have another byte order than the agent, because
 * an emulator runs the program. The ring uses the program's byte order (proto/ring.h), so the agent
 * converts. `swapped` says whether the byte orders differ. The same functions serve both cases,
 * since they do not run for each event (see ring_reader_native for events).
 *
 * Use these functions for all words of the ring that both sides know. Words that only agents use
 * (their account) are in the agent's own byte order.
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

/* Relaxed, or with the memory order of the name. */
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

/* Increments a counter, with release order. If the byte orders differ, this takes a
 * compare-and-exchange loop. */
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

/* Raises a counter to `least` if it is smaller. Returns its old value. */
static inline uint64_t ring_lift64(bool swapped, uint64_t *shared, uint64_t least)
{
	uint64_t was = __atomic_load_n(shared, __ATOMIC_SEQ_CST);

	while (ring_turn64(swapped, was) < least &&
	       !__atomic_compare_exchange_n(shared, &was, ring_turn64(swapped, least), true,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	return ring_turn64(swapped, was);
}

/* Returns true if the program is big-endian. */
static inline bool ring_big_endian(bool swapped)
{
	return (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != swapped;
}

#define RING_ORDER_MARK 0x01020304u /* byte_order in hello and header */
