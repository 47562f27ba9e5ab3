#pragma once
/* Writes protobuf fields in wire format. A message is flat, and its fields are written in order. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

static inline void protobuf_varint(struct buf *out, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		buf_byte(out, (uint8_t)value | 0x80);
	buf_byte(out, (uint8_t)value);
}

/* Appends a number. Leaves out 0, because readers take a missing field for 0. */
static inline void protobuf_u64(struct buf *out, unsigned field, uint64_t value)
{
	if (!value)
		return;
	protobuf_varint(out, field << 3);
	protobuf_varint(out, value);
}

static inline void protobuf_bytes(struct buf *out, unsigned field, const void *data, size_t length)
{
	protobuf_varint(out, field << 3 | 2);
	protobuf_varint(out, length);
	buf_append(out, data, length);
}

static inline void protobuf_text(struct buf *out, unsigned field, const char *text)
{
	protobuf_bytes(out, field, text, strlen(text));
}

/* Appends a nested message, or a packed array of numbers. */
static inline void protobuf_message(struct buf *out, unsigned field, const struct buf *message)
{
	protobuf_bytes(out, field, message->data, message->length);
}
