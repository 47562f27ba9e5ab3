#pragma once
/*
 * Source files of a program that was built elsewhere, below the folders of --source: "DIR", where
 * the longest end of the path that is there is taken, or "FROM=DIR", where what begins with FROM
 * continues in DIR. Nothing outside of these folders is ever opened, by whatever links.
 */
#include "base/buf.h"

struct err_text;

#define SOURCE_BYTES_MAX (4u << 20)

/* Reads it. -ENOENT: it is in none of them; -EFBIG: it is larger than SOURCE_BYTES_MAX; others of
 * the system. `folders` ends with NULL, and may be NULL. */
int source_file_read(const char *const *folders, const char *path, struct buf *ret_text,
		     struct err_text *err);
