/* Finds the starts of functions. See extents.h. */
#include "agent/ebpf/extents.h"

#include <string.h>

#include "base/ban.h"

#define HEAD	     12 /* version, three encodings, distance of .eh_frame, count */
#define PAIR	     8
#define SYMBOLS_MAX  (256u << 10)
#define LOOKS_MAX    200
#define ABSOLUTE_4   0x03 /* DW_EH_PE_udata4: encoding of the count */
#define FROM_TABLE_4 0x3b /* DW_EH_PE_datarel | DW_EH_PE_sdata4: encoding of the pairs */

static bool has_few_symbols(const struct elf_symbols *file)
{
	ElfW(Shdr) section;

	for (unsigned i = 0; elf_symbols_section(file, i, &section); i++)
		if (section.sh_type == SHT_SYMTAB)
			return section.sh_size / sizeof(ElfW(Sym)) <= SYMBOLS_MAX;
	return false;
}

void extents_open(struct extents *extents, struct elf_symbols *file)
{
	uint8_t head[HEAD];
	ElfW(Phdr) segment;
	uint32_t count;

	*extents = (struct extents){.file = file};
	extents->looks = has_few_symbols(file) ? LOOKS_MAX : 0;
	for (unsigned i = 0; elf_symbols_segment(file, i, &segment); i++) {
		if (segment.p_type != PT_GNU_EH_FRAME || segment.p_filesz < sizeof(head) ||
		    !elf_symbols_read(file, segment.p_offset, head, sizeof(head)))
			continue;
		if (head[0] != 1 || head[2] != ABSOLUTE_4 || head[3] != FROM_TABLE_4 ||
		    (head[1] & 0xf) != (FROM_TABLE_4 & 0xf))
			continue;
		extents->address = segment.p_vaddr;
		extents->offset = segment.p_offset + HEAD;
		memcpy(&count, head + 8, sizeof(count));
		extents->count = count;
		if (extents->count > (segment.p_filesz - HEAD) / PAIR)
			extents->count = (segment.p_filesz - HEAD) / PAIR;
		return;
	}
}

bool extents_known(const struct extents *extents)
{
	return extents->count || extents->looks;
}

static bool read_begin(const struct extents *extents, uint64_t i, uint64_t *ret)
{
	int32_t distance;

	if (!elf_symbols_read(extents->file, extents->offset + i * PAIR, &distance,
			      sizeof(distance)))
		return false;
	*ret = extents->address + (uint64_t)(int64_t)distance;
	return true;
}

static void search_table(struct extents *extents, uint64_t address)
{
	uint64_t first = 0, last = extents->count, begin;

	while (first < last) { /* finds the first pair beyond the address */
		uint64_t middle = first + (last - first) / 2;

		if (!read_begin(extents, middle, &begin))
			return;
		if (begin <= address)
			first = middle + 1;
		else
			last = middle;
	}
	if (!first || !read_begin(extents, first - 1, &extents->low))
		return;
	if (first == extents->count || !read_begin(extents, first, &extents->high))
		extents->high = UINT64_MAX;
}

static bool compare_symbol(void *context, const ElfW(Sym) * symbol, const char *name)
{
	struct extents *extents = context;

	(void)name;
	if (symbol->st_value <= extents->asked && symbol->st_value > extents->low)
		extents->low = symbol->st_value;
	if (symbol->st_value > extents->asked && symbol->st_value < extents->high)
		extents->high = symbol->st_value;
	return false;
}

static void search_symbols(struct extents *extents, uint64_t address)
{
	if (!extents->looks)
		return;
	extents->looks--;
	extents->asked = address;
	extents->high = UINT64_MAX;
	elf_symbols_walk(extents->file, SHT_SYMTAB, false, compare_symbol, extents);
}

bool extents_begin(struct extents *extents, uint64_t address)
{
	if (extents->low > address || address >= extents->high) {
		extents->low = extents->high = 0;
		if (extents->count)
			search_table(extents, address);
		else
			search_symbols(extents, address);
	}
	return address == extents->low;
}
