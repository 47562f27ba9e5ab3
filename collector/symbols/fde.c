/*
 * Ranges of functions. fde.h describes the interface.
 *
 * .eh_frame has an entry (FDE) for each function, or part of one that the compiler moved away. It
 * points to a CIE, whose augmentation says how addresses are written (LSB, exception frames;
 * DW_EH_PE_*). .ARM.exidx has a word of 31 bits for the beginning of each function, relative to its
 * own place; a function ends where the next one begins (ARM EHABI, section 5).
 */
#include "collector/symbols/fde.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ban.h"

#define RANGES_MAX (1u << 24)
#define NO_CIE	   UINT64_MAX

static int fde_add(struct fde_table *t, uint64_t start, uint64_t end)
{
	if (end <= start || t->count == RANGES_MAX)
		return 0;
	if (t->count == t->capacity) {
		size_t capacity = t->capacity ? t->capacity * 2 : 1024;
		struct fde_range *list = reallocarray(t->list, capacity, sizeof(*list));

		if (!list)
			return -ENOMEM;
		t->list = list;
		t->capacity = capacity;
	}
	t->list[t->count++] = (struct fde_range){start, end};
	return 0;
}

/* ---- .eh_frame ---- */

struct frames {
	const uint8_t *ident; /* identification of the ELF file */
	const uint8_t *data;
	size_t length;
	uint64_t address; /* address of the data */
	uint64_t cie;	  /* offset of the CIE that was read last */
	uint8_t encoding; /* encoding of addresses, from that CIE */
};

static unsigned word_bytes(const struct frames *f)
{
	return f->ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
}

/* Returns the bytes of a value with this encoding; 0: the length varies. */
static unsigned encoded_bytes(const struct frames *f, uint8_t encoding)
{
	switch (encoding & 7) {
	case DW_EH_PE_absptr:
		return word_bytes(f);
	case DW_EH_PE_udata2:
		return 2;
	case DW_EH_PE_udata4:
		return 4;
	case DW_EH_PE_udata8:
		return 8;
	}
	return 0;
}

static uint64_t get_word(const struct frames *f, const uint8_t *at, unsigned bytes, bool is_signed)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i]
			 << 8 * (f->ident[EI_DATA] == ELFDATA2MSB ? bytes - 1 - i : i);
	if (is_signed && bytes < 8 && value >> (8 * bytes - 1))
		value |= UINT64_MAX << 8 * bytes;
	return value;
}

/* Reads the encoding of addresses from the augmentation: 'z', then a letter for each item of its
 * data. */
static uint8_t encoding_of(const struct frames *f, const Dwarf_CIE *cie)
{
	const uint8_t *at = cie->augmentation_data, *end = at + cie->augmentation_data_size;

	if (!cie->augmentation || cie->augmentation[0] != 'z')
		return DW_EH_PE_absptr;
	for (const char *c = cie->augmentation + 1; *c && at && at < end; c++) {
		if (*c == 'R')
			return *at;
		if (*c == 'L')
			at++;
		else if (*c == 'P')
			at += 1 + encoded_bytes(f, *at);
		else if (*c != 'S' && *c != 'B')
			return DW_EH_PE_omit;
	}
	return DW_EH_PE_absptr;
}

static void read_cie(struct frames *f, uint64_t offset)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;
	Elf_Data data = {.d_buf = (void *)(uintptr_t)f->data, .d_size = f->length};

	if (offset == f->cie)
		return;
	f->cie = offset;
	f->encoding = DW_EH_PE_omit;
	if (dwarf_next_cfi(f->ident, &data, true, offset, &next, &entry) == 0 &&
	    dwarf_cfi_cie_p(&entry))
		f->encoding = encoding_of(f, &entry.cie);
}

