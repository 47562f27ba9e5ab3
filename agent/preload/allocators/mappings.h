#pragma once
/* mmap and its relatives; see mappings.c. */

/* Looks up the next definitions. next_resolve calls it. */
void mappings_resolve(void);
