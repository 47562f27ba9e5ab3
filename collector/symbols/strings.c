/* Interned strings and their arena. strings.h describes them. */
#include "collector/symbols/strings.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/ban.h"

#define BLOCK_BYTES 65536

struct arena_block {
	struct arena_block *next;
	size_t size;
	alignas(max_align_t) char bytes[];
};

void *arena_get(struct arena *arena, size_t size)
{
	struct arena_block *block = arena->blocks;
	size_t room = BLOCK_BYTES;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (!block || block->size - arena->used < size) {
		if (room < size)
			room = size;
		block = malloc(sizeof(*block) + room);
		if (!block)
			return NULL;
		block->size = room;
		block->next = arena->blocks;
		arena->blocks = block;
		arena->used = 0;
	}
	arena->used += size;
	return block->bytes + arena->used - size;
}

void arena_done(struct arena *arena)
{
	while (arena->blocks) {
		struct arena_block *block = arena->blocks;

		arena->blocks = block->next;
		free(block);
	}
	arena->used = 0;
}

/* FNV-1a. Tables are rebuilt from the list, so hashes are not stored. */
static uint32_t hash(const char *text, size_t length)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < length; i++)
		h = (h ^ (uint8_t)text[i]) * 16777619u;
	return h ^ h >> 15;
}

static bool same(const char *kept, const char *text, size_t length)
{
	return !strncmp(kept, text, length) && !kept[length];
}

static uint32_t *slot_of(const struct strings *s, const char *text, size_t length)
{
	uint32_t i = hash(text, length) & (s->slot_count - 1);

	while (s->slots[i] && !same(s->list[s->slots[i] - 1], text, length))
		i = (i + 1) & (s->slot_count - 1);
	return &s->slots[i];
}

static int grow_slots(struct strings *s)
{
	uint32_t count = s->slot_count ? s->slot_count * 2 : 256;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -1;
	free(s->slots);
	s->slots = slots;
	s->slot_count = count;
	for (uint32_t i = 0; i < s->count; i++)
		*slot_of(s, s->list[i], strlen(s->list[i])) = i + 1;
	return 0;
}

static int grow_list(struct strings *s)
{
	uint32_t capacity = s->capacity ? s->capacity * 2 : 128;
	const char **list = realloc(s->list, capacity * sizeof(*list));

	if (!list)
		return -1;
	s->list = list;
	s->capacity = capacity;
	return 0;
}

uint32_t strings_put(struct strings *s, const char *text, size_t length)
{
	uint32_t *slot;
	char *kept;

	if (!text)
		return 0;
	length = strnlen(text, length);
	if (s->count >= s->slot_count / 4 * 3 && (s->count >= 1u << 30 || grow_slots(s)))
		return 0;
	slot = slot_of(s, text, length);
	if (*slot)
		return *slot;
	if (s->count == s->capacity && grow_list(s))
		return 0;
	kept = arena_get(&s->arena, length + 1);
	if (!kept)
		return 0;
	memcpy(kept, text, length);
	kept[length] = 0;
	s->list[s->count++] = kept;
	*slot = s->count;
	return s->count;
}

const char *strings_at(const struct strings *s, uint32_t number)
{
	return number && number <= s->count ? s->list[number - 1] : NULL;
}

void strings_done(struct strings *s)
{
	arena_done(&s->arena);
	free(s->list);
	free(s->slots);
	*s = (struct strings){0};
}
