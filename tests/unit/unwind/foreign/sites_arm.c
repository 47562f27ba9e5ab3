/* Which bytes are Thumb code the mapping symbols tell: $t begins it, $a and $d something else (ELF for the Arm Architecture, 5.5.5). */
#include "tests/unit/unwind/foreign/sites.h"

#include <stdlib.h>

#include "agent/unwind/arch/arm/insn.h"

struct mark {
	uint64_t address;
	char kind;
};

static struct mark *marks;
static size_t mark_count;

static int by_address(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void read_marks(Elf *elf)
{
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		GElf_Shdr header;
		Elf_Data *data;

		gelf_getshdr(s, &header);
		if (header.sh_type != SHT_SYMTAB)
			continue;
		data = elf_getdata(s, NULL);
		marks = calloc(header.sh_size / header.sh_entsize, sizeof(*marks));
		for (size_t i = 0; i < header.sh_size / header.sh_entsize; i++) {
			const char *name;
			GElf_Sym symbol;

			gelf_getsym(data, (int)i, &symbol);
			name = elf_strptr(elf, header.sh_link, symbol.st_name);
			if (name && name[0] == '$' && (!name[2] || name[2] == '.'))
				marks[mark_count++] = (struct mark){symbol.st_value, name[1]};
		}
	}
	qsort(marks, mark_count, sizeof(*marks), by_address);
}

bool sites_next(struct site *site, Elf *debug, const struct arch_code *code, uint64_t bias)
{
	if (!marks)
		read_marks(debug);
	for (; site->symbol + 1 < mark_count; site->symbol++, site->next = 0) {
		const struct mark *mark = &marks[site->symbol];
		uint64_t end = mark[1].address, at = site->next ? site->next : mark->address;
		const uint8_t *from = code->begin + (at + bias - code->address);
		struct insn insn;

		if ((mark->kind != 't' && mark->kind != 'a') || at >= end ||
		    !insn_read(from, from + (end - at), mark->kind == 't', &insn))
			continue;
		site->address = at;
		site->behind = at + (uint64_t)(insn.next - from);
		site->is_call = insn.kind == INSN_CALL;
		site->next = site->behind;
		return true;
	}
	return false;
}

const struct piece pieces[] = {{0}};
