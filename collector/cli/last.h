#pragma once
/* The stream called `last`: the recording that was written last, in the folder where the command
 * runs or in the data folder. */
#include <stdbool.h>

struct err_text;

/* Says that nothing has been recorded, and how to record. Returns -ENOENT. */
int last_none(const char *data, struct err_text *err);
/* Finds it. `data`: the data folder; `data_only`: look for files there, too, and nowhere else. The
 * caller frees the path. Returns 0, -ENOENT with a sentence that says how to make one, or another
 * negative errno. */
int last_find(const char *data, bool data_only, char **ret_path, struct err_text *err);
