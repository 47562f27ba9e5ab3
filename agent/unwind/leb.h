#pragma once
/* LEB128 numbers (DWARF 5, section 7.6), on top of the checked reader. Bits beyond 64 are
 * dropped. */
#include "base/bytes.h"

static inline uint64_t reader_uleb(struct reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0; reader_more(r); shift += 7) {
		uint8_t byte = reader_u8(r);

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	r->error = -EBADMSG;
	return 0;
}

static inline int64_t reader_sleb(struct reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0; reader_more(r);) {
		uint8_t byte = reader_u8(r);

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80)) {
			if (shift < 64 && (byte & 0x40))
				value |= ~0ull << shift;
			return (int64_t)value;
		}
	}
	r->error = -EBADMSG;
	return 0;
}

/* Read numbers of the module that contains the code, in the byte order of this process. */
#define READER_HOST(bits)                                                                          \
	static inline uint##bits##_t reader_host_u##bits(struct reader *r)                         \
	{                                                                                          \
		const uint8_t *p = reader_bytes(r, sizeof(uint##bits##_t));                        \
		uint##bits##_t value = 0;                                                          \
                                                                                                   \
		if (p)                                                                             \
			memcpy(&value, p, sizeof(value));                                          \
		return value;                                                                      \
	}

READER_HOST(16)
READER_HOST(32)
READER_HOST(64)
