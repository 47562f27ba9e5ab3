#pragma once
/*
 * Gives equal rows of bytes the same small number: names, places, (name, module) pairs. Numbers
 * count from 1, in the order in which they were first seen; what was stored never moves.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct intern_chunk;

struct intern {
	struct intern_item {
		const char *data; /* a NUL is kept behind the end */
		uint32_t length, hash;
	} * items; /* items[0] is unused */
	uint32_t count;
	uint32_t items_capacity;
	uint32_t *table; /* numbers by hash, 0: empty; at most half full */
	uint32_t table_capacity;
	struct hash_key key;
	struct intern_chunk *chunks;
};

void intern_done(struct intern *intern);
/* The number, or 0 if memory ran out (or 2^31 numbers are in use). */
uint32_t intern_bytes(struct intern *intern, const void *data, size_t length);
/* 0: it has none yet. */
uint32_t intern_find(const struct intern *intern, const void *data, size_t length);
uint32_t intern_text(struct intern *intern, const char *text);
/* Of a row of numbers. */
uint32_t intern_pair(struct intern *intern, uint64_t a, uint64_t b);
const char *intern_get(const struct intern *intern, uint32_t number);
