/* Finds the pointers to imported functions. See imports.h; ELF specification, "Relocation". */
#include "agent/ebpf/imports.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/elf/elf.h"
#include "base/ban.h"

/* The most slots of a file. No library that contains an allocator's functions has more. */
#define SLOTS_MAX (128u << 10)

static int imports_compare(const void *a, const void *b)
{
	const struct import_slot *first = a, *second = b;

	return first->address < second->address ? -1 : first->address > second->address;
}

static int read_section(struct imports *imports, uint32_t *capacity, struct elf_table *table)
{
	struct elf_relocation relocation;

	for (uint64_t i = 0; imports->count < SLOTS_MAX && elf_relocation_at(table, i, &relocation);
	     i++) {
		if (!relocation.symbol)
			continue;
		if (array_reserve(&imports->slot, capacity, imports->count + 1,
				  sizeof(imports->slot[0])))
			return -ENOMEM;
		imports->slot[imports->count++] =
			(struct import_slot){relocation.offset, relocation.symbol};
	}
	return 0;
}

/* Opens the dynamic symbols. The number of reads is not limited, because the code may have any
 * number of branches and each of them may search. */
static void open_symbols(struct imports *imports, struct elf_table *sections,
			 const struct elf_section *section)
{
	elf_open_symbols(&imports->symbols, sections->window.elf, section);
	elf_open_strings(&imports->names, sections, section);
	imports->symbols.window.reads_left = imports->names.reads_left = UINT_MAX;
}

int imports_read(struct imports *imports, const struct elf_symbols *file)
{
	struct elf_table sections, relocations;
	struct elf_section section;
	uint32_t capacity = 0;
	int error = 0;

	imports->slot = NULL;
	imports->count = 0;
	imports->symbols.count = 0;
	elf_open_sections(&sections, &file->elf);
	for (uint64_t i = 0; !error && elf_section_at(&sections, i, &section); i++) {
		if (section.type == SHT_DYNSYM)
			open_symbols(imports, &sections, &section);
		if (section.type != SHT_RELA || !(section.flags & SHF_ALLOC))
			continue;
		elf_open_relocations(&relocations, &file->elf, &section);
		error = read_section(imports, &capacity, &relocations);
	}
	if (error)
		imports_done(imports);
	else if (imports->count)
		qsort(imports->slot, imports->count, sizeof(imports->slot[0]), imports_compare);
	return error;
}

void imports_done(struct imports *imports)
{
	free(imports->slot);
	imports->slot = NULL;
	imports->count = 0;
}

/* Reads a name. A name that does not fit becomes "", because no known function has such a long
 * name. */
static void imports_read_name(struct imports *imports, uint32_t at, char name[SITE_NAME_MAX])
{
	const char *found = elf_window_string(&imports->names, at);

	snprintf(name, SITE_NAME_MAX, "%s", found && strlen(found) < SITE_NAME_MAX ? found : "");
}

bool imports_find(struct imports *imports, uint64_t slot, char ret_name[SITE_NAME_MAX],
		  uint64_t *ret_address)
{
	const struct import_slot key = {.address = slot}, *found;
	struct elf_symbol symbol;

	if (!imports->count)
		return false;
	found = bsearch(&key, imports->slot, imports->count, sizeof(key), imports_compare);
	if (!found || !elf_symbol_at(&imports->symbols, found->symbol, &symbol))
		return false;
	imports_read_name(imports, symbol.name, ret_name);
	*ret_address = symbol.section == SHN_UNDEF ? 0 : symbol.value;
	return true;
}
