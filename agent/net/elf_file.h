#pragma once
/*
 * Examines an ELF file: its build id, its debug link, and whether it has symbols to name code.
 * Handles both classes and byte orders (a 64-bit host runs 32-bit programs), in bounded time,
 * without allocating. The file may have any size and any content. Format: System V ABI, chapters 4
 * and 5.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/modules.h"

#define ELF_DEBUGLINK_MAX 255

struct elf_file {
	uint8_t build_id[MODULE_BUILD_ID_MAX];
	uint32_t build_id_length; /* 0: no build id */
	bool names;		  /* has a symbol table of any kind, or debug information */
	bool debug_info;	  /* has .debug_info */
	/* File name in .gnu_debuglink, without a slash. "": none. */
	char debuglink[ELF_DEBUGLINK_MAX + 1];
};

/* Reads the file from `fd`, which stays the caller's. Returns 0, or -ENOEXEC if it is not an ELF
 * file. */
int elf_file_read(int fd, struct elf_file *ret_file);
