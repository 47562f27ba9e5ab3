#pragma once
/* Tells the kind of an existing file by its first bytes and its name. It is asked before a result
 * replaces the file: without --force, a result replaces only an earlier result of the same kind. */
#include <stdbool.h>

enum former_kind {
	FORMER_OTHER, /* not ours, or not distinguishable from other files */
	FORMER_EMPTY,
	FORMER_RECORDING,
	FORMER_RESULT, /* first of the kinds of results, one per format */
};

/* Returns the kind of the file behind `fd`, which is or will be at `path`. Each format of results
 * has its own number, from FORMER_RESULT on. */
int former_kind(int fd, const char *path);
