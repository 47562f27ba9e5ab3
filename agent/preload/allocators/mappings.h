#pragma once
/* Hooks mmap and related calls; see mappings.c. */

/* Looks up the next definitions. next_resolve calls it. */
void mappings_resolve(void);
