/* Finds the build id and debug link of an ELF file. See elf_identity.h. */
#include "base/elf/elf_identity.h"

#include <elf.h>
#include <string.h>

#include "base/ban.h"

#define NOTE_READS_MAX ((1u << 20) / ELF_BLOCK)
#define NAME_READS_MAX ((1u << 22) / ELF_BLOCK)
#define NOTE_HEAD      12 /* name size, data size, type; name and data follow, padded to 4 bytes */
#define CRC_BYTES      4

static uint64_t padded(uint64_t size)
{
	return (size + 3) & ~3ull;
}

static bool is_build_id(struct elf_window *notes, uint64_t at, uint32_t type, uint32_t name_size)
{
	const uint8_t *name = type == NT_GNU_BUILD_ID && name_size == 4
				      ? elf_window_bytes(notes, at + NOTE_HEAD, 4)
				      : NULL;

	return name && !memcmp(name, "GNU", 4);
}

/* Searches the notes at `offset` for the build id, unless it is already known. */
static void read_notes(struct elf_window *notes, uint64_t offset, uint64_t size,
		       struct elf_identity *identity)
{
	const uint8_t *head, *id;

	if (identity->build_id_length)
		return;
	elf_window_set(notes, offset, size);
	for (uint64_t at = 0; (head = elf_window_bytes(notes, at, NOTE_HEAD));) {
		uint32_t name_size = elf_u32(notes->elf, head),
			 data_size = elf_u32(notes->elf, head + 4);
		uint64_t data = at + NOTE_HEAD + padded(name_size);

		if (data_size && data_size <= ELF_BUILD_ID_MAX &&
		    is_build_id(notes, at, elf_u32(notes->elf, head + 8), name_size)) {
			id = elf_window_bytes(notes, data, data_size);
			if (!id)
				return;
			memcpy(identity->build_id, id, data_size);
			identity->build_id_length = data_size;
			return;
		}
		at = data + padded(data_size);
	}
}

/* Reads a debug link: a file name with its NUL, padded to 4 bytes, and a CRC. */
static void read_debuglink(const struct elf *elf, const struct elf_section *s,
			   struct elf_identity *identity)
{
	uint8_t data[ELF_DEBUGLINK_MAX + 1 + CRC_BYTES];
	size_t length, crc;

	if (s->size < 2 * CRC_BYTES || s->size > sizeof(data) ||
	    elf_read(elf, s->offset, data, (size_t)s->size) != s->size)
		return;
	length = strnlen((const char *)data, (size_t)s->size);
	crc = (size_t)padded(length + 1);
	if (!length || crc + CRC_BYTES > s->size || memchr(data, '/', length))
		return;
	memcpy(identity->debuglink, data, length + 1);
	identity->debuglink_crc = elf_u32(elf, data + crc);
}

/* Returns the elf_has bit of a section name. In a separate debug file the program's symbol tables
 * are section headers without contents (SHT_NOBITS). */
static unsigned named(const char *name)
{
	if (!strcmp(name, ".gnu_debugdata"))
		return ELF_HAS_SYMBOLS;
	if (!strcmp(name, ".debug_line") || !strcmp(name, ".zdebug_line"))
		return ELF_HAS_LINES;
	if (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info"))
		return ELF_HAS_DEBUG_INFO;
	return 0;
}

static void take_section(struct elf_window *names, const struct elf_section *s,
			 struct elf_identity *identity)
{
	const char *name;

	if (s->type == SHT_SYMTAB && s->size)
		identity->has |= ELF_HAS_SYMBOLS;
	if (s->type == SHT_DYNSYM && s->size)
		identity->has |= ELF_HAS_EXPORTS;
	if (s->type != SHT_PROGBITS)
		return;
	identity->has_code |= (s->flags & SHF_EXECINSTR) != 0;
	name = s->size ? elf_window_string(names, s->name) : NULL;
	if (!name)
		return;
	identity->has |= named(name);
	if (!strcmp(name, ".gnu_debuglink"))
		read_debuglink(names->elf, s, identity);
}

void elf_identify(const struct elf *elf, struct elf_identity *ret_identity)
{
	struct elf_window names, notes;
	struct elf_table table;
	struct elf_section section;
	struct elf_segment segment;

	*ret_identity = (struct elf_identity){0};
	elf_window_init(&notes, elf);
	notes.reads_left = NOTE_READS_MAX;
	elf_open_sections(&table, elf);
	elf_open_section_names(&names, &table);
	names.reads_left = NAME_READS_MAX;
	for (uint64_t i = 0; elf_section_at(&table, i, &section); i++) {
		if (section.type == SHT_NOTE)
			read_notes(&notes, section.offset, section.size, ret_identity);
		take_section(&names, &section, ret_identity);
	}
	elf_open_segments(&table, elf);
	for (uint64_t i = 0; !ret_identity->build_id_length && elf_segment_at(&table, i, &segment);
	     i++)
		if (segment.type == PT_NOTE)
			read_notes(&notes, segment.offset, segment.file_size, ret_identity);
}
