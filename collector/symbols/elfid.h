#pragma once
/*
 * What must be known about an ELF file before it is trusted further: whether it is one, its build
 * id, and the name of its debug file. base/elf checks every offset, so this can run in the
 * collector itself. Only the worker reads more of such a file.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elf/elf_identity.h"
#include "base/elf/elf_load.h"

#define ELF_LOADS_MAX 8

struct elf_id {
	struct elf_identity file;
	struct elf_load load[ELF_LOADS_MAX];
	uint32_t load_count;
	uint64_t entry;				/* link-time address of the entry point; 0: none */
	uint64_t device, inode, size, mtime_ns; /* identify the file across paths */
};

/*
 * Returns 0; -ENOENT and the like if the file cannot be opened; or -ENOEXEC if it is not a regular
 * file or not an ELF file of a known class and byte order.
 */
int elf_id_read(const char *path, struct elf_id *ret_id);

/*
 * Computes the CRC-32 (IEEE 802.3, as in .gnu_debuglink) of a regular file. Returns 0 or a negative
 * errno.
 */
int file_crc32(const char *path, uint32_t *ret_crc);
