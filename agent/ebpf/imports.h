#pragma once
/*
 * Where the pointers lead that code of an ELF file jumps and calls through (its global offset
 * table): to a symbol that the dynamic loader looks up. Read from relocations: one with a symbol
 * says that the loader puts its address there.
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
	const struct elf_symbols *file;
	struct import_slot *slot; /* in the order of addresses */
	size_t count;
	ElfW(Shdr) symbols, names;
};

/* 0, also if there are none; -ENOMEM. The file must stay. */
int imports_read(struct imports *imports, const struct elf_symbols *file);
void imports_done(struct imports *imports);

/* The symbol whose address is put at `slot`. False: none. `ret_address`: where this file has it; 0:
 * it has not. */
bool imports_find(const struct imports *imports, uint64_t slot, char ret_name[SITE_NAME_MAX],
		  uint64_t *ret_address);
