#pragma once
/* Paths of source files as debug information spells them: relative to a folder, with "..", to one
 * form. */
#include <stddef.h>

#define SOURCE_PATH_MAX 4096

/*
 * Joins `file` to `folder` if it is relative (`folder` may be NULL) and takes out "//", "/./" and
 * "x/..". By text alone: the folders are those of a build elsewhere. Returns the length written to
 * `to`; a longer path is cut at its front.
 */
size_t source_path(char to[SOURCE_PATH_MAX], const char *folder, const char *file);
