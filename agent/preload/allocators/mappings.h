#pragma once
/* mmap and its relatives; see mappings.c. */

/* Looks for the definitions behind ours. Called by next_resolve. */
void mappings_resolve(void);
