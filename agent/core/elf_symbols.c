/* Reads ELF symbols. See elf_symbols.h. */
#include "agent/core/elf_symbols.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ban.h"

/* The most bytes of all segments together; a sparse file can claim any size. */
#define CODE_MAX    (512u << 20)
#define SYMBOLS_MAX (4u << 20)
#define NAMES_MAX   (1u << 30) /* bytes of a string table */
#define FOUND_MAX   8192

/* The state of a walk; static because of its size. */
static struct walk {
	struct elf_table sections, symbols;
	struct elf_window names;
	uint8_t beginnings[8192];	  /* bits of the letters that wanted names begin with */
	uint32_t found[FOUND_MAX], count; /* offsets of wanted names, ascending */
} walk;

/* Returns true if the file contains the whole segment, and if this segment and the `before` bytes
 * of earlier segments together are small enough to be searched. */
static bool elf_symbols_is_there(const struct elf_segment *segment, uint64_t before,
				 const struct stat *file)
{
	uint64_t size = (uint64_t)file->st_size;

	return segment->offset <= size && segment->file_size <= size - segment->offset &&
	       segment->file_size <= CODE_MAX - before;
}

int elf_symbols_open(struct elf_symbols *file, int fd)
{
	struct elf_segment segment;
	struct elf_table segments;
	uint64_t code = 0;
	struct stat stat;
	int error;

	*file = (struct elf_symbols){0};
	if (fstat(fd, &stat) < 0)
		return -errno;
	error = elf_open_file(&file->elf, fd);
	if (error || !elf_is_native(&file->elf))
		return error ? error : -ENOEXEC;
	elf_open_segments(&segments, &file->elf);
	for (uint64_t i = 0; elf_segment_at(&segments, i, &segment); i++) {
		if (segment.type != PT_LOAD || !(segment.flags & PF_X) ||
		    file->segment_count == ELF_SEGMENTS_MAX)
			continue;
		if (!elf_symbols_is_there(&segment, code, &stat))
			return -ENOEXEC;
		code += segment.file_size;
		file->segment[file->segment_count++] = (struct elf_load){
			.address = segment.address,
			.offset = segment.offset,
			.size = segment.file_size,
		};
	}
	return 0;
}

bool elf_symbols_has(const struct elf_symbols *file, uint32_t type)
{
	struct elf_section section;
	struct elf_table sections;

	elf_open_sections(&sections, &file->elf);
	return elf_section_find(&sections, type, &section);
}

bool elf_symbols_section(const struct elf_symbols *file, unsigned index, ElfW(Shdr) * ret)
{
	const struct elf_place *sections = &file->elf.sections;

	return index < sections->count && sections->entry == sizeof(*ret) &&
	       elf_symbols_read(file, sections->offset + (uint64_t)index * sizeof(*ret), ret,
				sizeof(*ret));
}

bool elf_symbols_read(const struct elf_symbols *file, uint64_t offset, void *out, size_t size)
{
	return elf_read(&file->elf, offset, out, size) == size;
}

static bool elf_symbols_is_code(const struct elf_symbol *symbol)
{
	return (symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC) &&
	       symbol->section != SHN_UNDEF && symbol->section < SHN_LORESERVE && symbol->value;
}

/* ---- names ---- */

/* Dynamic symbols are sorted by hash, and their names are not. To look up each symbol's name would
 * be to read the string table again and again. So the wanted names are found first, in one pass
 * over the string table. A name may be the end of another, because linkers share ends. */

/* Returns the bit for the first three letters. The four bytes at `at` can be read. */
static uint32_t bit_of(const char *at)
{
	uint32_t letters;

	memcpy(&letters, at, sizeof(letters));
	letters = le32toh(letters) << 8;
	return letters * UINT32_C(0x9e3779b1) >> 16;
}

