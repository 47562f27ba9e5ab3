/* Reads ELF files. See elf.h. The function `word` reads fields that are as wide as an address. Such
 * a field has one offset in the 32-bit form of a structure and another in the 64-bit form. */
#include "base/elf/elf.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/ban.h"

/* ---- numbers ---- */

static uint16_t u16(const struct elf *e, const uint8_t *p)
{
	uint16_t value;

	memcpy(&value, p, sizeof(value));
	return e->big ? be16toh(value) : le16toh(value);
}

uint32_t elf_u32(const struct elf *e, const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return e->big ? be32toh(value) : le32toh(value);
}

static uint64_t u64(const struct elf *e, const uint8_t *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return e->big ? be64toh(value) : le64toh(value);
}

static uint64_t word(const struct elf *e, const uint8_t *p, unsigned narrow, unsigned wide)
{
	return e->wide ? u64(e, p + wide) : elf_u32(e, p + narrow);
}

/* ---- the file ---- */

size_t elf_read(const struct elf *elf, uint64_t offset, void *to, size_t size)
{
	ssize_t got;

	if (offset > INT64_MAX || size > (uint64_t)INT64_MAX - offset)
		return 0;
	got = elf->read(elf->context, offset, to, size);
	return got > 0 ? (size_t)got : 0;
}

static struct elf_place place(const struct elf *e, const uint8_t *head, uint64_t offset,
			      unsigned sizes)
{
	return (struct elf_place){offset, u16(e, head + sizes), u16(e, head + sizes + 2)};
}

int elf_open(struct elf *ret_elf, elf_read_function *read, void *context)
{
	struct elf e = {.read = read, .context = context};
	uint8_t head[sizeof(Elf64_Ehdr)] = {0};
	ssize_t got = read(context, 0, head, sizeof(head));

	if (got < 0)
		return (int)got;
	e.wide = head[EI_CLASS] == ELFCLASS64;
	e.big = head[EI_DATA] == ELFDATA2MSB;
	if (memcmp(head, ELFMAG, SELFMAG) || (!e.wide && head[EI_CLASS] != ELFCLASS32) ||
	    (!e.big && head[EI_DATA] != ELFDATA2LSB) ||
	    (size_t)got < (e.wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)))
		return -ENOEXEC;
	e.machine = u16(&e, head + 18);
	e.entry = word(&e, head, 24, 24);
	e.segments = place(&e, head, word(&e, head, 28, 32), e.wide ? 54 : 42);
	e.sections = place(&e, head, word(&e, head, 32, 40), e.wide ? 58 : 46);
	e.names = u16(&e, head + (e.wide ? 62 : 50));
	*ret_elf = e;
	return 0;
}

