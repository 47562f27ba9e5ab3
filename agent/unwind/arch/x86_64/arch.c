/* x86-64: recognizes the signal frame of Linux, calls, and the expressions that describe procedure
 * linkage tables. */
#include "agent/unwind/arch/arch.h"

#include <string.h>

#include "agent/unwind/arch/x86_64/insn.h"

const uint8_t arch_saved[ARCH_SAVED] = {3, 12, 13, 14, 15};

/* uc_mcontext.gregs of the kernel's struct ucontext, by DWARF number (asm/sigcontext.h: r8 first,
 * rip at 16). */
#define UCONTEXT_GREGS 40
static const uint8_t greg_of[ARCH_REGISTERS] = {13, 12, 14, 11, 9, 8, 10, 15, 0,
						1,  2,	3,  4,	5, 6, 7,  16};

bool arch_is_signal_return(const uint8_t *code, size_t length, uint32_t *ret_offset)
{
	/* mov $15, %rax; syscall: glibc and musl end handlers by this, and gdb looks for it */
	static const uint8_t rt_sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

	size_t same = 0;

	/* Compares byte by byte: nothing is read behind the first difference, and no memcmp is
	 * called that may be the program's own. */
	while (same < sizeof(rt_sigreturn) && same < length && code[same] == rt_sigreturn[same])
		same++;
	*ret_offset = 0;
	return same == sizeof(rt_sigreturn);
}

uint64_t arch_signal_slot(uint64_t sp, unsigned dwarf_register)
{
	/* The handler's return has popped the address of the restorer, so sp is the address of the
	 * ucontext. */
	return sp + UCONTEXT_GREGS + 8u * greg_of[dwarf_register];
}

/*
 * A lazily bound entry is 16 bytes: jmp *GOT (or endbr64), push INDEX, jmp PLT0. After the push the
 * index lies on the stack: cfa = rsp + 8 + ((rip & 15) >= CONSTANT) * 8. The constant is 11, or 10
 * where entries begin with endbr64.
 */
bool arch_is_plt_expression(const uint8_t *expression, size_t length, unsigned *ret_constant)
{
	static const uint8_t before[] = {0x77, 8,    0x80,
					 0,    0x3f, 0x1a};	 /* breg7 8, breg16 0, lit15, and */
	static const uint8_t after[] = {0x2a, 0x33, 0x24, 0x22}; /* ge, lit3, shl, plus */

	if (length != sizeof(before) + 1 + sizeof(after) ||
	    memcmp(expression, before, sizeof(before)) ||
	    memcmp(expression + sizeof(before) + 1, after, sizeof(after)))
		return false;
	if (expression[sizeof(before)] < 0x30 || expression[sizeof(before)] > 0x3f)
		return false;
	*ret_constant = expression[sizeof(before)] - 0x30u;
	return true;
}

uint64_t arch_plt_cfa(uint64_t sp, uint64_t pc, unsigned constant)
{
	return sp + 8 + ((pc & 15) >= constant ? 8 : 0);
}

/* Tries all lengths: a call is two to seven bytes long, not counting prefixes. */
bool arch_is_behind_call(const uint8_t *code, size_t length)
{
	const uint8_t *end = code + length;
	struct insn insn;

	if (length < 7 || end[-5] == 0xe8)
		return true;
	for (unsigned size = 2; size <= 7; size++)
		if (insn_read(end - size, end, &insn) && insn.next == end &&
		    insn_flow(&insn) == FLOW_CALL)
			return true;
	return false;
}
