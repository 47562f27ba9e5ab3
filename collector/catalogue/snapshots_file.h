#pragma once
/* Writing DIR/snapshots.sqlite, for the files of collector/store only. */
#include "collector/catalogue/snapshots.h"

/* Puts it into the list; `within` is called last before that holds: what it returns below 0 takes
 * it back. -EEXIST: the name is taken. */
int snapshots_file_put(const char *folder, const struct snapshot *snapshot,
		       int (*within)(void *context, struct err_text *err), void *context,
		       struct err_text *err);
/* One that is not there is fine. */
int snapshots_file_remove(const char *folder, const char *name, struct err_text *err);
