#pragma once
/* Finds the stream called `last`: the most recently written recording, in the working folder or in
 * the data folder. */
#include <stdbool.h>

struct err_text;

/* Sets the error text: nothing has been recorded, and how to record. Returns -ENOENT. */
int last_none(const char *data, struct err_text *err);
/* Finds the path of `last`; `data` is the data folder. With `data_only`, it is searched there only,
 * also for files. The caller frees the path. Returns 0, -ENOENT with an error text that says how to
 * record, or another negative errno. */
int last_find(const char *data, bool data_only, char **ret_path, struct err_text *err);