static int add_fde(struct frames *f, const Dwarf_FDE *fde, struct fde_table *table)
{
	unsigned bytes;
	uint64_t start, length;

	read_cie(f, fde->CIE_pointer);
	bytes = f->encoding == DW_EH_PE_omit ? 0 : encoded_bytes(f, f->encoding);
	if (!bytes || (f->encoding & 0x70 && (f->encoding & 0x70) != DW_EH_PE_pcrel) ||
	    f->encoding & DW_EH_PE_indirect || fde->end - fde->start < 2 * (ptrdiff_t)bytes)
		return 0;
	start = get_word(f, fde->start, bytes, f->encoding & DW_EH_PE_signed);
	if ((f->encoding & 0x70) == DW_EH_PE_pcrel)
		start += f->address + (uint64_t)(fde->start - f->data);
	if (word_bytes(f) == 4)
		start = (uint32_t)start;
	length = get_word(f, fde->start + bytes, bytes, false);
	return start && length <= UINT64_MAX - start ? fde_add(table, start, start + length) : 0;
}

static int load_eh_frame(const uint8_t *ident, const GElf_Shdr *header, Elf_Data *data,
			 struct fde_table *table)
{
	struct frames f = {.ident = ident,
			   .data = data->d_buf,
			   .length = data->d_size,
			   .address = header->sh_addr,
			   .cie = NO_CIE};
	Dwarf_CFI_Entry entry;
	Dwarf_Off at = 0;
	int error = 0;

	while (!error && at < data->d_size) {
		Dwarf_Off next = 0; /* a damaged entry may leave it unset */
		int r = dwarf_next_cfi(ident, data, true, at, &next, &entry);

		if (r > 0 || next <= at)
			break;
		if (!r && !dwarf_cfi_cie_p(&entry))
			error = add_fde(&f, &entry.fde, table);
		at = next;
	}
	return error;
}

/* ---- .ARM.exidx ---- */

static int load_exidx(const uint8_t *ident, const GElf_Shdr *header, const Elf_Data *data,
		      struct fde_table *table)
{
	const struct frames f = {.ident = ident};
	const uint8_t *bytes = data->d_buf;
	uint32_t last = 0;
	int error = 0;

	for (size_t at = 0; !error && at + 8 <= data->d_size; at += 8) {
		uint32_t word = (uint32_t)get_word(&f, bytes + at, 4, false) & 0x7fffffff, start;

		word |= (word & 0x40000000) << 1; /* 31 bits, with a sign */
		start = (uint32_t)header->sh_addr + (uint32_t)at + word;
		if (last)
			error = fde_add(table, last, start);
		last = start;
	}
	return error;
}

/* ---- the file ---- */

static int by_start(const void *left, const void *right)
{
	const struct fde_range *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static int load_section(Elf *elf, Elf_Scn *section, size_t names, struct fde_table *table)
{
	const uint8_t *ident = (const uint8_t *)elf_getident(elf, NULL);
	GElf_Shdr header;
	const char *name =
		gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
	Elf_Data *data;

	if (!ident || !name || header.sh_type == SHT_NOBITS ||
	    (strcmp(name, ".eh_frame") != 0 && strcmp(name, ".ARM.exidx") != 0))
		return 0;
	data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf)
		return 0;
	return name[1] == 'e' ? load_eh_frame(ident, &header, data, table)
			      : load_exidx(ident, &header, data, table);
}

int fde_table_load(Elf *elf, struct fde_table *ret_table)
{
	Elf_Scn *section = NULL;
	size_t names;
	int error = 0;

	*ret_table = (struct fde_table){0};
	if (elf_getshdrstrndx(elf, &names))
		return 0;
	while (!error && (section = elf_nextscn(elf, section)))
		error = load_section(elf, section, names, ret_table);
	if (ret_table->count)
		qsort(ret_table->list, ret_table->count, sizeof(*ret_table->list), by_start);
	return error;
}

void fde_table_done(struct fde_table *table)
{
	free(table->list);
	*table = (struct fde_table){0};
}

const struct fde_range *fde_table_find(const struct fde_table *table, uint64_t address)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < table->list[low - 1].end ? &table->list[low - 1] : NULL;
}
