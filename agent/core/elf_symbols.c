/* Reads ELF symbols. See elf_symbols.h. */
#include "agent/core/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/ban.h"

/* The most bytes of all segments together; a sparse file can claim any size. */
#define CODE_MAX       (512u << 20)
#define SYMBOLS_MAX    (4u << 20)
#define SYMBOLS_EACH   2048
#define NAME_READS_MAX 4096 /* limits the work for a file with many badly sorted names */

/* The state of a walk; static because of its size. */
static struct walk {
	struct elf_table sections, symbols;
	struct elf_window names;
	struct elf_symbol symbol[SYMBOLS_EACH]; /* of a piece of the table: those of functions */
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

/* Dynamic symbols are sorted by hash, their names are not. Sorting symbols by name offset keeps the
 * window from moving back and forth. */
static int compare_names(const void *a, const void *b)
{
	const struct elf_symbol *first = a, *second = b;

	return first->name < second->name ? -1 : first->name > second->name;
}

/* Reads the function symbols of a piece of the table, which ends at number `end`. Returns how many
 * there are, or a negative number if the file does not contain the whole piece. */
static int elf_symbols_read_piece(uint64_t from, uint64_t end)
{
	int kept = 0;

	for (uint64_t i = from; i < end; i++) {
		if (!elf_symbol_at(&walk.symbols, i, &walk.symbol[kept]))
			return -1;
		kept += elf_symbols_is_code(&walk.symbol[kept]);
	}
	return kept;
}

void elf_symbols_walk(const struct elf_symbols *file, uint32_t type, bool named,
		      bool (*each)(void *context, const struct elf_symbol *symbol,
				   const char *name),
		      void *context)
{
	struct elf_section table;
	uint64_t count;

	elf_open_sections(&walk.sections, &file->elf);
	if (!elf_section_find(&walk.sections, type, &table))
		return;
	elf_open_symbols(&walk.symbols, &file->elf, &table);
	elf_open_strings(&walk.names, &walk.sections, &table);
	walk.names.reads_left = NAME_READS_MAX;
	count = walk.symbols.count;
	for (uint64_t done = 0; count <= SYMBOLS_MAX && done < count; done += SYMBOLS_EACH) {
		uint64_t left = count - done;
		int kept = elf_symbols_read_piece(
			done, done + (left < SYMBOLS_EACH ? left : SYMBOLS_EACH));

		if (kept < 0)
			return;
		if (named)
			qsort(walk.symbol, (size_t)kept, sizeof(walk.symbol[0]), compare_names);
		for (int i = 0; i < kept; i++) {
			const char *name =
				named ? elf_window_string(&walk.names, walk.symbol[i].name) : "";

			if (!name || each(context, &walk.symbol[i], name))
				return;
		}
	}
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
