#pragma once
/*
 * Reads the environment, also before libc has set `environ`: the loader allocates before libc's
 * constructor has run.
 */
#include <stdbool.h>
#include <stdint.h>

/* Returns the array of variables, terminated by NULL. The result is never NULL. */
char *const *env_all(void);
/* Returns the value of a variable, or NULL if it is unset or empty. */
const char *env_get(const char *name);
/* Returns true if the variable is set, but not to "0". */
bool env_flag(const char *name);
/* Returns true if HEAPCAST_name, or MEMORY_PROFILER_name if the first is unset, is set to a value
 * other than "", "0", "no", "false" or "off". */
bool env_switch(const char *name);
/* Parses two decimal numbers, "A:B", without anything after them. Returns false for any other
 * text. */
bool env_pair(const char *text, uint64_t *ret_a, uint64_t *ret_b);
/* Parses a number of bytes with a binary unit: 512K, 1M, 2G. Returns 0 if the text is invalid. */
uint64_t env_bytes(const char *text);
