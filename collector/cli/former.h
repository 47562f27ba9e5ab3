#pragma once
/* What kind of file is there, as its first bytes and its name tell. Asked before a result replaces
 * it: only an earlier result of the same kind is replaced without being told to. */
#include <stdbool.h>

enum former_kind {
	FORMER_OTHER, /* none that we write, or not to be told from those of others */
	FORMER_EMPTY,
	FORMER_RECORDING,
	FORMER_RESULT, /* the first of those that are results; others follow */
};

/* Returns the kind of the file behind `fd`, which is or will be at `path`: a number of its own for
 * each format, from FORMER_RESULT on. */
int former_kind(int fd, const char *path);
