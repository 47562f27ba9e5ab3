#pragma once
/* Fields of messages that lie in buffers. */
#include <protobuf-c/protobuf-c.h>

#include "base/buf.h"

/* What the buffer holds, in place: until it grows. */
static inline ProtobufCBinaryData field_of(const struct buf *b)
{
	return (ProtobufCBinaryData){.len = b->length, .data = b->data};
}
