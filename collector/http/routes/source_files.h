#pragma once
/*
 * Finds source files of a program that was built elsewhere in the folders of --source. "DIR" takes
 * the longest suffix of the path that exists below DIR. "FROM=DIR" replaces the prefix FROM by DIR.
 * No file outside these folders is ever opened, not even through links.
 */
#include "base/buf.h"

struct err_text;

#define SOURCE_BYTES_MAX (4u << 20)

/* Reads a source file. Returns 0, -ENOENT if no folder has the file, -EFBIG if it is larger than
 * SOURCE_BYTES_MAX, or another negative errno. `folders` is NULL-terminated and may be NULL. */
int source_file_read(const char *const *folders, const char *path, struct buf *ret_text,
		     struct err_text *err);
