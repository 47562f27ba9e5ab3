/* MIPS64: recognizes the signal frame of Linux, and calls. Encodings: MIPS64 Architecture, volume
 * II-A. */
#include "agent/unwind/arch/arch.h"

#include <string.h>

#include "agent/unwind/arch/mips64/insn.h"
#include "agent/unwind/ban.h"

const uint8_t arch_saved[ARCH_SAVED] = {16, 17, 18, 19, 20, 21};

/* struct rt_sigframe: arguments of the oldest convention and padding, siginfo, the ucontext. Its
 * sigcontext has 32 general and 32 floating registers, eight more words, then pc
 * (arch/mips/kernel/signal.c, uapi/asm/sigcontext.h). */
#define SIGINFO	 24
#define UCONTEXT (SIGINFO + 128)
#define MCONTEXT (UCONTEXT + 40)
#define PC_AT	 72

bool arch_is_signal_return(const uint8_t *code, size_t length, uint32_t *ret_offset)
{
	*ret_offset = 0;
	/* li v0, 5211; syscall */
	return length >= 8 && insn_at(code) == 0x2402145b && insn_at(code + 4) == 0x0000000c;
}

uint64_t arch_signal_slot(uint64_t sp, unsigned dwarf_register)
{
	return sp + MCONTEXT + 8u * (dwarf_register == ARCH_REG_PC ? PC_AT : dwarf_register);
}

bool arch_table_row(const struct unwind_module *module, uint64_t pc, bool interrupted,
		    uint32_t *ret_row)
{
	(void)module;
	(void)pc;
	(void)interrupted;
	(void)ret_row;
	return false;
}

/* Looks at the two instructions before a return address: the call and its delay slot. */
bool arch_is_behind_call(const uint8_t *code, size_t length)
{
	if (length < 8)
		return true;
	return insn_is_call(insn_at(code + length - 8)) ||
	       insn_is_compact_call(insn_at(code + length - 4));
}
