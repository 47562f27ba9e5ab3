#pragma once
#include <stdint.h>

/* Limits the memory for rows that are not packed yet, of all recordings that the process has open
 * together. The default is 64 MiB. Each recording may keep one block of ROWS_PER_BLOCK rows (4 MiB)
 * whatever the limit. Further rows are packed into the store, or into an unnamed file in TMPDIR or
 * /var/tmp. */
void row_memory_limit(uint64_t bytes);
