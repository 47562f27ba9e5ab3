/* Finds the pointers to imported functions. See imports.h; ELF specification, "Relocation". */
#include "agent/ebpf/imports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/ban.h"

#define SLOTS_MAX                                                                                  \
	(128u << 10) /* more than any library has that also contains an allocator's functions */
#define EACH	     256
#define SYMBOL_SHIFT (sizeof(ElfW(Addr)) == 8 ? 32 : 8) /* of r_info */

static int compare(const void *a, const void *b)
{
	const struct import_slot *first = a, *second = b;

	return first->address < second->address ? -1 : first->address > second->address;
}

static int read_section(struct imports *imports, uint32_t *capacity, const ElfW(Shdr) * section)
{
	ElfW(Rela) each[EACH];
	uint64_t count = section->sh_size / sizeof(each[0]);

	for (uint64_t done = 0, part; done < count && imports->count < SLOTS_MAX; done += part) {
		part = count - done < EACH ? count - done : EACH;
		if (!elf_symbols_read(imports->file, section->sh_offset + done * sizeof(each[0]),
				      each, (size_t)part * sizeof(each[0])))
			return 0;
		if (array_reserve(&imports->slot, capacity, imports->count + part,
				  sizeof(imports->slot[0])))
			return -ENOMEM;
		for (uint64_t i = 0; i < part; i++)
			if (each[i].r_info >> SYMBOL_SHIFT)
				imports->slot[imports->count++] = (struct import_slot){
					each[i].r_offset,
					(uint32_t)(each[i].r_info >> SYMBOL_SHIFT)};
	}
	return 0;
}

int imports_read(struct imports *imports, const struct elf_symbols *file)
{
	ElfW(Shdr) section;
	uint32_t capacity = 0;
	int error = 0;

	*imports = (struct imports){.file = file};
	for (unsigned i = 0; !error && elf_symbols_section(file, i, &section); i++) {
		if (section.sh_type == SHT_DYNSYM) {
			imports->symbols = section;
			if (!elf_symbols_section(file, section.sh_link, &imports->names))
				imports->names = (ElfW(Shdr)){0};
		}
		if (section.sh_type == SHT_RELA && section.sh_flags & SHF_ALLOC)
			error = read_section(imports, &capacity, &section);
	}
	if (error)
		imports_done(imports);
	else if (imports->count)
		qsort(imports->slot, imports->count, sizeof(imports->slot[0]), compare);
	return error;
}

void imports_done(struct imports *imports)
{
	free(imports->slot);
	*imports = (struct imports){0};
}

/* A name that does not fit is none that we know, and becomes "". */
static void read_name(const struct imports *imports, uint32_t at, char name[SITE_NAME_MAX])
{
	uint64_t left = at < imports->names.sh_size ? imports->names.sh_size - at : 0;
	size_t size = left < SITE_NAME_MAX ? (size_t)left : SITE_NAME_MAX;

	if (!size || !elf_symbols_read(imports->file, imports->names.sh_offset + at, name, size) ||
	    !memchr(name, 0, size))
		name[0] = 0;
}

bool imports_find(const struct imports *imports, uint64_t slot, char ret_name[SITE_NAME_MAX],
		  uint64_t *ret_address)
{
	const struct import_slot key = {.address = slot}, *found;
	ElfW(Sym) symbol;

	if (!imports->count)
		return false;
	found = bsearch(&key, imports->slot, imports->count, sizeof(key), compare);
	if (!found || found->symbol >= imports->symbols.sh_size / sizeof(symbol) ||
	    !elf_symbols_read(imports->file,
			      imports->symbols.sh_offset + (uint64_t)found->symbol * sizeof(symbol),
			      &symbol, sizeof(symbol)))
		return false;
	read_name(imports, symbol.st_name, ret_name);
	*ret_address = symbol.st_shndx == SHN_UNDEF ? 0 : symbol.st_value;
	return true;
}
