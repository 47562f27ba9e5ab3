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

uint32_t strings_put(struct strings *s, const char *text, size_t length)
{
	return text ? intern_bytes(&s->texts, text, strnlen(text, length)) : 0;
}

const char *strings_at(const struct strings *s, uint32_t number)
{
	return intern_get(&s->texts, number);
}

void strings_done(struct strings *s)
{
	arena_done(&s->arena);
	intern_done(&s->texts);
}
