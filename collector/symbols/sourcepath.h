#pragma once
/*
 * Normalizes paths of source files from debug information, which may be relative or contain "..".
 */
#include <stddef.h>

#define SOURCE_PATH_MAX 4096

/*
 * Joins `file` to `folder` if it is relative (`folder` may be NULL) and removes "//", "/./" and
 * "x/..". The function works on the text alone, because the folders are those of the build machine.
 * Returns the length written to `to`. A path that is too long loses its beginning.
 */
size_t source_path(char to[SOURCE_PATH_MAX], const char *folder, const char *file);
