#pragma once
/* Processors whose .text is words of instructions and nothing else: where it lies. */
#include <string.h>

#include "tests/unit/unwind/foreign/sites.h"

static inline bool sites_text(Elf *elf, uint64_t *ret_begin, uint64_t *ret_end)
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
