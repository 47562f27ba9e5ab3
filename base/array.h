#pragma once
/*
 * Growable arrays. The caller keeps the pointer and the capacity; this code only grows the array.
 */
#include <stddef.h>
#include <stdint.h>

/*
 * Makes the array at `*array` hold at least `count` elements of `size` bytes. `array` is the
 * address of a pointer to memory from malloc, or to NULL. The capacity at least doubles, and new
 * elements are zeroed. Returns 0, or -ENOMEM if memory is short or `count` is above UINT32_MAX / 2;
 * the array is then unchanged.
 */
int array_reserve(void *array, uint32_t *capacity, uint64_t count, size_t size);
