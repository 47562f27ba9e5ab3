#pragma once
/* A column that is written: packed varints, in memory that the encoder owns. */
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "heapcast.pb-c.h"

struct column {
	uint8_t *data;
	size_t length;
	size_t capacity;
};

/* Writes no byte behind the value. */
static inline void column_put_exact(struct column *c, uint64_t value)
{
	c->length = (size_t)(varint_put(c->data + c->length, value) - c->data);
}

static inline ProtobufCBinaryData column_data(const struct column *c)
{
	return (ProtobufCBinaryData){.len = c->length, .data = c->data};
}
