#pragma once
/*
 * Reads the code and the function symbols of an ELF file of the agent's own class and byte order,
 * in bounded memory. The file may have any size and any content (base/elf). The process may run
 * only one elf_symbols_walk at a time, because it uses static buffers.
 */
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/elf/elf.h"
#include "base/elf/elf_load.h"

#define ELF_SEGMENTS_MAX 16

struct elf_symbols {
	struct elf elf;
	unsigned segment_count; /* executable segments */
	struct elf_load segment[ELF_SEGMENTS_MAX];
};

/* Reads the headers. The caller keeps the descriptor. Returns 0, -ENOEXEC if this is not an ELF
 * file of the agent's class and byte order, or another negative errno. */
int elf_symbols_open(struct elf_symbols *file, int fd);

/* Returns true if the file has a section of this type. */
bool elf_symbols_has(const struct elf_symbols *file, uint32_t type);

/* Reads a section header by its number, in the form of <elf.h>. Returns false if the file has no
 * such header. */
bool elf_symbols_section(const struct elf_symbols *file, unsigned index, ElfW(Shdr) * ret);

/* Reads `size` bytes of the file at `offset`. Returns false if the file has fewer. */
bool elf_symbols_read(const struct elf_symbols *file, uint64_t offset, void *out, size_t size);

/* The names that a caller looks for. */
struct elf_names {
	const char *beginnings; /* the first three letters of all of them: "mal fre _Zn" */
	bool (*wanted)(const char *name);
};

/* Calls `each` for every defined function symbol of the first table of type SHT_DYNSYM or
 * SHT_SYMTAB: for those whose name is wanted; or, if `names` is NULL, for all, with the name "".
 * Stops when `each` returns true. Returns false if there are too many names to tell. */
bool elf_symbols_walk(const struct elf_symbols *file, uint32_t type, const struct elf_names *names,
		      bool (*each)(void *context, const struct elf_symbol *symbol,
				   const char *name),
		      void *context);

/* Reads at most `size` bytes of code at `address`. Returns the number of bytes read, which may be
 * smaller at the segment's end, or 0 if no executable segment has this address. */
size_t elf_symbols_code(const struct elf_symbols *file, uint64_t address, uint8_t *out,
			size_t size);
