/* Every word of .text is an instruction. */
#include "tests/unit/unwind/foreign/sites_text.h"

#include "agent/unwind/arch/mips64/insn.h"

bool sites_next(struct site *site, Elf *debug, const struct arch_code *code, uint64_t bias)
{
	uint64_t begin, end;
	uint32_t insn;
	unsigned rs;

	if (!sites_text(debug, &begin, &end))
		return false;
	site->address = site->next ? site->next : begin;
	if (site->address + 8 > end)
		return false;
	if (site->next) {
		insn = insn_at(code->begin + (site->address - 4 + bias - code->address));
		site->is_slot = insn_is_call(insn) || insn_branches(insn) ||
				insn_jumps_to(insn, &rs) || insn_op(insn) == 2;
	}
	insn = insn_at(code->begin + (site->address + bias - code->address));
	site->is_call = insn_is_call(insn);
	site->behind = site->address + 8;
	site->next = site->address + 4;
	return true;
}

const struct piece pieces[] = {
	/* daddiu sp, -32752; sd gp; lui gp; daddu gp; daddiu gp; sd s0; lui v1, 1; ld s0; ori v1,
	 * 0x1410; sd ra, 32744(sp); ld t9; dsubu sp, v1; lw a1; lui a2; move a0, sp; jalr t9; ori
	 * a2 */
	{"room in two steps, ra stored between them",
	 {0x67bd8010, 0xffbc7fe0, 0x3c1c0002, 0x0399e02d, 0x679c8540, 0xffb07fd8, 0x3c030001,
	  0xdf908020, 0x34631410, 0xffbf7fe8, 0xdf998068, 0x03a3e82f, 0x8e051230, 0x3c060004,
	  0x03a02025, 0x0320f809, 0x34c693e0},
	 17,
	 {.cfa_words = (32752 + 0x11410) / 8, .ra_words = 1}},
	{0},
};
