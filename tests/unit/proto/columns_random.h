#pragma once
/* What the tests of columns share: how much a batch holds, and numbers that are the same in
 * each run. */
#include <stdint.h>

#define MEMORY (1u << 16)

static uint64_t random_state = 1;

static inline uint64_t random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}
