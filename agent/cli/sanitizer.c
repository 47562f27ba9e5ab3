/*
 * Detects programs that are built with a sanitizer. See sanitizer.h. gcc links the runtime as a
 * library (DT_NEEDED libasan.so.8). clang links it into the program, which then defines __asan_init
 * for the libraries that it loads (.dynsym). After gcc's -static-libasan only .symtab tells. All of
 * these are found through the section table, whose entries name their string table (ELF
 * specification, "Sections"). The file may hold anything: all reads are bounded and go to private
 * memory.
 */
#include "agent/cli/sanitizer.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/elf/elf.h"
#include "base/ban.h"

#define STRINGS_MAX (64u << 20)

static const struct sanitizer {
	const char *library; /* prefix of its name */
	const char *symbol;
	const char *option;
} sanitizers[] = {
	{"libasan.", "__asan_init", "-fsanitize=address"},
	{"libclang_rt.asan", "__asan_init", "-fsanitize=address"},
	{"libhwasan.", "__hwasan_init", "-fsanitize=hwaddress"},
	{"libclang_rt.hwasan", "__hwasan_init", "-fsanitize=hwaddress"},
	{"libtsan.", "__tsan_init", "-fsanitize=thread"},
	{"libclang_rt.tsan", "__tsan_init", "-fsanitize=thread"},
	{"libclang_rt.msan", "__msan_init", "-fsanitize=memory"},
};

#define SANITIZERS (sizeof(sanitizers) / sizeof(sanitizers[0]))

/* The state of a search. */
struct search {
	struct elf elf;
	struct elf_table sections, table;
	/* All strings of the symbol table. They are loaded as a whole, because a program's symbols
	 * do not come in the order of their names. */
	char *strings;
	size_t strings_size;
};

/* Finds the first section of this type, and loads its strings. */
static bool find_section(struct search *search, uint32_t type, struct elf_section *ret_section)
{
	struct elf_section strings;

	free(search->strings);
	search->strings = NULL;
	if (!elf_section_find(&search->sections, type, ret_section) ||
	    !elf_section_at(&search->sections, ret_section->link, &strings) || !strings.size ||
	    strings.size >= STRINGS_MAX)
		return false;
	search->strings_size = (size_t)strings.size;
	search->strings = malloc(search->strings_size);
	if (!search->strings || elf_read(&search->elf, strings.offset, search->strings,
					 search->strings_size) != search->strings_size)
		return false;
	search->strings[search->strings_size - 1] = '\0';
	return true;
}

static const char *string_at(const struct search *search, uint64_t offset)
{
	return offset < search->strings_size ? search->strings + offset : "";
}

static const struct sanitizer *by_library(struct search *search, const char **ret_proof)
{
	struct elf_section section;
	struct elf_dynamic entry;

	if (!find_section(search, SHT_DYNAMIC, &section))
		return NULL;
	elf_open_dynamic(&search->table, &search->elf, &section);
	for (uint64_t i = 0; elf_dynamic_at(&search->table, i, &entry) && entry.tag != DT_NULL;
	     i++) {
		*ret_proof = string_at(search, entry.value);
		for (unsigned k = 0; entry.tag == DT_NEEDED && k < SANITIZERS; k++)
			if (!strncmp(*ret_proof, sanitizers[k].library,
				     strlen(sanitizers[k].library)))
				return &sanitizers[k];
	}
	return NULL;
}

static const struct sanitizer *sanitizer_by_name(const char *symbol)
{
	for (unsigned i = 0; symbol[0] == '_' && symbol[1] == '_' && i < SANITIZERS; i++)
		if (!strcmp(symbol, sanitizers[i].symbol))
			return &sanitizers[i];
	return NULL;
}

/* Finds a sanitizer's symbol that the table defines. */
static const struct sanitizer *by_symbol(struct search *search, uint32_t type,
					 const char **ret_proof)
{
	const struct sanitizer *found = NULL;
	struct elf_section section;
	struct elf_symbol symbol;

	if (!find_section(search, type, &section))
		return NULL;
	elf_open_symbols(&search->table, &search->elf, &section);
	for (uint64_t i = 0; !found && elf_symbol_at(&search->table, i, &symbol); i++) {
		*ret_proof = string_at(search, symbol.name);
		found = symbol.section != SHN_UNDEF ? sanitizer_by_name(*ret_proof) : NULL;
	}
	return found;
}

const char *sanitizer_of(int fd, char *ret_proof, size_t size)
{
	const struct sanitizer *found;
	struct search search;
	const char *proof = "";

	if (elf_open_file(&search.elf, fd) < 0)
		return NULL;
	elf_open_sections(&search.sections, &search.elf);
	search.strings = NULL;
	found = by_library(&search, &proof);
	found = found ? found : by_symbol(&search, SHT_DYNSYM, &proof);
	found = found ? found : by_symbol(&search, SHT_SYMTAB, &proof);
	if (found)
		snprintf(ret_proof, size, "%s", proof);
	free(search.strings);
	return found ? found->option : NULL;
}
