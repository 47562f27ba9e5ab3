#pragma once
/*
 * Interned strings, numbered from 1, at addresses that are stable until strings_done. Number 0
 * means "no string". Their arena serves other objects that live as long as the strings.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"

struct arena_block;

struct arena {
	struct arena_block *blocks; /* newest first */
	size_t used;		    /* bytes used of the newest */
};

/* Returns `size` uninitialized bytes, aligned for any type, or NULL if memory is short. */
void *arena_get(struct arena *arena, size_t size);
void arena_done(struct arena *arena);

struct strings {
	struct arena arena;
	struct intern texts;
};

/*
 * Returns the number of the string, which ends at the first NUL. Returns 0 if `text` is NULL or
 * memory is short.
 */
uint32_t strings_put(struct strings *s, const char *text, size_t length);
/* Returns the string with this number; NULL for 0 and for unknown numbers. */
const char *strings_at(const struct strings *s, uint32_t number);
void strings_done(struct strings *s);
