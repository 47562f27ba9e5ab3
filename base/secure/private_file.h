#pragma once
/* Reads files that hold secrets: key files and private keys. */
#include <stddef.h>

struct err_text;

#define PRIVATE_FILE_MAX 16384

/*
 * Reads a whole file and appends a NUL. The function refuses a file that another user (except root)
 * owns or that other users may access, a file that is not regular or too long, and a file that
 * contains a NUL. `what` names the file in error messages: "key file". Returns 0, or a negative
 * errno with a sentence. The caller wipes the text after use.
 */
int private_file_read(const char *path, const char *what, char ret_text[PRIVATE_FILE_MAX + 2],
		      size_t *ret_length, struct err_text *err);
/* Does the same for an open file; `path` is for error messages. */
int private_file_take(int fd, const char *path, const char *what,
		      char ret_text[PRIVATE_FILE_MAX + 2], size_t *ret_length,
		      struct err_text *err);
