#pragma once
/* Shared by the reader and the writer of the pairs folder; private to base/secure/pairs. */
#include <stdbool.h>
#include <stdint.h>

#include "base/secure/pairs.h"

#define PAIRS_ENDING	   ".key"
#define PAIRS_FILE_MAX	   (PAIR_NAME_MAX + 8)
#define PAIRS_INSTALLATION "installation"
#define PAIRS_FIRST_LINE   "# with: "
#define PAIRS_SECOND_LINE  "# since: "

/*
 * Opens the folder. Returns a descriptor, -ENOENT without a sentence if the folder does not exist,
 * or another negative errno with a sentence.
 */
int pairs_folder_open(const char *folder, struct err_text *err);
/* Tells whether a file name is that of a key, and returns the name of the key. */
bool pairs_is_key(const char *file, struct pair_name *ret_name);
/* Returns the file name of a key; the inverse of pairs_is_key. */
void pairs_file(const char *name, char out[PAIRS_FILE_MAX]);
/*
 * Reads a key file in an open folder. `path` is that of the folder, for error messages. Returns 0,
 * or a negative errno with a sentence.
 */
int pairs_read(int folder, const char *path, const char *file, struct secret *ret_secret,
	       struct err_text *err);
/* Returns the number of keys, or a negative errno. */
int64_t pairs_count(int folder);
