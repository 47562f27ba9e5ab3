#pragma once
/* Finds the Debian package that has the debug information of a file. */
#include <stdint.h>

/*
 * Returns the name of the package with the debug information of `path`: the name of the package
 * that installed the file, with "-dbgsym" (https://wiki.debian.org/AutomaticDebugPackages), or
 * "libc6-dbg" for libc6. Returns NULL if the file has another build id, no package has installed
 * it, the system is not a Debian, or memory is short. `lists` is the folder of the packages' lists
 * of files; NULL: /var/lib/dpkg/info. The caller frees the result.
 */
char *debian_package(const char *path, const uint8_t *build_id, uint32_t build_id_length,
		     const char *lists);
