#pragma once
#include <stdint.h>

/* Memory that rows may take which are not packed yet, of all recordings that the process has open
 * together; each has one block of ROWS_PER_BLOCK rows (4 MiB) whatever comes. 64 MiB unless set.
 * More rows go into the store, or into a file without a name in TMPDIR or /var/tmp. */
void row_memory_limit(uint64_t bytes);
