#pragma once
/* Writes a file that appears at its path only when it is complete. It is written beside its place
 * under another name, and moved there at the end. The old file stays until then, so the new one can
 * be made from it, and a failure leaves it unchanged. The path "-" is standard output. A device or
 * a pipe is written directly, because nothing can be moved there.
 *
 * Without --force, only two kinds of existing files are replaced: an empty file, and an earlier
 * result of the same kind (former.h), such as a graph that is drawn each night. A recording is
 * never replaced without --force. */
#include <stdbool.h>

struct err_text;

struct new_file {
	char *path;
	char *temporary; /* NULL: standard output, or not a regular file */
	int fd;
	int former; /* required kind of the replaced file; 0: any */
};

#define NEW_FILE_NONE                                                                              \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* Opens the file for a recording, with mode 0600. Returns 0; -EEXIST if `path` exists and may not
 * be replaced; or another negative errno, all with an error text. */
int new_file_open(struct new_file *file, const char *path, bool force, struct err_text *err);
/* Opens the file for a result. A new one has the mode of the umask. Returns what new_file_open
 * returns. */
int new_file_open_result(struct new_file *file, const char *path, bool force, struct err_text *err);
/* Moves the file to its place. Returns 0; -EEXIST if a file of another kind is there now; or
 * another negative errno. */
int new_file_keep(struct new_file *file, struct err_text *err);
/* Removes the file unless it was kept. */
void new_file_done(struct new_file *file);