static ssize_t elf_read_file(void *context, uint64_t offset, void *to, size_t size)
{
	int fd = (int)(intptr_t)context;
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(fd, (char *)to + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && !done)
			return -errno;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int elf_open_file(struct elf *ret_elf, int fd)
{
	return elf_open(ret_elf, elf_read_file, (void *)(intptr_t)fd);
}

bool elf_is_native(const struct elf *elf)
{
	return elf->wide == (sizeof(void *) == 8) &&
	       elf->big == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/* ---- windows ---- */

void elf_window_init(struct elf_window *w, const struct elf *elf)
{
	w->elf = elf;
	w->reads_left = ELF_READS_MAX;
	elf_window_set(w, 0, 0);
}

void elf_window_set(struct elf_window *w, uint64_t offset, uint64_t size)
{
	w->offset = offset;
	w->size = size;
	w->at = w->length = 0;
}

/* Reads the block at `at`. Reads the whole part if it fits into the block. */
static bool elf_fill(struct elf_window *w, uint64_t at)
{
	uint64_t size, from;

	at = w->size <= ELF_BLOCK ? 0 : at;
	size = w->size - at < ELF_BLOCK ? w->size - at : ELF_BLOCK;
	if (!w->reads_left || __builtin_add_overflow(w->offset, at, &from))
		return false;
	w->reads_left--;
	w->at = at;
	w->length = elf_read(w->elf, from, w->block, (size_t)size);
	w->block[w->length] = 0;
	return true;
}

static bool has(const struct elf_window *w, uint64_t at, size_t size)
{
	return at >= w->at && at - w->at <= w->length && size <= w->length - (at - w->at);
}

const uint8_t *elf_window_bytes(struct elf_window *w, uint64_t at, size_t size)
{
	if (has(w, at, size))
		return w->block + (at - w->at);
	if (size > ELF_BLOCK || at > w->size || size > w->size - at || !elf_fill(w, at) ||
	    !has(w, at, size))
		return NULL;
	return w->block + (at - w->at);
}

const char *elf_window_string(struct elf_window *w, uint64_t at)
{
	uint64_t left = at < w->size ? w->size - at : 0;

	if (!left)
		return NULL;
	return (const char *)elf_window_bytes(w, at,
					      left < ELF_NAME_MAX ? (size_t)left : ELF_NAME_MAX);
}

/* ---- tables ---- */

/* Opens a table of the header whose entries have `least` bytes in use. */
static void open_place(struct elf_table *t, const struct elf *elf, const struct elf_place *place,
		       size_t least)
{
	elf_window_init(&t->window, elf);
	t->entry = place->entry;
	t->count = place->entry < least ? 0 : place->count;
	elf_window_set(&t->window, place->offset, t->entry * t->count);
}

static void open_section(struct elf_table *t, const struct elf *elf,
			 const struct elf_section *section, size_t entry)
{
	elf_window_init(&t->window, elf);
	t->entry = entry;
	t->count = section->size / entry;
	elf_window_set(&t->window, section->offset, t->entry * t->count);
}

void elf_open_segments(struct elf_table *t, const struct elf *elf)
{
	open_place(t, elf, &elf->segments, elf->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
}

void elf_open_sections(struct elf_table *t, const struct elf *elf)
{
	open_place(t, elf, &elf->sections, elf->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
}

void elf_open_symbols(struct elf_table *t, const struct elf *elf, const struct elf_section *section)
{
	open_section(t, elf, section, elf->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
}

void elf_open_relocations(struct elf_table *t, const struct elf *elf,
			  const struct elf_section *section)
{
	open_section(t, elf, section, elf->wide ? sizeof(Elf64_Rela) : sizeof(Elf32_Rela));
}

void elf_open_dynamic(struct elf_table *t, const struct elf *elf, const struct elf_section *section)
{
	open_section(t, elf, section, elf->wide ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn));
}

/* Returns the bytes of an entry, of which `narrow` (32-bit file) or `wide` (64-bit file) are used.
 */
static const uint8_t *entry_at(struct elf_table *t, uint64_t number, size_t narrow, size_t wide)
{
	return number < t->count ? elf_window_bytes(&t->window, number * t->entry,
						    t->window.elf->wide ? wide : narrow)
				 : NULL;
}

bool elf_segment_at(struct elf_table *t, uint64_t number, struct elf_segment *ret)
{
	const struct elf *e = t->window.elf;
	const uint8_t *p = entry_at(t, number, sizeof(Elf32_Phdr), sizeof(Elf64_Phdr));

	if (!p)
		return false;
	*ret = (struct elf_segment){
		.type = elf_u32(e, p),
		.flags = elf_u32(e, p + (e->wide ? 4 : 24)),
		.offset = word(e, p, 4, 8),
		.address = word(e, p, 8, 16),
		.file_size = word(e, p, 16, 32),
		.memory_size = word(e, p, 20, 40),
	};
	return true;
}

bool elf_section_at(struct elf_table *t, uint64_t number, struct elf_section *ret)
{
	const struct elf *e = t->window.elf;
	const uint8_t *p = entry_at(t, number, sizeof(Elf32_Shdr), sizeof(Elf64_Shdr));

	if (!p)
		return false;
	*ret = (struct elf_section){
		.name = elf_u32(e, p),
		.type = elf_u32(e, p + 4),
		.flags = word(e, p, 8, 8),
		.address = word(e, p, 12, 16),
		.offset = word(e, p, 16, 24),
		.size = word(e, p, 20, 32),
		.link = elf_u32(e, p + (e->wide ? 40 : 24)),
	};
	return true;
}

bool elf_symbol_at(struct elf_table *t, uint64_t number, struct elf_symbol *ret)
{
	const struct elf *e = t->window.elf;
	const uint8_t *p = entry_at(t, number, sizeof(Elf32_Sym), sizeof(Elf64_Sym));
	uint8_t info;

	if (!p)
		return false;
	info = p[e->wide ? 4 : 12];
	*ret = (struct elf_symbol){
		.name = elf_u32(e, p),
		.type = info & 0xf,
		.binding = info >> 4,
		.section = u16(e, p + (e->wide ? 6 : 14)),
		.value = word(e, p, 4, 8),
		.size = word(e, p, 8, 16),
	};
	return true;
}

/* r_info has the symbol in its upper bits. On MIPS64 the symbol comes first in either byte order.
 */
static uint32_t symbol_of(const struct elf *e, const uint8_t *info)
{
	if (!e->wide)
		return elf_u32(e, info) >> 8;
	return e->machine == EM_MIPS ? elf_u32(e, info) : (uint32_t)(u64(e, info) >> 32);
}

bool elf_relocation_at(struct elf_table *t, uint64_t number, struct elf_relocation *ret)
{
	const struct elf *e = t->window.elf;
	const uint8_t *p = entry_at(t, number, sizeof(Elf32_Rela), sizeof(Elf64_Rela));

	if (!p)
		return false;
	*ret = (struct elf_relocation){word(e, p, 0, 0), symbol_of(e, p + (e->wide ? 8 : 4))};
	return true;
}

bool elf_dynamic_at(struct elf_table *t, uint64_t number, struct elf_dynamic *ret)
{
	const struct elf *e = t->window.elf;
	const uint8_t *p = entry_at(t, number, sizeof(Elf32_Dyn), sizeof(Elf64_Dyn));

	if (!p)
		return false;
	*ret = (struct elf_dynamic){word(e, p, 0, 0), word(e, p, 4, 8)};
	return true;
}

bool elf_section_find(struct elf_table *sections, uint32_t type, struct elf_section *ret)
{
	for (uint64_t i = 0; elf_section_at(sections, i, ret); i++)
		if (ret->type == type)
			return true;
	return false;
}

/* Opens the string table in section `number`. Section 0 means that there is none. */
static void open_strings(struct elf_window *w, struct elf_table *sections, uint32_t number)
{
	struct elf_section strings;

	elf_window_init(w, sections->window.elf);
	if (number && elf_section_at(sections, number, &strings))
		elf_window_set(w, strings.offset, strings.size);
}

void elf_open_strings(struct elf_window *w, struct elf_table *sections,
		      const struct elf_section *section)
{
	open_strings(w, sections, section->link);
}

void elf_open_section_names(struct elf_window *w, struct elf_table *sections)
{
	open_strings(w, sections, sections->window.elf->names);
}

bool elf_has_section(const struct elf *elf, const char *name)
{
	struct elf_section section;
	struct elf_table sections;
	struct elf_window names;

	elf_open_sections(&sections, elf);
	elf_open_section_names(&names, &sections);
	for (uint64_t i = 0; elf_section_at(&sections, i, &section); i++) {
		const char *found = elf_window_string(&names, section.name);

		if (found && !strcmp(found, name))
			return true;
	}
	return false;
}
