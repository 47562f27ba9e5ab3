#pragma once
/*
 * A growable row of bytes. Growing can fail: the buffer then keeps what it had, remembers the
 * failure, and every later append does nothing, so that a writer checks once at the end
 * (buf_error).
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data;
	size_t length;
	size_t capacity;
	size_t limit; /* 0: none. Growing beyond it fails with -EMSGSIZE */
	int error;
};

void buf_done(struct buf *b); /* frees the memory; the buffer is empty and usable again */
static inline void buf_clear(struct buf *b)
{
	b->length = 0;
	b->error = 0;
}

/* 0, or the negative errno of the first append that failed. */
static inline int buf_error(const struct buf *b)
{
	return b->error;
}

/* Room for `more` bytes at the end; NULL if it can't be had. Raise `length` by what was used. */
uint8_t *buf_reserve(struct buf *b, size_t more);
void buf_append(struct buf *b, const void *data, size_t length);
void buf_string(struct buf *b, const char *text);
void buf_byte(struct buf *b, uint8_t byte);
void buf_varint(struct buf *b, uint64_t value); /* base/bytes.h */
/* Little endian. */
void buf_u32le(struct buf *b, uint32_t value);
void buf_u64le(struct buf *b, uint64_t value);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
/* Drops `length` bytes at the front. */
void buf_consume(struct buf *b, size_t length);
/* The contents as a string; a NUL is kept behind the end. Valid until the next append. NULL if
 * memory ran out. */
const char *buf_text(struct buf *b);
/* Moves the memory out (free it with free); the buffer is empty afterwards. */
uint8_t *buf_take(struct buf *b, size_t *ret_length);
