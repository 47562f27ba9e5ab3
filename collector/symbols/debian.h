#pragma once
/* Which package of a Debian system names the code of a file. */
#include <stdint.h>

/*
 * Returns the name of the package with the debug information of `path`: that of the package that
 * the file came with, and "-dbgsym" (https://wiki.debian.org/AutomaticDebugPackages), "libc6-dbg"
 * for libc6. NULL: the file here has another build id, no package has it, this is no such system,
 * or memory is short. `lists`: the folder of packages' lists; NULL: /var/lib/dpkg/info. The caller
 * frees the result.
 */
char *debian_package(const char *path, const uint8_t *build_id, uint32_t build_id_length,
		     const char *lists);
