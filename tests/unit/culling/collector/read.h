#pragma once
/* What a collector makes of a recording whose blocks have addresses 0x10000, 0x10040... */
#include <stdint.h>

#define READ_FIRST 0x10000
#define READ_STEP  64

/* Blocks in use, by address: how many, and bytes of the last. */
struct read_alive {
	uint64_t blocks, bytes;
};

/* Adds blocks in use to alive[0 .. count - 1]. How many frees found no block; UINT64_MAX: it can't
 * be read, or its account does not balance (said on standard error). */
uint64_t culling_read(const char *path, struct read_alive *alive, unsigned count);
