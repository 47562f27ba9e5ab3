#pragma once
/*
 * Reads ELF files of both classes and both byte orders. Format: System V ABI, chapters 4 (header,
 * sections, symbols) and 5 (segments).
 *
 *	struct elf		the header: positions of the tables, class and byte order
 *	struct elf_window	a part of the file, of which one block is in memory
 *	struct elf_table	a window on entries of equal size: segments, sections, symbols...
 *
 * A file may have any size and any content, and may change while it is read. The reader therefore
 * checks every offset and count before it uses them, treats data beyond the end of the file as
 * absent, and limits the reads of each window. It does not allocate. It reads tables in blocks, not
 * entry by entry.
 *
 * The extended numbering of sections and segments is not supported. A file with more than 65,279
 * sections appears to have none; only object files have so many, not programs.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads bytes of the file. Returns the number of bytes read, which is below `size` only at the end
 * of the file; or a negative errno. The reader never asks for bytes beyond the offset INT64_MAX.
 */
typedef ssize_t elf_read_function(void *context, uint64_t offset, void *to, size_t size);

/* The position of a table, from the header. */
struct elf_place {
	uint64_t offset;
	uint16_t entry, count; /* size of an entry in bytes; number of entries */
};

struct elf {
	elf_read_function *read;
	void *context;
	bool wide, big; /* 64 bits; big-endian */
	uint16_t machine;
	uint64_t entry; /* link-time address of the entry point; 0: none */
	struct elf_place segments, sections;
	uint16_t names; /* number of the section that has the sections' names */
};

/*
 * Reads the header. `context` is passed to `read`. There is nothing to close. Returns 0, -ENOEXEC
 * if this is not an ELF file of a known class and byte order, or the error that `read` returned.
 */
int elf_open(struct elf *ret_elf, elf_read_function *read, void *context);

/* Does the same for an open file. The caller closes the descriptor after the last use of
 * `ret_elf`. */
int elf_open_file(struct elf *ret_elf, int fd);

/* True if the file has the class and byte order of this process. */
bool elf_is_native(const struct elf *elf);

/* Reads bytes of the file. Returns the number of bytes read, which is below `size` if the file ends
 * or cannot be read. */
size_t elf_read(const struct elf *elf, uint64_t offset, void *to, size_t size);

/* ---- windows ---- */

#define ELF_BLOCK    16384u
#define ELF_NAME_MAX 64 /* names from this length on may be truncated */
/* Most reads of a window. Bounds the work on files with overlapping, scattered or unsorted parts.
 */
#define ELF_READS_MAX 8192u

struct elf_window {
	const struct elf *elf;
	uint64_t offset, size; /* of the part in the file */
	uint64_t at;	       /* offset of the block in the part */
	size_t length;	       /* of the block */
	unsigned reads_left;   /* the caller may lower it */
	uint8_t block[ELF_BLOCK + 1];
};

/* Opens an empty window; `elf` must outlive it. */
void elf_window_init(struct elf_window *window, const struct elf *elf);

/* Moves the window to another part of the file, without reading. The part may lie outside the file.
 */
void elf_window_set(struct elf_window *window, uint64_t offset, uint64_t size);

/*
 * Returns `size` bytes (at most ELF_BLOCK) at offset `at` of the part, valid until the next call.
 * Returns NULL if they are not all in the part and in the file, or if the window has reached its
 * limit of reads.
 */
const uint8_t *elf_window_bytes(struct elf_window *window, uint64_t at, size_t size);

/* Returns the string at offset `at` of a part that is a string table. Returns NULL under the
 * conditions of elf_window_bytes. */
const char *elf_window_string(struct elf_window *window, uint64_t at);

/* Decodes a 32-bit number in the file's byte order. */
uint32_t elf_u32(const struct elf *elf, const uint8_t *from);

/* ---- tables ---- */

struct elf_segment {
	uint32_t type, flags; /* PT_, PF_ */
	uint64_t offset, address, file_size, memory_size;
};

struct elf_section {
	uint32_t name; /* offset in the names */
	uint32_t type; /* SHT_ */
	uint64_t flags, address, offset, size;
	uint32_t link;
};

struct elf_symbol {
	uint32_t name;	       /* offset in the string table */
	uint8_t type, binding; /* STT_, STB_ */
	uint16_t section;
	uint64_t value, size;
};

struct elf_relocation {
	uint64_t offset;
	uint32_t symbol; /* 0: none */
};

struct elf_dynamic {
	uint64_t tag, value; /* DT_ */
};

struct elf_table {
	struct elf_window window;
	uint64_t entry, count;
};

/* Open the table of segments or of sections. The table is empty if its entries are too small. */
void elf_open_segments(struct elf_table *table, const struct elf *elf);
void elf_open_sections(struct elf_table *table, const struct elf *elf);

/* Open the table in a section: symbols (SHT_SYMTAB, SHT_DYNSYM), relocations with addends
 * (SHT_RELA) or dynamic entries (SHT_DYNAMIC). The caller has checked the type. */
void elf_open_symbols(struct elf_table *table, const struct elf *elf,
		      const struct elf_section *section);
void elf_open_relocations(struct elf_table *table, const struct elf *elf,
			  const struct elf_section *section);
void elf_open_dynamic(struct elf_table *table, const struct elf *elf,
		      const struct elf_section *section);

/* Read the entry with this number. Return false after the last entry, or if the entry lies outside
 * the file. */
bool elf_segment_at(struct elf_table *table, uint64_t number, struct elf_segment *ret);
bool elf_section_at(struct elf_table *table, uint64_t number, struct elf_section *ret);
bool elf_symbol_at(struct elf_table *table, uint64_t number, struct elf_symbol *ret);
bool elf_relocation_at(struct elf_table *table, uint64_t number, struct elf_relocation *ret);
bool elf_dynamic_at(struct elf_table *table, uint64_t number, struct elf_dynamic *ret);

/* Finds the first section of a type. */
bool elf_section_find(struct elf_table *sections, uint32_t type, struct elf_section *ret);

/* True if the file has a section of this name. `name` is shorter than ELF_NAME_MAX. */
bool elf_has_section(const struct elf *elf, const char *name);

/* Opens the string table that `section` refers to (sh_link). The window is empty if there is none.
 */
void elf_open_strings(struct elf_window *window, struct elf_table *sections,
		      const struct elf_section *section);

/* Opens the string table of section names. The window is empty if there is none. */
void elf_open_section_names(struct elf_window *window, struct elf_table *sections);
