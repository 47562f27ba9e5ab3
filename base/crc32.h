#pragma once
/* CRC-32 as of IEEE 802.3 (also zlib's, gzip's, and that of .gnu_debuglink): polynomial 0x04c11db7,
 * reflected. */
#include <stddef.h>
#include <stdint.h>

/* Goes on: `crc` is that of all bytes before these, 0 at the start. */
uint32_t crc32_add(uint32_t crc, const void *data, size_t length);
