/* Growable byte buffers. buf.h describes the interface. */
#include "base/buf.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/ban.h"

void buf_done(struct buf *b)
{
	size_t limit = b->limit;

	free(b->data);
	*b = (struct buf){.limit = limit};
}

uint8_t *buf_reserve(struct buf *b, size_t more)
{
	size_t need, capacity;
	uint8_t *data;

	if (b->error)
		return NULL;
	if (__builtin_add_overflow(b->length, more, &need) || (b->limit && need > b->limit)) {
		b->error = -EMSGSIZE;
		return NULL;
	}
	if (need <= b->capacity && b->data)
		return b->data + b->length;
	capacity = b->capacity ? b->capacity : 256;
	while (capacity < need)
		if (__builtin_mul_overflow(capacity, 2, &capacity))
			capacity = need;
	data = realloc(b->data, capacity);
	if (!data) {
		b->error = -ENOMEM;
		return NULL;
	}
	b->data = data;
	b->capacity = capacity;
	return data + b->length;
}

void buf_append(struct buf *b, const void *data, size_t length)
{
	uint8_t *to = buf_reserve(b, length);

	if (!to || !length)
		return;
	memcpy(to, data, length);
	b->length += length;
}

void buf_string(struct buf *b, const char *text)
{
	buf_append(b, text, strlen(text));
}

void buf_byte(struct buf *b, uint8_t byte)
{
	buf_append(b, &byte, 1);
}

void buf_varint(struct buf *b, uint64_t value)
{
	uint8_t *room = buf_reserve(b, VARINT_MAX);

	if (room)
		b->length += (size_t)(varint_put(room, value) - room);
}

void buf_u32le(struct buf *b, uint32_t value)
{
	value = htole32(value);
	buf_append(b, &value, sizeof(value));
}

void buf_u64le(struct buf *b, uint64_t value)
{
	value = htole64(value);
	buf_append(b, &value, sizeof(value));
}

void buf_vprintf(struct buf *b, const char *format, va_list args)
{
	va_list again;
	uint8_t *to;
	int n;

	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	to = n < 0 ? NULL : buf_reserve(b, (size_t)n + 1);
	if (to) {
		vsnprintf((char *)to, (size_t)n + 1, format, again);
		b->length += (size_t)n;
	} else if (!b->error) {
		b->error = -EINVAL;
	}
	va_end(again);
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_vprintf(b, format, args);
	va_end(args);
}

void buf_consume(struct buf *b, size_t length)
{
	if (length >= b->length) {
		b->length = 0;
		return;
	}
	memmove(b->data, b->data + length, b->length - length);
	b->length -= length;
}

const char *buf_text(struct buf *b)
{
	uint8_t *end = buf_reserve(b, 1);

	if (!end)
		return NULL;
	*end = 0;
	return (const char *)b->data;
}

uint8_t *buf_take(struct buf *b, size_t *ret_length)
{
	uint8_t *data = b->data;

	*ret_length = b->length;
	*b = (struct buf){.limit = b->limit};
	return data;
}
