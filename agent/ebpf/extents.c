/* Finds the starts of functions. See extents.h. */
#include "agent/ebpf/extents.h"

#include "base/elf/elf.h"
#include "base/ban.h"

#define HEAD	     12 /* version, three encodings, distance of .eh_frame, count */
#define PAIR	     8
#define SYMBOLS_MAX  (256u << 10)
#define LOOKS_MAX    200
#define ABSOLUTE_4   0x03 /* DW_EH_PE_udata4: encoding of the count */
#define FROM_TABLE_4 0x3b /* DW_EH_PE_datarel | DW_EH_PE_sdata4: encoding of the pairs */

static bool has_few_symbols(const struct elf_symbols *file)
{
	struct elf_table table;
	struct elf_section section;

	elf_open_sections(&table, &file->elf);
	if (!elf_section_find(&table, SHT_SYMTAB, &section))
		return false;
	elf_open_symbols(&table, &file->elf, &section);
	return table.count <= SYMBOLS_MAX;
}

void extents_open(struct extents *extents, const struct elf_symbols *file)
{
	uint8_t head[HEAD];
	struct elf_segment segment;
	struct elf_table segments;

	*extents = (struct extents){.file = file};
	extents->looks = has_few_symbols(file) ? LOOKS_MAX : 0;
	elf_open_segments(&segments, &file->elf);
	for (uint64_t i = 0; elf_segment_at(&segments, i, &segment); i++) {
		if (segment.type != PT_GNU_EH_FRAME || segment.file_size < sizeof(head) ||
		    !elf_symbols_read(file, segment.offset, head, sizeof(head)))
			continue;
		if (head[0] != 1 || head[2] != ABSOLUTE_4 || head[3] != FROM_TABLE_4 ||
		    (head[1] & 0xf) != (FROM_TABLE_4 & 0xf))
			continue;
		extents->address = segment.address;
		extents->offset = segment.offset + HEAD;
		extents->count = elf_u32(&file->elf, head + 8);
		if (extents->count > (segment.file_size - HEAD) / PAIR)
			extents->count = (segment.file_size - HEAD) / PAIR;
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

	while (first < last) { /* find the first pair beyond the address */
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

static bool compare_symbol(void *context, const struct elf_symbol *symbol, const char *name)
{
	struct extents *extents = context;

	(void)name;
	if (symbol->value <= extents->asked && symbol->value > extents->low)
		extents->low = symbol->value;
	if (symbol->value > extents->asked && symbol->value < extents->high)
		extents->high = symbol->value;
	return false;
}

static void search_symbols(struct extents *extents, uint64_t address)
{
	if (!extents->looks)
		return;
	extents->looks--;
	extents->asked = address;
	extents->high = UINT64_MAX;
	elf_symbols_walk(extents->file, SHT_SYMTAB, NULL, compare_symbol, extents);
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
