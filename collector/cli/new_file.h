#pragma once
/* A file that appears at its path only when it is complete. It is written beside its place under
 * another name, with mode 0600 as recordings have, and moved there at the end. The old file stays
 * until then, so the new one can be made from it. The path "-" is standard output. A device or a
 * pipe is written directly, as there is nothing to move. */
#include <stdbool.h>

struct err_text;

struct new_file {
	const char *path; /* the caller's */
	char *temporary;  /* NULL: standard output, or not a regular file */
	int fd;
};

#define NEW_FILE_NONE                                                                              \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Returns 0; -EEXIST: `path` exists and may not be replaced; or another errno with a sentence. */
int new_file_open(struct new_file *file, const char *path, bool replace, struct err_text *err);
/* Moves the file to its place. */
int new_file_keep(struct new_file *file, struct err_text *err);
/* Removes the file unless it was kept. */
void new_file_done(struct new_file *file);
