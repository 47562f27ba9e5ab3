#pragma once
/*
 * The environment, also before libc has set `environ`: the loader allocates before libc's
 * constructor has run.
 */
#include <stdbool.h>
#include <stdint.h>

/* The array, ended by NULL. Never NULL itself. */
char *const *env_all(void);
/* The value; NULL: not set, or empty. */
const char *env_get(const char *name);
/* Set to anything but "0"? */
bool env_flag(const char *name);
/* Is HEAPCAST_name set to anything but "0" and its like? If it is not set: MEMORY_PROFILER_name. */
bool env_switch(const char *name);
/* Two decimal numbers, "A:B", that fill the whole of the text. false: it is something else. */
bool env_pair(const char *text, uint64_t *ret_a, uint64_t *ret_b);
/* Bytes as people write them: 512K, 1M, 2G (binary). 0: not understood. */
uint64_t env_bytes(const char *text);