static void note_beginnings(const char *beginnings)
{
	memset(walk.beginnings, 0, sizeof(walk.beginnings));
	for (const char *b = beginnings; *b; b += b[3] ? 4 : 3)
		walk.beginnings[bit_of(b) / 8] |= (uint8_t)(1u << bit_of(b) % 8);
}

/* Finds the wanted names that begin in the first `size` of the bytes, which are at the offset `at`.
 * A zero byte follows the bytes. Returns false if there are too many. */
static bool find_in_piece(const struct elf_names *names, const uint8_t *bytes, size_t size,
			  uint64_t at)
{
	for (size_t i = 0; i + 3 <= size; i++) {
		const char *name = (const char *)bytes + i;
		uint32_t bit = bit_of(name);

		if (!(walk.beginnings[bit / 8] >> bit % 8 & 1) || !names->wanted(name))
			continue;
		if (walk.count == FOUND_MAX)
			return false;
		walk.found[walk.count++] = (uint32_t)(at + i);
	}
	return true;
}

/* The pieces overlap by the length of a name. */
static bool find_names(const struct elf_names *names)
{
	uint64_t size = walk.names.size;

	walk.count = 0;
	if (size > NAMES_MAX)
		return false;
	note_beginnings(names->beginnings);
	walk.names.reads_left = NAMES_MAX / (ELF_BLOCK - ELF_NAME_MAX) + 2;
	for (uint64_t at = 0; at < size;) {
		size_t length = size - at < ELF_BLOCK ? (size_t)(size - at) : ELF_BLOCK,
		       begin = at + length == size ? length : length - ELF_NAME_MAX;
		const uint8_t *bytes = elf_window_bytes(&walk.names, at, length);

		if (!bytes) /* the file ends before */
			return true;
		if (!find_in_piece(names, bytes, begin, at))
			return false;
		at += begin;
	}
	walk.names.reads_left = ELF_READS_MAX; /* for the names of symbols */
	return true;
}

static int compare_offsets(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static bool has_wanted_name(const struct elf_symbol *symbol)
{
	return bsearch(&symbol->name, walk.found, walk.count, sizeof(walk.found[0]),
		       compare_offsets);
}

/* ---- symbols ---- */

/* Returns false if the file does not contain the whole table of symbols. */
static bool table_is_there(void)
{
	struct elf_symbol last;

	return walk.symbols.count <= SYMBOLS_MAX &&
	       (!walk.symbols.count || elf_symbol_at(&walk.symbols, walk.symbols.count - 1, &last));
}

bool elf_symbols_walk(const struct elf_symbols *file, uint32_t type, const struct elf_names *names,
		      bool (*each)(void *context, const struct elf_symbol *symbol,
				   const char *name),
		      void *context)
{
	struct elf_section table;
	struct elf_symbol symbol;
	const char *name = "";

	elf_open_sections(&walk.sections, &file->elf);
	if (!elf_section_find(&walk.sections, type, &table))
		return true;
	elf_open_symbols(&walk.symbols, &file->elf, &table);
	elf_open_strings(&walk.names, &walk.sections, &table);
	if (!table_is_there())
		return true;
	if (names && !find_names(names))
		return false;
	for (uint64_t i = 0; elf_symbol_at(&walk.symbols, i, &symbol); i++) {
		if (!elf_symbols_is_code(&symbol) || (names && !has_wanted_name(&symbol)))
			continue;
		if (names)
			name = elf_window_string(&walk.names, symbol.name);
		if (!name || each(context, &symbol, name))
			break;
	}
	return true;
}

size_t elf_symbols_code(const struct elf_symbols *file, uint64_t address, uint8_t *out, size_t size)
{
	for (unsigned i = 0; i < file->segment_count; i++) {
		const struct elf_load *s = &file->segment[i];
		uint64_t into = address - s->address;

		if (address < s->address || into >= s->size)
			continue;
		if (size > s->size - into)
			size = (size_t)(s->size - into);
		return elf_read(&file->elf, s->offset + into, out, size);
	}
	return 0;
}
