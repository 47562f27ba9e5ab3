#pragma once
/*
 * Reads the properties of an ELF file that the agent may send to collectors: its build id, which
 * must fit into an announcement, its debug link, and whether it names code. base/elf does the
 * reading. It knows both classes and byte orders (a 64-bit host runs 32-bit programs), takes
 * bounded time, and allocates nothing.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/modules.h"
#include "base/elf/elf_identity.h"

struct elf_file {
	uint8_t build_id[MODULE_BUILD_ID_MAX];
	uint32_t build_id_length; /* 0: no build id */
	bool names;		  /* has a symbol table of any kind, or debug information */
	bool debug_info;	  /* has .debug_info */
	/* File name in .gnu_debuglink, without a slash. "": none. */
	char debuglink[ELF_DEBUGLINK_MAX + 1];
};

/* Reads the file from `fd`, which the caller keeps. Returns 0, or -ENOEXEC if it is not an ELF
 * file. */
int elf_file_read(int fd, struct elf_file *ret_file);
