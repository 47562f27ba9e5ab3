/* Interning: an open-addressing table over copies in chunks. intern.h describes the interface. */
#include "base/intern.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/ban.h"

#define CHUNK_BYTES (256u << 10)
#define ITEMS_MAX   (1u << 31)

struct intern_chunk {
	struct intern_chunk *next;
	size_t used, size;
	alignas(8) char data[];
};

static const char *copy(struct intern *intern, const void *data, size_t length)
{
	struct intern_chunk *chunk = intern->chunks;
	char *to;

	/* Pairs of numbers are stored in binary, so every copy is aligned to 8 bytes. */
	if (!chunk || chunk->size - chunk->used < length + 8) {
		size_t size = length + 8 > CHUNK_BYTES ? length + 8 : CHUNK_BYTES;

		chunk = malloc(sizeof(*chunk) + size);
		if (!chunk)
			return NULL;
		*chunk = (struct intern_chunk){.next = intern->chunks, .size = size};
		intern->chunks = chunk;
	}
	to = chunk->data + chunk->used;
	if (length)
		memcpy(to, data, length);
	to[length] = 0;
	chunk->used += (length + 8) & ~(size_t)7;
	return to;
}

static int grow_table(struct intern *intern)
{
	uint32_t capacity = intern->table_capacity ? intern->table_capacity * 2 : 64;
	uint32_t *table = calloc(capacity, sizeof(*table));

	if (!table)
		return -1;
	if (!intern->table)
		hash_key_choose(&intern->key);
	for (uint32_t i = 1; i <= intern->count; i++) {
		uint32_t at = intern->items[i].hash & (capacity - 1);

		while (table[at])
			at = (at + 1) & (capacity - 1);
		table[at] = i;
	}
	free(intern->table);
	intern->table = table;
	intern->table_capacity = capacity;
	return 0;
}

static int grow_items(struct intern *intern)
{
	uint32_t capacity = intern->items_capacity ? intern->items_capacity * 2 : 64;
	struct intern_item *items = realloc(intern->items, (size_t)capacity * sizeof(*items));

	if (!items)
		return -1;
	intern->items = items;
	intern->items_capacity = capacity;
	return 0;
}

void intern_done(struct intern *intern)
{
	while (intern->chunks) {
		struct intern_chunk *chunk = intern->chunks;

		intern->chunks = chunk->next;
		free(chunk);
	}
	free(intern->items);
	free(intern->table);
	*intern = (struct intern){0};
}

/* Returns the table slot that holds the bytes, or the empty slot where they belong. */
static uint32_t intern_place_of(const struct intern *intern, uint32_t hash, const void *data,
				size_t length)
{
	uint32_t mask = intern->table_capacity - 1, at;

	for (at = hash & mask; intern->table[at]; at = (at + 1) & mask) {
		const struct intern_item *item = &intern->items[intern->table[at]];

		if (item->hash == hash && item->length == length &&
		    !memcmp(item->data, data, length))
			break;
	}
	return at;
}

uint32_t intern_find(const struct intern *intern, const void *data, size_t length)
{
	return intern->count
		       ? intern->table[intern_place_of(
				 intern, (uint32_t)(hash_bytes(&intern->key, data, length) >> 32),
				 data, length)]
		       : 0;
}

uint32_t intern_bytes(struct intern *intern, const void *data, size_t length)
{
	uint32_t hash, at;
	const char *kept;

	if (length > UINT32_MAX || intern->count + 2 >= ITEMS_MAX)
		return 0;
	if (2 * (intern->count + 1) > intern->table_capacity && grow_table(intern) < 0)
		return 0;
	hash = (uint32_t)(hash_bytes(&intern->key, data, length) >> 32);
	at = intern_place_of(intern, hash, data, length);
	if (intern->table[at])
		return intern->table[at];
	if (intern->count + 2 > intern->items_capacity && grow_items(intern) < 0)
		return 0;
	kept = copy(intern, data, length);
	if (!kept)
		return 0;
	intern->count++;
	intern->items[intern->count] =
		(struct intern_item){.data = kept, .length = (uint32_t)length, .hash = hash};
	intern->table[at] = intern->count;
	return intern->count;
}

uint32_t intern_text(struct intern *intern, const char *text)
{
	return intern_bytes(intern, text, strlen(text));
}

uint32_t intern_pair(struct intern *intern, uint64_t a, uint64_t b)
{
	uint64_t pair[2] = {a, b};

	return intern_bytes(intern, pair, sizeof(pair));
}

const char *intern_get(const struct intern *intern, uint32_t number)
{
	return number && number <= intern->count ? intern->items[number].data : NULL;
}
