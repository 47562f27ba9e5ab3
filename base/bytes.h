#pragma once
/*
 * Bounds-checked decoding, and encoding, of bytes that cross a trust boundary.
 *
 * A reader never leaves its input. A read that does not fit sets `error` and returns 0, and so does
 * every later read. A parser therefore checks once, with reader_error; `offset` then tells where
 * the input is bad.
 *
 * Varints are those of protobuf: base 128, least significant group first, at most 10 bytes. Signed
 * varints are zigzag coded.
 */
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reader {
	const uint8_t *data;
	size_t length;
	size_t offset;
	int error; /* 0 or -EBADMSG */
};

static inline struct reader reader_of(const void *data, size_t length)
{
	return (struct reader){.data = data, .length = length};
}

static inline size_t reader_left(const struct reader *r)
{
	return r->length - r->offset;
}

static inline bool reader_more(const struct reader *r)
{
	return !r->error && r->offset < r->length;
}

static inline int reader_error(const struct reader *r)
{
	return r->error;
}

/*
 * Returns a pointer to the next `length` bytes of the input. Returns NULL and sets the error if
 * fewer are left.
 */
static inline const uint8_t *reader_bytes(struct reader *r, size_t length)
{
	if (r->error || length > reader_left(r)) {
		r->error = -EBADMSG;
		return NULL;
	}
	r->offset += length;
	return r->data + r->offset - length;
}

static inline uint8_t reader_u8(struct reader *r)
{
	const uint8_t *p = reader_bytes(r, 1);

	return p ? *p : 0;
}

static inline uint32_t reader_u32le(struct reader *r)
{
	const uint8_t *p = reader_bytes(r, 4);

	return p ? (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
			       (uint32_t)p[3] << 24
		 : 0;
}

static inline uint64_t reader_u64le(struct reader *r)
{
	uint64_t low = reader_u32le(r);

	return low | (uint64_t)reader_u32le(r) << 32;
}

/* Decodes byte by byte, for the end of the input and for the longest varints. */
static inline uint64_t reader_varint_slow(struct reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t byte = reader_u8(r);

		if (r->error)
			return 0;
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	r->error = -EBADMSG;
	return 0;
}

#define VARINT_WORD 8 /* bytes that varint_of_word reads */

/*
 * Decodes a varint of up to eight bytes without a branch per byte. Lengths follow no pattern, and
 * one mispredicted branch costs more than the whole function. Returns false if the varint is
 * longer.
 */
static inline bool varint_of_word(const uint8_t *from, uint64_t *ret_value, unsigned *ret_length)
{
	uint64_t word, end;

	memcpy(&word, from, VARINT_WORD);
	word = le64toh(word);
	end = ~word & UINT64_C(0x8080808080808080); /* its lowest set bit is in the last byte */
	if (!end)
		return false;
	*ret_length = (unsigned)__builtin_ctzll(end) / 8 + 1;
	word &= (end ^ (end - 1)) & UINT64_C(0x7f7f7f7f7f7f7f7f);
	word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
	word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
	*ret_value =
		(word & UINT64_C(0x000000000fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
	return true;
}

/* Decodes a varint that has more than one byte or is damaged. */
static __attribute__((noinline, unused)) uint64_t reader_varint_long(struct reader *r)
{
	uint64_t value;
	unsigned length;

	if (r->error || reader_left(r) < VARINT_WORD ||
	    !varint_of_word(r->data + r->offset, &value, &length))
		return reader_varint_slow(r);
	r->offset += length;
	return value;
}

static inline uint64_t reader_varint(struct reader *r)
{
	if (!r->error && r->offset < r->length && r->data[r->offset] < 0x80)
		return r->data[r->offset++];
	return reader_varint_long(r);
}

static inline uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1 ^ -(value & 1));
}

static inline int64_t reader_zigzag(struct reader *r)
{
	return unzigzag(reader_varint(r));
}

#define VARINT_MAX 10

/*
 * Writes `value` to `to`, which has room for VARINT_MAX bytes. Returns the end of the written
 * bytes.
 */
static inline uint8_t *varint_put(uint8_t *to, uint64_t value)
{
	while (value >= 0x80) {
		*to++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*to++ = (uint8_t)value;
	return to;
}
