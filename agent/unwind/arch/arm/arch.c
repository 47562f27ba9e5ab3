/* ARM: recognizes the signal frames of Linux, and calls. Encodings: Arm ARM (DDI 0406), A5 and A6.
 */
#include "agent/unwind/arch/arch.h"

#include "agent/unwind/arch/arm/insn.h"
#include "agent/unwind/ban.h"

const uint8_t arch_saved[ARCH_SAVED] = {4, 5, 6, 8, 9, 10};

/* In struct ucontext the sigcontext follows flags, link and stack. The sigcontext has three words
 * and then r0-r15 (uapi/asm/sigcontext.h). */
#define SIGINFO	   128
#define REGISTER_0 (20 + 12)

/* Recognizes mov r7, #NUMBER; svc #0, in Thumb and ARM state. The frame of a handler without
 * SA_SIGINFO has no siginfo. */
bool arch_is_signal_return(const uint8_t *code, size_t length, uint32_t *ret_offset)
{
	if (length >= 8 && insn_word(code + 4) == 0xef000000 &&
	    (insn_word(code) == 0xe3a070ad || insn_word(code) == 0xe3a07077)) {
		*ret_offset = code[0] == 0xad ? SIGINFO : 0;
		return true;
	}
	if (length >= 4 && (insn_word(code) == 0xdf0027ad || insn_word(code) == 0xdf002777)) {
		*ret_offset = code[0] == 0xad ? SIGINFO : 0;
		return true;
	}
	/* mov.w */
	if (length >= 6 && insn_half(code) == 0xf04f && insn_half(code + 4) == 0xdf00 &&
	    (insn_half(code + 2) == 0x07ad || insn_half(code + 2) == 0x0777)) {
		*ret_offset = code[2] == 0xad ? SIGINFO : 0;
		return true;
	}
	return false;
}

uint64_t arch_signal_slot(uint64_t sp, unsigned dwarf_register)
{
	return sp + REGISTER_0 + 4u * dwarf_register;
}

bool arch_is_behind_call(const uint8_t *code, size_t length)
{
	if (length < 4)
		return true;
	return insn_thumb_call(code + length) || insn_arm_call(code + length);
}
