/* AArch64: recognizes the signal frame of Linux, and calls. */
#include "agent/unwind/arch/arch.h"

#include "agent/unwind/arch/aarch64/insn.h"
#include "agent/unwind/ban.h"

const uint8_t arch_saved[ARCH_SAVED] = {19, 20, 21, 22, 23, 24};

/* struct rt_sigframe: siginfo, then the ucontext; its sigcontext has the fault's address, x0-x30,
 * sp, pc (arch/arm64/kernel/signal.c, asm/sigcontext.h). */
#define SIGINFO	   128
#define MCONTEXT   176
#define REGISTER_0 8

bool arch_is_signal_return(const uint8_t *code, size_t length, uint32_t *ret_offset)
{
	/* mov x8, #139; svc #0 */
	static const uint8_t rt_sigreturn[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
	size_t same = 0;

	while (same < sizeof(rt_sigreturn) && same < length && code[same] == rt_sigreturn[same])
		same++;
	*ret_offset = 0;
	return same == sizeof(rt_sigreturn);
}

uint64_t arch_signal_slot(uint64_t sp, unsigned dwarf_register)
{
	return sp + SIGINFO + MCONTEXT + REGISTER_0 + 8u * dwarf_register;
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

bool arch_is_behind_call(const uint8_t *code, size_t length)
{
	return length < 4 || insn_is_call(insn_at(code + length - 4));
}
