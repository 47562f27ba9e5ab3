#pragma once
/* The stream called `last`: the recording that was written last, in the folder where the command
 * runs or in the data folder. */
#include <stdbool.h>

struct err_text;

/* Finds it. `data`: the data folder; `data_only`: look nowhere else. The caller frees the path.
 * Returns 0, -ENOENT with a sentence that says how to make one, or another negative errno. */
int last_find(const char *data, bool data_only, char **ret_path, struct err_text *err);
