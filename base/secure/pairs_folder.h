#pragma once
/* Inside of base/pairs: what reading and writing the folder share. */
#include <stdbool.h>
#include <stdint.h>

#include "base/secure/pairs.h"

#define PAIRS_ENDING	   ".key"
#define PAIRS_FILE_MAX	   (PAIR_NAME_MAX + 8)
#define PAIRS_INSTALLATION "installation"
#define PAIRS_FIRST_LINE   "# with: "
#define PAIRS_SECOND_LINE  "# since: "

/* A descriptor; -ENOENT without a sentence: there is none; another negative errno with a
 * sentence. */
int pairs_folder_open(const char *folder, struct err_text *err);
/* Is a file of this name a key? Then which. */
bool pairs_is_key(const char *file, struct pair_name *ret_name);
/* And back. */
void pairs_file(const char *name, char out[PAIRS_FILE_MAX]);
/* `path` of the folder, for sentences. */
int pairs_read(int folder, const char *path, const char *file, struct secret *ret_secret,
	       struct err_text *err);
/* How many keys there are, or a negative errno. */
int64_t pairs_count(int folder);
