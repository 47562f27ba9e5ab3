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
/* A decimal number that fills the whole of the text; -1: it is not one, or above INT32_MAX. */
long env_number(const char *text);
/* Bytes as people write them: 512K, 1M, 2G (binary). 0: not understood. */
uint64_t env_bytes(const char *text);
