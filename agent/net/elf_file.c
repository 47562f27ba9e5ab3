/* Examines ELF files. See elf_file.h. */
#include "agent/net/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/ban.h"

#define HEADERS_MAX	 64 /* program headers that are read */
#define SECTIONS_MAX	 4096
#define NOTES_MAX	 2048 /* bytes of a note section or segment that are read */
#define SECTION_NAME_MAX 20   /* length of the longest section name of interest, rounded up */

struct elf {
	int fd;
	bool wide, big; /* 64 bits; big-endian */
	uint8_t header[sizeof(Elf64_Ehdr)];
};

struct table {
	uint64_t offset, entry, count;
};

struct section {
	uint32_t name, type;
	uint64_t offset, size;
};

/* Returns how many bytes were read. */
static size_t read_at(int fd, void *to, size_t size, uint64_t offset)
{
	ssize_t n = offset <= INT64_MAX ? pread(fd, to, size, (off_t)offset) : -1;

	return n > 0 ? (size_t)n : 0;
}

static uint64_t number(const struct elf *e, const uint8_t *p, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value = value << 8 | p[e->big ? i : bytes - 1 - i];
	return value;
}

/* Returns a field that is as wide as an address. It is at `narrow` in the 32-bit form of a
 * structure, and at `wide` in the 64-bit form. */
static uint64_t word(const struct elf *e, const uint8_t *p, unsigned narrow, unsigned wide)
{
	return e->wide ? number(e, p + wide, 8) : number(e, p + narrow, 4);
}

/* Gets the offset of the i-th entry. Returns false if there is no such entry. */
static bool place_of(const struct table *t, uint64_t i, uint64_t *ret_offset)
{
	return i < t->count && !__builtin_add_overflow(t->offset, i * t->entry, ret_offset);
}

/* Searches notes for NT_GNU_BUILD_ID. A note is: name size, data size, type, name, data; the last
 * two are padded to 4 bytes. */
static void take_build_id(const struct elf *e, uint64_t offset, uint64_t size,
			  struct elf_file *file)
{
	uint8_t notes[NOTES_MAX];
	uint64_t at = 0, length;

	if (file->build_id_length)
		return;
	length = read_at(e->fd, notes, size < sizeof(notes) ? (size_t)size : sizeof(notes), offset);
	while (at + 12 <= length) {
		uint64_t name_size = number(e, notes + at, 4),
			 data_size = number(e, notes + at + 4, 4);
		uint64_t data = at + 12 + ((name_size + 3) & ~3ull);

		if (data > length || data_size > length - data)
			return;
		if (number(e, notes + at + 8, 4) == NT_GNU_BUILD_ID && name_size == 4 &&
		    !memcmp(notes + at + 12, "GNU", 4) && data_size &&
		    data_size <= sizeof(file->build_id)) {
			memcpy(file->build_id, notes + data, data_size);
			file->build_id_length = (uint32_t)data_size;
			return;
		}
		at = data + ((data_size + 3) & ~3ull);
	}
}

static void read_segments(const struct elf *e, struct elf_file *file)
{
	struct table t = {word(e, e->header, 28, 32), number(e, e->header + (e->wide ? 54 : 42), 2),
			  number(e, e->header + (e->wide ? 56 : 44), 2)};
	size_t least = e->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	uint8_t p[sizeof(Elf64_Phdr)];
	uint64_t offset;

	for (uint64_t i = 0; t.entry >= least && i < HEADERS_MAX && place_of(&t, i, &offset); i++) {
		if (read_at(e->fd, p, least, offset) != least)
			return;
		if (number(e, p, 4) == PT_NOTE)
			take_build_id(e, word(e, p, 4, 8), word(e, p, 16, 32), file);
	}
}

static bool read_section(const struct elf *e, const struct table *t, uint64_t i,
			 struct section *ret)
{
	size_t least = e->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	uint8_t p[sizeof(Elf64_Shdr)];
	uint64_t offset;

	if (t->entry < least || !place_of(t, i, &offset) ||
	    read_at(e->fd, p, least, offset) != least)
		return false;
	*ret = (struct section){(uint32_t)number(e, p, 4), (uint32_t)number(e, p + 4, 4),
				word(e, p, 16, 24), word(e, p, 20, 32)};
	return true;
}

/* The section has a file name with its NUL, padded to a multiple of four, and a CRC. */
static void take_debuglink(const struct elf *e, const struct section *s, struct elf_file *file)
{
	char name[ELF_DEBUGLINK_MAX + 1];
	size_t size = s->size < sizeof(name) ? (size_t)s->size : sizeof(name);
	size_t length = read_at(e->fd, name, size, s->offset);

	if (!memchr(name, 0, length) || !name[0] || strchr(name, '/'))
		return;
	memcpy(file->debuglink, name, strlen(name) + 1);
}

/* A separate debug file has the program's symbol tables only as headers without data
 * (SHT_NOBITS). */
static void take_section(const struct elf *e, const struct section *names, const struct section *s,
			 struct elf_file *file)
{
	char name[SECTION_NAME_MAX + 1] = "";

	if (s->type == SHT_NOTE)
		take_build_id(e, s->offset, s->size, file);
	if (s->type == SHT_SYMTAB || s->type == SHT_DYNSYM)
		file->names |= s->size > 0;
	if (s->type != SHT_PROGBITS || !s->size || s->name >= names->size)
		return;
	name[read_at(e->fd, name, SECTION_NAME_MAX, names->offset + s->name)] = 0;
	if (!strcmp(name, ".gnu_debuglink"))
		take_debuglink(e, s, file);
	file->names |= !strcmp(name, ".gnu_debugdata");
	file->debug_info |= !strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info");
}

static void read_sections(const struct elf *e, struct elf_file *file)
{
	struct table t = {word(e, e->header, 32, 40), number(e, e->header + (e->wide ? 58 : 46), 2),
			  number(e, e->header + (e->wide ? 60 : 48), 2)};
	struct section names = {0}, s;

	if (!read_section(e, &t, number(e, e->header + (e->wide ? 62 : 50), 2), &names))
		names = (struct section){0};
	for (uint64_t i = 0; i < SECTIONS_MAX && read_section(e, &t, i, &s); i++)
		take_section(e, &names, &s, file);
	file->names |= file->debug_info;
}

int elf_file_read(int fd, struct elf_file *ret_file)
{
	struct elf e = {.fd = fd};

	*ret_file = (struct elf_file){0};
	if (read_at(fd, e.header, sizeof(e.header), 0) != sizeof(e.header) ||
	    memcmp(e.header, ELFMAG, SELFMAG))
		return -ENOEXEC;
	e.wide = e.header[EI_CLASS] == ELFCLASS64;
	e.big = e.header[EI_DATA] == ELFDATA2MSB;
	if ((!e.wide && e.header[EI_CLASS] != ELFCLASS32) ||
	    (!e.big && e.header[EI_DATA] != ELFDATA2LSB))
		return -ENOEXEC;
	/* Sections have priority: in a separate debug file the program headers still describe the
	 * program, and point to other data. */
	read_sections(&e, ret_file);
	read_segments(&e, ret_file);
	return 0;
}
