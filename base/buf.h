#pragma once
/*
 * A growable byte buffer. If the buffer cannot grow, it keeps its contents and records the error,
 * and every later append does nothing. A writer therefore checks for errors once, at the end, with
 * buf_error.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data;
	size_t length;
	size_t capacity;
	size_t limit; /* 0 means no limit; growing beyond it fails with -EMSGSIZE */
	int error;
};

void buf_done(struct buf *b); /* frees the memory; the buffer is then empty and reusable */
static inline void buf_clear(struct buf *b)
{
	b->length = 0;
	b->error = 0;
}

/* Returns 0, or the negative errno of the first append that failed. */
static inline int buf_error(const struct buf *b)
{
	return b->error;
}

/*
 * Returns room for `more` bytes at the end, or NULL on failure. The caller adds the bytes that it
 * wrote to `length`.
 */
uint8_t *buf_reserve(struct buf *b, size_t more);
void buf_append(struct buf *b, const void *data, size_t length);
void buf_string(struct buf *b, const char *text);
void buf_byte(struct buf *b, uint8_t byte);
void buf_varint(struct buf *b, uint64_t value); /* encoding: base/bytes.h */
/* Little endian. */
void buf_u32le(struct buf *b, uint32_t value);
void buf_u64le(struct buf *b, uint64_t value);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
/* Drops the first `length` bytes. */
void buf_consume(struct buf *b, size_t length);
/*
 * Returns the contents as a string terminated by a NUL that `length` does not count, or NULL if
 * memory is short. The string is valid until the next append.
 */
const char *buf_text(struct buf *b);
/* Hands the memory to the caller, which releases it with free. The buffer is empty afterwards. */
uint8_t *buf_take(struct buf *b, size_t *ret_length);
