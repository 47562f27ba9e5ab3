#pragma once
/* Files without a name, for data that does not fit into memory. */

/*
 * Makes one in TMPDIR or /var/tmp, where a disk is more likely than a memory file system. Returns a
 * descriptor, or -1 with errno.
 */
int unnamed_file(void);
