#pragma once
/* Writing all of a row of bytes to a descriptor, in as many calls as it takes. */
#include <stddef.h>

/* 0, or a negative errno; -ENOSPC: nothing more is taken. How much was written before a failure is
 * not told. */
int write_all(int fd, const void *data, size_t length);
