#pragma once
/* Message fields that refer to buffers. */
#include <protobuf-c/protobuf-c.h>

#include "base/buf.h"

/* Returns a field that refers to the buffer's contents. It is valid until the buffer grows. */
static inline ProtobufCBinaryData field_of(const struct buf *b)
{
	return (ProtobufCBinaryData){.len = b->length, .data = b->data};
}
