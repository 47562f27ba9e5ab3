/* Every word of .text is an instruction. */
#include "tests/unit/unwind/foreign/sites.h"

#include <string.h>

static bool text_of(Elf *elf, uint64_t *ret_begin, uint64_t *ret_end)
{
	size_t names;

	elf_getshdrstrndx(elf, &names);
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		GElf_Shdr header;

		gelf_getshdr(s, &header);
		if (strcmp(elf_strptr(elf, names, header.sh_name), ".text") != 0)
			continue;
		*ret_begin = header.sh_addr;
		*ret_end = header.sh_addr + header.sh_size;
		return true;
	}
	return false;
}

bool sites_next(struct site *site, Elf *debug, const struct arch_code *code, uint64_t bias)
{
	uint64_t begin, end;

	if (!text_of(debug, &begin, &end))
		return false;
	site->address = site->next ? site->next : begin;
	site->behind = site->next = site->address + 4;
	if (site->behind > end)
		return false;
	site->is_call = arch_is_behind_call(
		code->begin + (site->address + bias - code->address), 4);
	return true;
}

const struct piece pieces[] = {{.name = NULL}};
