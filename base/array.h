#pragma once
/* A growable row of elements: the caller's pointer and capacity, here only the growing. */
#include <stddef.h>
#include <stdint.h>

/*
 * Makes `*array` (the address of a pointer to elements of `size` bytes, from malloc, or NULL) hold
 * `count` of them: at least twice as many as before, the new ones zero. 0; -ENOMEM, and nothing has
 * changed; so too above UINT32_MAX / 2 elements.
 */
int array_reserve(void *array, uint32_t *capacity, uint64_t count, size_t size);
