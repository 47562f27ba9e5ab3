#pragma once
/*
 * Strings kept once each, numbered from 1, at addresses that do not change until strings_done.
 * Number 0 is "no string". The memory comes from an arena, which is also there for whatever has to
 * live as long as the strings.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct arena_block;

struct arena {
	struct arena_block *blocks; /* newest first */
	size_t used;		    /* bytes of the newest */
};

/* Memory for `size` bytes, aligned for any type, not set to anything; NULL if there is none. */
void *arena_get(struct arena *arena, size_t size);
void arena_done(struct arena *arena);

struct strings {
	struct arena arena;
	const char **list; /* list[number - 1] */
	uint32_t count, capacity;
	uint32_t *slots; /* hash table of numbers; 0: empty; a power of two of them */
	uint32_t slot_count;
};

/* Number of the string, the same for the same bytes. 0 if `text` is NULL or memory ran out. A NUL
 * inside ends it. */
uint32_t strings_put(struct strings *s, const char *text, size_t length);
/* The string of a number; NULL for 0 and for numbers that were not given out. */
const char *strings_at(const struct strings *s, uint32_t number);
void strings_done(struct strings *s);
