#pragma once
/* Files for what has no room in memory. */

/* One without a name, in TMPDIR or /var/tmp: where there is a disk rather than memory. A
 * descriptor, or -1 with errno. */
int store_temporary(void);
