#pragma once
/*
 * Finds the targets of the pointers through which an ELF file's code jumps and calls (its global
 * offset table): symbols that the dynamic loader resolves. They are read from the relocations. A
 * relocation with a symbol says that the loader stores this symbol's address in the slot.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/ebpf/sites.h"
#include "agent/core/elf_symbols.h"

struct import_slot {
	uint64_t address;
	uint32_t symbol;
};

struct imports {
	struct import_slot *slot; /* sorted by address */
	size_t count;
	struct elf_table symbols; /* dynamic symbols, and their names */
	struct elf_window names;
};

/* Returns 0, also if the file has no imports; or -ENOMEM. `file` must outlive `imports`. */
int imports_read(struct imports *imports, const struct elf_symbols *file);
void imports_done(struct imports *imports);

/* Finds the symbol whose address the loader stores at `slot`. Returns false if there is none.
 * *ret_address is the symbol's address in this file, or 0 if the file does not define it. */
bool imports_find(struct imports *imports, uint64_t slot, char ret_name[SITE_NAME_MAX],
		  uint64_t *ret_address);
