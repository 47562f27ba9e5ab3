#pragma once
/* Reading of files with secrets: keys, private keys. */
#include <stddef.h>

struct err_text;

#define PRIVATE_FILE_MAX 16384

/* All of it, with a NUL behind. A file that is not the caller's own (or root's), or that anybody
 * else may read or write, is refused, as is one that is no regular file, is longer, or holds a NUL.
 * `what` it is stands in the sentence: "key file". 0 or a negative errno. Wipe the text when it has
 * served. */
int private_file_read(const char *path, const char *what, char ret_text[PRIVATE_FILE_MAX + 2],
		      size_t *ret_length, struct err_text *err);
/* The same of a file that is open; `path` is for sentences. */
int private_file_take(int fd, const char *path, const char *what,
		      char ret_text[PRIVATE_FILE_MAX + 2], size_t *ret_length,
		      struct err_text *err);
