#pragma once
/*
 * What an ELF file is, and whether it can name code: build id, debug link, and which kinds of
 * symbols its section headers speak of. Of either class and byte order (a 64-bit host runs 32-bit
 * programs), in bounded time, without allocating: the file may be of any size, and hold anything.
 * Format: System V ABI, chapters 4 and 5.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/modules.h"

#define ELF_DEBUGLINK_MAX 255

struct elf_file {
	uint8_t build_id[MODULE_BUILD_ID_MAX];
	uint32_t build_id_length; /* 0: none */
	bool names;		  /* a symbol table of any kind, or debug information */
	bool debug_info;	  /* .debug_info */
	char debuglink[ELF_DEBUGLINK_MAX +
		       1]; /* file name in .gnu_debuglink, without a slash; "": none */
};

/* Reads it from `fd`, which stays the caller's. 0; -ENOEXEC: it is no ELF file. */
int elf_file_read(int fd, struct elf_file *ret_file);
