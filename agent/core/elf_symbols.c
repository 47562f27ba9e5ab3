/* Reads ELF symbols. See elf_symbols.h. Format: ELF specification, "Sections" and "Symbol
 * Table". */
#include "agent/core/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ban.h"

#define SECTIONS_MAX 4096
#define HEADERS_MAX  64
/* Of all segments; a sparse file can claim any size. */
#define CODE_MAX	 (512u << 20)
#define SYMBOLS_MAX	 (4u << 20)
#define SYMBOLS_EACH	 1024
#define WINDOW		 (32u << 10)
#define WINDOW_MOVES_MAX 4096 /* limits the work for a file with many badly sorted names */

#define OWN_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)
#define OWN_DATA  (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

static bool read_at(int fd, void *out, size_t size, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, out, size, (off_t)offset) == (ssize_t)size;
}

/* Returns true if the file contains the whole segment, and if this segment and the `before` bytes
 * of earlier segments together are small enough to be searched. */
static bool is_there(const ElfW(Phdr) * header, uint64_t before, const struct stat *file)
{
	uint64_t size = (uint64_t)file->st_size;

	return header->p_offset <= size && header->p_filesz <= size - header->p_offset &&
	       header->p_filesz <= CODE_MAX - before;
}

int elf_symbols_open(struct elf_symbols *file, int fd)
{
	ElfW(Phdr) header;
	uint64_t code = 0;
	struct stat stat;

	*file = (struct elf_symbols){.fd = fd};
	if (fstat(fd, &stat) < 0)
		return -errno;
	if (!read_at(fd, &file->head, sizeof(file->head), 0) ||
	    memcmp(file->head.e_ident, ELFMAG, SELFMAG) ||
	    file->head.e_ident[EI_CLASS] != OWN_CLASS || file->head.e_ident[EI_DATA] != OWN_DATA ||
	    file->head.e_phentsize != sizeof(header))
		return -ENOEXEC;
	for (unsigned i = 0; i < file->head.e_phnum && i < HEADERS_MAX; i++) {
		if (!read_at(fd, &header, sizeof(header), file->head.e_phoff + i * sizeof(header)))
			return -ENOEXEC;
		if (header.p_type != PT_LOAD || !(header.p_flags & PF_X) ||
		    file->segment_count == ELF_SEGMENTS_MAX)
			continue;
		if (!is_there(&header, code, &stat))
			return -ENOEXEC;
		code += header.p_filesz;
		file->segment[file->segment_count++] =
			(struct elf_segment){header.p_vaddr, header.p_filesz, header.p_offset};
	}
	return 0;
}

bool elf_symbols_section(const struct elf_symbols *file, unsigned index, ElfW(Shdr) * ret)
{
	return index < file->head.e_shnum && index < SECTIONS_MAX &&
	       file->head.e_shentsize == sizeof(*ret) &&
	       read_at(file->fd, ret, sizeof(*ret), file->head.e_shoff + index * sizeof(*ret));
}

bool elf_symbols_segment(const struct elf_symbols *file, unsigned index, ElfW(Phdr) * ret)
{
	return index < file->head.e_phnum && index < HEADERS_MAX &&
	       read_at(file->fd, ret, sizeof(*ret), file->head.e_phoff + index * sizeof(*ret));
}

bool elf_symbols_read(const struct elf_symbols *file, uint64_t offset, void *out, size_t size)
{
	return read_at(file->fd, out, size, offset);
}

static bool find_section(const struct elf_symbols *file, uint32_t type, ElfW(Shdr) * ret)
{
	for (unsigned i = 0; elf_symbols_section(file, i, ret); i++)
		if (ret->sh_type == type)
			return true;
	return false;
}

/* The part of the string table that is in memory. */
struct window {
	uint64_t offset; /* of the string table in the file */
	uint64_t size;
	uint64_t at; /* offset of the part in the string table */
	size_t length;
	unsigned moves;
	char text[WINDOW + 1];
};

/* Returns NULL if the name lies outside of the string table, or if the window has moved too
 * often. */
static const char *name_at(struct window *w, int fd, uint64_t name)
{
	uint64_t at = name;
	ssize_t got;

	if (at >= w->size)
		return NULL;
	if (!w->length || at < w->at || at - w->at >= w->length ||
	    (w->at + w->length < w->size && at - w->at + ELF_NAME_MAX > w->length)) {
		size_t want;

		if (w->size <= WINDOW)
			at = 0;
		want = w->size - at < WINDOW ? (size_t)(w->size - at) : WINDOW;
		if (++w->moves > WINDOW_MOVES_MAX || w->offset > INT64_MAX - at)
			return NULL;
		got = pread(fd, w->text, want, (off_t)(w->offset + at));
		if (got <= 0)
			return NULL;
		w->at = at;
		w->length = (size_t)got;
		w->text[got] = '\0';
	}
	return name < w->at + w->length ? w->text + (name - w->at) : NULL;
}

static bool is_code(const ElfW(Sym) * symbol)
{
	unsigned type = symbol->st_info & 0xf;

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_shndx < SHN_LORESERVE && symbol->st_value;
}

/* Dynamic symbols are sorted by hash, their names are not. Sorting symbols by name offset keeps the
 * window from moving back and forth. */
static int compare_names(const void *a, const void *b)
{
	const ElfW(Sym) *first = a, *second = b;

	return first->st_name < second->st_name ? -1 : first->st_name > second->st_name;
}

/* Moves function symbols to the front. Returns their number. */
static size_t keep_code(ElfW(Sym) * symbol, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (is_code(&symbol[i]))
			symbol[kept++] = symbol[i];
	return kept;
}

void elf_symbols_walk(struct elf_symbols *file, uint32_t type, bool named,
		      bool (*each)(void *context, const ElfW(Sym) * symbol, const char *name),
		      void *context)
{
	static ElfW(Sym) symbol[SYMBOLS_EACH];
	static struct window window;
	ElfW(Shdr) table, strings;
	uint64_t count;
	size_t kept;

	if (!find_section(file, type, &table) ||
	    !elf_symbols_section(file, table.sh_link, &strings))
		return;
	window.offset = strings.sh_offset;
	window.size = strings.sh_size;
	window.at = window.length = window.moves = 0;
	count = table.sh_size / sizeof(symbol[0]);
	if (count > SYMBOLS_MAX)
		return;
	for (uint64_t done = 0, part; done < count; done += part) {
		part = count - done < SYMBOLS_EACH ? count - done : SYMBOLS_EACH;
		if (!read_at(file->fd, symbol, (size_t)part * sizeof(symbol[0]),
			     table.sh_offset + done * sizeof(symbol[0])))
			return;
		kept = keep_code(symbol, (size_t)part);
		if (named)
			qsort(symbol, kept, sizeof(symbol[0]), compare_names);
		for (size_t i = 0; i < kept; i++) {
			const char *name =
				named ? name_at(&window, file->fd, symbol[i].st_name) : "";

			if (!name || each(context, &symbol[i], name))
				return;
		}
	}
}

size_t elf_symbols_code(const struct elf_symbols *file, uint64_t address, uint8_t *out, size_t size)
{
	for (unsigned i = 0; i < file->segment_count; i++) {
		const struct elf_segment *s = &file->segment[i];
		uint64_t into = address - s->address;
		ssize_t got;

		if (address < s->address || into >= s->size || s->offset > INT64_MAX - into)
			continue;
		if (size > s->size - into)
			size = (size_t)(s->size - into);
		got = pread(file->fd, out, size, (off_t)(s->offset + into));
		return got > 0 ? (size_t)got : 0;
	}
	return 0;
}
