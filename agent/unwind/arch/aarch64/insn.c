/* Reads instructions of AArch64. See insn.h. */
#include "agent/unwind/arch/aarch64/insn.h"

#include "agent/unwind/ban.h"

/* Returns by how much a store or load of one or two vector registers moves sp (C4.1.66, "loads and
 * stores"); 0 for other instructions. */
static int32_t moved_by_vectors(uint32_t insn)
{
	if ((insn & 0x3e800000) == 0x2c800000) /* stp, ldp */
		return insn_field(insn, 15, 7) * (4 << (insn >> 30));
	if ((insn & 0x3f200400) == 0x3c000400) /* str, ldr */
		return insn_field(insn, 12, 9);
	return 0;
}

bool insn_access(uint32_t insn, struct insn_access *ret)
{
	unsigned first = insn & 31, second = 32;
	int32_t offset, step = 0;

	if ((insn >> 5 & 31) != INSN_SP)
		return false;
	ret->load = insn & 0x00400000;
	ret->at[0] = ret->at[1] = INSN_NOT_THERE;
	ret->moves = moved_by_vectors(insn);
	if (ret->moves)
		return true;
	if ((insn & 0xfe000000) == 0xa8000000) { /* stp, ldp */
		second = insn >> 10 & 31;
		offset = 8 * insn_field(insn, 15, 7);
		step = (int32_t)(insn >> 23 & 3); /* sp moves 1: after the access, 2: not at all,
						     3: before it */
	} else if ((insn & 0xffa00400) == 0xf8000400) { /* str, ldr, moving sp */
		offset = insn_field(insn, 12, 9);
		step = (int32_t)(insn >> 10 & 3);
	} else if ((insn & 0xff800000) == 0xf9000000) {
		offset = (int32_t)(insn >> 10 & 0xfff) * 8;
	} else {
		return false;
	}
	ret->moves = step & 1 ? offset : 0;
	if (step == 1)
		offset = 0;
	for (unsigned i = 0; i < 2; i++)
		ret->at[i] = first == INSN_FP + i    ? offset
			     : second == INSN_FP + i ? offset + 8
						     : INSN_NOT_THERE;
	return true;
}

bool insn_adds(uint32_t insn, unsigned to, unsigned from, int32_t *ret_value)
{
	int32_t value = (int32_t)(insn >> 10 & 0xfff) << (insn >> 22 & 1 ? 12 : 0);

	if ((insn & 0xbf8003ff) != (0x91000000u | from << 5 | to))
		return false;
	*ret_value = insn & 0x40000000 ? -value : value;
	return true;
}
