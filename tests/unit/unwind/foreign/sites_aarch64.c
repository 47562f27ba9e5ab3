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
	site->is_call =
		arch_is_behind_call(code->begin + (site->address + bias - code->address), 4);
	return true;
}

const struct piece pieces[] = {
	/* str d8, [sp, -48]!; stp x29, x30, [sp, 16]; add x29, sp, 16; ... blr x8; ... ldr d8,
	 * [sp], 48; ret */
	{"room made by the store of a vector register",
	 {0xfc1d0fe8, 0xa9017bfd, 0x910043fd, 0xa9024ff4, 0xaa0103e8, 0x91000433,
	  0x91000834, 0x9e620108, 0xb9400008, 0x37f80108, 0xb00000e9, 0x91001000,
	  0x9e780101, 0xf947e529, 0xf8687928, 0xd63f0100, 0x14000004, 0x4b0803e0,
	  0x97fffec5, 0xaa1f03e0, 0x9e620260, 0x9e620281, 0xa9424ff4, 0x1e600900,
	  0xa9417bfd, 0x1e610800, 0x9e780008, 0x8b080000, 0xfc4307e8, 0xd65f03c0},
	 16,
	 {.from_fp = true, .cfa_words = 4, .ra_words = 3, .fp_words = 4}},
	/* str d8, [sp, -96]!; stp x29, x30, [sp, 8]; add x29, sp, 8; ... blr x8 */
	{"a base between two multiples of 16",
	 {0xfc1a0fe8, 0xa900fbfd, 0x910023fd, 0xf9000ffb, 0xa90267fa, 0xa9035ff8, 0xa90457f6,
	  0xa9054ff4, 0xaa0103e8, 0x91000433, 0x91000834, 0x91000c35, 0x91001036, 0x91001437,
	  0x91001838, 0x91001c39, 0x9100203a, 0x9100243b, 0x9e620108, 0xb9400008, 0x37f80108,
	  0xf00000e9, 0x91001000, 0x9e780101, 0xf947e929, 0xf8687928, 0xd63f0100, 0x14000004,
	  0x4b0803e0, 0x97fffe3d, 0xaa1f03e0},
	 27,
	 {.cfa_words = 12, .ra_words = 10, .fp_words = 11}},
	{0},
};
