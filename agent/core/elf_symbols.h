#pragma once
/*
 * The symbols of an ELF file of our own class and byte order, read in bounded memory: the file may
 * be of any size, and hold anything. One reader at a time in the process.
 */
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_SEGMENTS_MAX 16
#define ELF_NAME_MAX	 64 /* longer names are cut */

struct elf_segment {
	uint64_t address; /* p_vaddr */
	uint64_t size;	  /* bytes in the file */
	uint64_t offset;
};

struct elf_symbols {
	int fd;
	ElfW(Ehdr) head;
	unsigned segment_count; /* executable ones */
	struct elf_segment segment[ELF_SEGMENTS_MAX];
};

/* Looks at the headers; the descriptor stays the caller's. 0; -ENOEXEC: it is not such a file. */
int elf_symbols_open(struct elf_symbols *file, int fd);

/* Headers, by their numbers, and bytes of the file: false: there are none such. */
bool elf_symbols_section(const struct elf_symbols *file, unsigned index, ElfW(Shdr) * ret);
bool elf_symbols_segment(const struct elf_symbols *file, unsigned index, ElfW(Phdr) * ret);
bool elf_symbols_read(const struct elf_symbols *file, uint64_t offset, void *out, size_t size);

/* Calls `each` for every symbol of the first table of this type (SHT_DYNSYM, SHT_SYMTAB) that is
 * defined and code. With `named` the name is read, else it is "". Ends when `each` gives true. */
void elf_symbols_walk(struct elf_symbols *file, uint32_t type, bool named,
		      bool (*each)(void *context, const ElfW(Sym) * symbol, const char *name),
		      void *context);

/* Reads code at this address, at most `size` bytes: how many there are in its segment, or less; 0:
 * none. */
size_t elf_symbols_code(const struct elf_symbols *file, uint64_t address, uint8_t *out,
			size_t size);
