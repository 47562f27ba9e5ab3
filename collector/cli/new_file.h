#pragma once
/* A file that appears at its path only when it is complete. It is written beside its place under
 * another name, and moved there at the end. The old file stays until then, so the new one can be
 * made from it, and a failure leaves it as it was. The path "-" is standard output. A device or a
 * pipe is written directly, as there is nothing to move.
 *
 * A file that is there is replaced only with --force, but for an empty one, and an earlier result
 * of the same kind (former.h): a graph that is drawn each night. A recording is never taken for
 * that. */
#include <stdbool.h>

struct err_text;

struct new_file {
	char *path;
	char *temporary; /* NULL: standard output, or not a regular file */
	int fd;
	int former; /* what it replaces must be of this kind; 0: of any */
};

#define NEW_FILE_NONE                                                                              \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* A recording, with mode 0600 as they have. Returns 0; -EEXIST: `path` exists and may not be
 * replaced; or another errno with a sentence. */
int new_file_open(struct new_file *file, const char *path, bool force, struct err_text *err);
/* A result, which any program may read that the umask lets. Likewise. */
int new_file_open_result(struct new_file *file, const char *path, bool force, struct err_text *err);
/* Moves the file to its place. -EEXIST as above: another kind of file is there. */
int new_file_keep(struct new_file *file, struct err_text *err);
/* Removes the file unless it was kept. */
void new_file_done(struct new_file *file);
