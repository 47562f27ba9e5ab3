#pragma once
/* Writes a whole buffer to a descriptor, in as many calls as needed. */
#include <stddef.h>

/*
 * Returns 0, -ENOSPC if the descriptor accepts no more bytes, or another negative errno. After a
 * failure the number of bytes written is unknown.
 */
int write_all(int fd, const void *data, size_t length);
