#pragma once
/* Writes DIR/snapshots.sqlite; private to the files that implement the store. */
#include "collector/catalogue/snapshots.h"

/*
 * Adds a snapshot. `within` is called last, before the transaction is committed; a negative result
 * rolls it back. Returns -EEXIST if the name is taken.
 */
int snapshots_file_put(const char *folder, const struct snapshot *snapshot,
		       int (*within)(void *context, struct err_text *err), void *context,
		       struct err_text *err);
/* Removes a snapshot; a missing one is no error. */
int snapshots_file_remove(const char *folder, const char *name, struct err_text *err);
