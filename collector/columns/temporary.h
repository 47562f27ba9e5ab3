#pragma once
/* Temporary files for data that does not fit into memory. */

/*
 * Makes an unnamed file in TMPDIR or /var/tmp, where a disk is more likely than a memory file
 * system. Returns a descriptor, or -1 with errno.
 */
int store_temporary(void);
