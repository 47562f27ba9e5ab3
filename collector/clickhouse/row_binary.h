#pragma once
/*
 * ClickHouse's format RowBinary: rows one after the other, each the values of its columns in order,
 * with neither names nor types. Both sides must know them. Numbers are little endian. The rules
 * stand in ClickHouse's manual under "Formats", "RowBinary":
 *
 *	UInt8..64, Int64	1 to 8 bytes
 *	Float64			8 bytes, IEEE 754
 *	Date			UInt16: days since the epoch
 *	DateTime		UInt32: seconds since the epoch
 *	FixedString(16)		16 bytes
 *	String			length as varint, bytes
 *	Array(UInt64)		count as varint, numbers
 *
 * row_put_* append to a buffer (check buf_error once, at the end). row_get_* read an answer, which
 * is not trusted: check reader_error once, at the end of each row. (`while (reader_more(&r))`.)
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"

#define ROW_ID_SIZE 16 /* of FixedString(16): the id of a stream */

static inline void row_put_u8(struct buf *b, uint8_t value)
{
	buf_byte(b, value);
}

static inline void row_put_u16(struct buf *b, uint16_t value)
{
	buf_byte(b, (uint8_t)value);
	buf_byte(b, (uint8_t)(value >> 8));
}

static inline void row_put_u32(struct buf *b, uint32_t value)
{
	buf_u32le(b, value);
}

static inline void row_put_u64(struct buf *b, uint64_t value)
{
	buf_u64le(b, value);
}

static inline void row_put_i64(struct buf *b, int64_t value)
{
	buf_u64le(b, (uint64_t)value);
}

static inline void row_put_f64(struct buf *b, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	buf_u64le(b, bits);
}

/* Date has 65,535 days; a later one (year 2149) becomes the last. */
static inline void row_put_day(struct buf *b, uint64_t days)
{
	row_put_u16(b, days > UINT16_MAX ? UINT16_MAX : (uint16_t)days);
}

static inline void row_put_id(struct buf *b, const uint8_t id[ROW_ID_SIZE])
{
	buf_append(b, id, ROW_ID_SIZE);
}

static inline void row_put_bytes(struct buf *b, const void *data, size_t length)
{
	buf_varint(b, length);
	buf_append(b, data, length);
}

/* NULL is written as an empty string. */
static inline void row_put_text(struct buf *b, const char *text)
{
	row_put_bytes(b, text ? text : "", text ? strlen(text) : 0);
}

static inline void row_put_numbers(struct buf *b, const uint64_t *values, size_t count)
{
	buf_varint(b, count);
	for (size_t i = 0; i < count; i++)
		buf_u64le(b, values[i]);
}

static inline uint8_t row_get_u8(struct reader *r)
{
	return reader_u8(r);
}

static inline uint16_t row_get_u16(struct reader *r)
{
	const uint8_t *p = reader_bytes(r, 2);

	return p ? (uint16_t)(p[0] | p[1] << 8) : 0;
}

static inline uint32_t row_get_u32(struct reader *r)
{
	return reader_u32le(r);
}

static inline uint64_t row_get_u64(struct reader *r)
{
	return reader_u64le(r);
}

static inline int64_t row_get_i64(struct reader *r)
{
	return (int64_t)reader_u64le(r);
}

static inline double row_get_f64(struct reader *r)
{
	uint64_t bits = reader_u64le(r);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Writes zeros if the answer ends before. */
static inline void row_get_id(struct reader *r, uint8_t ret_id[ROW_ID_SIZE])
{
	const uint8_t *p = reader_bytes(r, ROW_ID_SIZE);

	if (p)
		memcpy(ret_id, p, ROW_ID_SIZE);
	else
		memset(ret_id, 0, ROW_ID_SIZE);
}

/* Lends the bytes of a String, which may have any value. Returns NULL if the answer ends before, or
 * if they are more than `most`. */
static inline const char *row_get_bytes(struct reader *r, size_t most, size_t *ret_length)
{
	uint64_t length = reader_varint(r);

	if (length > most)
		r->error = -EBADMSG;
	if (r->error)
		return NULL;
	*ret_length = (size_t)length;
	return (const char *)reader_bytes(r, (size_t)length);
}

/* Reads the count of an Array(UInt64), all of whose numbers are there: `count` calls of row_get_u64
 * follow. Returns 0 and sets the error if they are more than `most`, or not there. */
static inline size_t row_get_count(struct reader *r, size_t most)
{
	uint64_t count = reader_varint(r);

	if (count > most || count > reader_left(r) / sizeof(uint64_t))
		r->error = -EBADMSG;
	return r->error ? 0 : (size_t)count;
}
