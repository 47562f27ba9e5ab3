#pragma once
/*
 * What has to be known of an ELF file before anybody trusts it with more: is it one, which build id
 * does it carry, which file does it name for its debug information. Read by pread with every offset
 * checked, so that it can be done in the collector itself; all further reading of such a file is
 * the worker's.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elf/elf_load.h"

#define BUILD_ID_MAX 64

/* What a file has to name code with, as its section headers say; only the worker looks inside. */
enum elf_has {
	ELF_HAS_SYMBOLS = 1,	/* .symtab, or one packed into .gnu_debugdata */
	ELF_HAS_EXPORTS = 2,	/* .dynsym */
	ELF_HAS_LINES = 4,	/* .debug_line */
	ELF_HAS_DEBUG_INFO = 8, /* .debug_info: functions and the frames inlined into them */
};

#define ELF_LOADS_MAX 8

struct elf_id {
	uint8_t build_id[BUILD_ID_MAX];
	uint32_t build_id_length; /* 0: none */
	char debuglink[256];	  /* file name from .gnu_debuglink, without a slash; "": none */
	uint32_t debuglink_crc;
	unsigned has; /* enum elf_has, or-ed */
	struct elf_load load[ELF_LOADS_MAX];
	uint32_t load_count;
	uint64_t entry; /* where a program begins, as linked; 0: nowhere */
	bool has_code;	/* else it is a separate debug file, as far as it is any of a program */
	uint64_t device, inode, size,
		mtime_ns; /* of the file: two paths to one file are told by these */
};

/* 0; -ENOENT and the like from open; -ENOEXEC: not a regular file, or no ELF file of class and byte
 * order that exist. */
int elf_id_read(const char *path, struct elf_id *ret_id);

/* CRC-32 (IEEE 802.3, as .gnu_debuglink has it) of a regular file's bytes. 0 or errno. */
int file_crc32(const char *path, uint32_t *ret_crc);
