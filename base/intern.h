#pragma once
/*
 * Interning: equal byte strings get the same small number. It serves names, places and (name,
 * module) pairs. Numbers begin at 1 and follow the order of first appearance. Stored bytes never
 * move.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct intern_chunk;

struct intern {
	struct intern_item {
		const char *data; /* followed by a NUL that `length` does not count */
		uint32_t length, hash;
	} * items; /* items[0] is unused */
	uint32_t count;
	uint32_t items_capacity;
	uint32_t *table; /* hash table of item numbers; 0 marks an empty slot; at most half full */
	uint32_t table_capacity;
	struct hash_key key;
	struct intern_chunk *chunks;
};

void intern_done(struct intern *intern);
/* Returns the number, or 0 if memory is short or 2^31 numbers are in use. */
uint32_t intern_bytes(struct intern *intern, const void *data, size_t length);
/* Returns the number, or 0 if the bytes are not interned. */
uint32_t intern_find(const struct intern *intern, const void *data, size_t length);
uint32_t intern_text(struct intern *intern, const char *text);
/* Interns a pair of numbers. */
uint32_t intern_pair(struct intern *intern, uint64_t a, uint64_t b);
const char *intern_get(const struct intern *intern, uint32_t number);
