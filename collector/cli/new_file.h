#pragma once
/*
 * A file that takes its place when it is whole: written beside it under another name, mode 0600 as
 * recordings have it, and moved there at the end. What was there before stays until then, and so it
 * may be what the new one is made of. A path "-" is standard output; a device or a pipe is written
 * as it is.
 */
#include <stdbool.h>

struct err_text;

struct new_file {
	const char *path; /* the caller's */
	char *temporary;  /* NULL: standard output, or no regular file */
	int fd;
};

#define NEW_FILE_NONE                                                                              \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* 0; -EEXIST: `path` is there, and may not be replaced; others, with a sentence. */
int new_file_open(struct new_file *file, const char *path, bool replace, struct err_text *err);
/* Moves it to its place. */
int new_file_keep(struct new_file *file, struct err_text *err);
/* What was not kept is removed. */
void new_file_done(struct new_file *file);
