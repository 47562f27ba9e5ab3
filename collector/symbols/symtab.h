#pragma once
/*
 * Symbol tables: the function that contains an address, by name only. They are the fallback without
 * debug information: .symtab, then .gnu_debugdata (a symbol table packed with xz into the program
 * itself), then .dynsym. Worker side.
 */
#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

struct symtab_entry {
	uint64_t start, end; /* addresses in the file */
	const char *name;    /* owned by the Elf */
	uint8_t rank;	     /* rank among names of one place; lower is better known */
};

struct symtab {
	struct symtab_entry *entries; /* sorted by start, then rank */
	size_t count, capacity;
};

/*
 * Loads the functions of a file's SHT_SYMTAB or SHT_DYNSYM. Without such a section the table is
 * empty. Returns 0 or -ENOMEM.
 */
int symtab_load(Elf *elf, uint32_t section_type, struct symtab *ret_table);
void symtab_done(struct symtab *table);
/* Returns the symbol that covers `address`, or NULL. Valid as long as the table. */
const struct symtab_entry *symtab_find(const struct symtab *table, uint64_t address);
/* Returns the last symbol at or before `address`, or NULL. */
const struct symtab_entry *symtab_before(const struct symtab *table, uint64_t address);

/*
 * Opens the ELF file inside .gnu_debugdata. Returns 0; -ENOENT if there is none; -EBADMSG if it is
 * not xz or exceeds 256 MiB; or -ENOMEM. The caller calls elf_end before it frees ret_memory.
 */
int minidebug_open(Elf *elf, Elf **ret_elf, void **ret_memory);
