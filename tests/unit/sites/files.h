#pragma once
/* Libraries whose allocators the tests look for; and a file's sites by addresses in place of
 * offsets. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/ebpf/sites.h"
#include "agent/core/elf_symbols.h"

#define LIBRARIES "/usr/lib/x86_64-linux-gnu/"

static const char *const library_files[] = {
	LIBRARIES "libc.so.6",
	LIBRARIES "libjemalloc.so.2",
	LIBRARIES "libtcmalloc_minimal.so.4",
	LIBRARIES "libmimalloc.so.2",
	"/lib/ld-musl-x86_64.so.1",
};

#define LIBRARY_FILES (sizeof(library_files) / sizeof(library_files[0]))

static inline int find_sites(const char *path, struct sites *sites)
{
	static const struct sites_options options;
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;

	if (fd < 0)
		return -1;
	error = sites_find(fd, &options, sites, NULL);
	close(fd);
	return error;
}

static inline uint64_t address_of(const char *path, uint64_t offset)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_symbols file;
	uint64_t address = 0;

	if (fd < 0 || elf_symbols_open(&file, fd) < 0)
		return 0;
	for (unsigned i = 0; i < file.segment_count; i++)
		if (offset - file.segment[i].offset < file.segment[i].size)
			address = offset - file.segment[i].offset + file.segment[i].address;
	close(fd);
	return address;
}
