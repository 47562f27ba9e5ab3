/* Every word of .text is an instruction. */
#include "tests/unit/unwind/foreign/sites_text.h"

bool sites_next(struct site *site, Elf *debug, const struct arch_code *code, uint64_t bias)
{
	uint64_t begin, end;

	if (!sites_text(debug, &begin, &end))
		return false;
	site->address = site->next ? site->next : begin;
	site->behind = site->next = site->address + 4;
	if (site->behind > end)
		return false;
	site->is_call = arch_is_behind_call(
		code->begin + (site->address + bias - code->address), 4);
	return true;
}

/* No code is read there. */
const struct piece pieces[] = {{.name = NULL}};
