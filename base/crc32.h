#pragma once
/*
 * CRC-32 of IEEE 802.3, which zlib, gzip and .gnu_debuglink also use: polynomial 0x04c11db7,
 * reflected.
 */
#include <stddef.h>
#include <stdint.h>

/*
 * Returns the checksum of the preceding bytes and these. `crc` is the checksum of the preceding
 * bytes, 0 at the start.
 */
uint32_t crc32_add(uint32_t crc, const void *data, size_t length);
