#pragma once
/*
 * An arena: memory that is taken from the system once, handed out from front to back, and freed all
 * at once.
 */
#include <stddef.h>
#include <stdint.h>

struct arena {
	uint8_t *memory;
	size_t size;
	size_t used;
};

/* Maps `size` bytes, populated at once. Returns 0 or a negative errno. */
int arena_open(struct arena *arena, size_t size);
/* Maps `size` bytes of address space. A page becomes resident on the first write; arena_drop
 * releases the whole pages of an arena or of a part of an arena. Returns 0 or a negative errno. */
int arena_open_sparse(struct arena *arena, size_t size);
void arena_drop(struct arena *arena);
void arena_close(struct arena *arena);
/* Returns `size` bytes, aligned to 64 bytes and zeroed if they are used for the first time, or NULL
 * if the arena has fewer left. */
void *arena_take(struct arena *arena, size_t size);
/* Takes a part of the arena as an arena of its own, which arena_clear can empty. Its `memory` is
 * NULL if the arena has fewer bytes left. */
struct arena arena_part(struct arena *arena, size_t size);
static inline void arena_clear(struct arena *arena)
{
	arena->used = 0;
}
