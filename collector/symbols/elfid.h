#pragma once
/*
 * What must be known about an ELF file before it is trusted further: whether it is one, its build
 * id, and the name of its debug file. The code reads with pread and checks every offset, so it can
 * run in the collector itself. Only the worker reads more of such a file.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elf/elf_load.h"

#define BUILD_ID_MAX 64

/*
 * What a file offers for naming code, according to its section headers. Only the worker reads the
 * contents.
 */
enum elf_has {
	ELF_HAS_SYMBOLS = 1,	/* .symtab, or one packed in .gnu_debugdata */
	ELF_HAS_EXPORTS = 2,	/* .dynsym */
	ELF_HAS_LINES = 4,	/* .debug_line */
	ELF_HAS_DEBUG_INFO = 8, /* .debug_info: functions and inlined frames */
};

#define ELF_LOADS_MAX 8

struct elf_id {
	uint8_t build_id[BUILD_ID_MAX];
	uint32_t build_id_length; /* 0: none */
	char debuglink[256];	  /* file name from .gnu_debuglink, without a slash; "": none */
	uint32_t debuglink_crc;
	unsigned has; /* bitwise or of enum elf_has */
	struct elf_load load[ELF_LOADS_MAX];
	uint32_t load_count;
	uint64_t entry;				/* link-time address of the entry point; 0: none */
	bool has_code;				/* false for a separate debug file */
	uint64_t device, inode, size, mtime_ns; /* of the file; they identify it across paths */
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
