#pragma once
/*
 * Symbol tables: the function that contains an address, by name only. The fallback where there is
 * no debug information: .symtab, then .gnu_debugdata (a symbol table packed with xz into the
 * program itself), then .dynsym. Worker side.
 */
#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

struct symtab_entry {
	uint64_t start, end; /* addresses as in the file */
	const char *name;    /* memory of the Elf */
	uint8_t rank;	     /* among names of one place: the lower, the better known */
};

struct symtab {
	struct symtab_entry *entries; /* by start, then rank */
	size_t count, capacity;
};

/* The functions of a file's SHT_SYMTAB or SHT_DYNSYM. An empty table, if there is none. 0 or
 * -ENOMEM. */
int symtab_load(Elf *elf, uint32_t section_type, struct symtab *ret_table);
void symtab_done(struct symtab *table);
/* The symbol that covers `address`; NULL: none. Valid as long as the table. */
const struct symtab_entry *symtab_find(const struct symtab *table, uint64_t address);

/* The ELF file inside of .gnu_debugdata. 0; -ENOENT: there is none; -EBADMSG: not xz, or more than
 * 256 MiB; -ENOMEM. elf_end it before ret_memory is freed. */
int minidebug_open(Elf *elf, Elf **ret_elf, void **ret_memory);
