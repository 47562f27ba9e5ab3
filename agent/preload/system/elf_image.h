#pragma once
/*
 * Reads loaded ELF files: the facts for an announcement, and the places of the file's tables. It
 * does not use base/elf, which copies its input into buffers and checks every offset. Here the
 * loader has mapped and checked the file, and the process runs its code. The tables are used in
 * place, within hooks, on small stacks.
 */
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/unwind.h"

#define ELF_BUILD_ID_MAX 32

struct elf_image {
	struct unwind_module module;
	uint8_t build_id_length;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	/* A hash of the name by which the loader knows it and of the build id, or of its layout if
	 * it has no build id. */
	uint64_t identity;
};

/* Returns 0, or -ENOEXEC if the file has no executable segment. */
int elf_image_read(const struct dl_phdr_info *info, struct elf_image *ret_image);

/* Returns true if the address lies in a segment of the file. */
bool elf_image_holds(const struct dl_phdr_info *info, uintptr_t address);

/* Gets the range [start, end) of all segments; start is UINTPTR_MAX and end 0 if there are none. */
void elf_image_extent(const struct dl_phdr_info *info, uintptr_t *ret_start, uintptr_t *ret_end);

/* Finds the program headers by the ELF header at `start`, for a file that ends at `end` at most.
 * Returns false if there is no such header. */
bool elf_image_headers(uintptr_t start, uintptr_t end, struct dl_phdr_info *info);

/* The tables of the dynamic section. Formats: System V ABI chapter 5 and its processor supplements;
 * NULL or 0: the file has no such table. */
struct elf_tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash;
	const uint32_t *hash;
	const uint16_t *versions;
	const uint8_t *relocations[2]; /* DT_REL or DT_RELA, DT_JMPREL */
	size_t relocations_size[2];    /* in bytes */
	/* MIPS: words of the symbols from first_symbol on, which follow the file's own words. */
	uintptr_t *got;
	size_t own_words, first_symbol, symbol_count;
};

/* Returns false if the file has no symbols with names. */
bool elf_image_tables(const struct dl_phdr_info *info, struct elf_tables *ret_tables);
