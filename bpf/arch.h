#pragma once
/*
 * The registers that a probe finds (bpf_user_pt_regs_t of each processor), declared here so that
 * neither the kernel's headers nor its type information are needed to build. The layouts are part
 * of the kernel's interface to user space: arch/PROCESSOR/include/uapi/asm/ptrace.h; MIPS, which
 * has none, as its kprobes have it (arch/mips/include/asm/ptrace.h, 64 bit).
 *
 * bpf/CMakeLists.txt picks the folder of arch/. Each defines struct arch_registers, the probe's
 * context, and for it
 *
 *   arch_pc, arch_sp, arch_fp   of the probed instruction; fp as the unwinder has it
 *                               (agent/unwind/arch)
 *   arch_link                   the link register; 0 where there is none
 *   arch_result                 what a function returns, at its return instruction or in a return
 *                               probe
 *   arch_register(ctx, n)       by DWARF number, of what can hold an argument at a place; 0 of
 *                               others
 *   ARCH_ARGUMENT               DWARF number of a function's first argument
 *   ARCH_RETURN_SLOT            bytes that a call pushes: the return address, or nothing
 *   arch_saved_registers(ctx, to)         the registers of struct unwind_regs.saved, in that order;
 *                                         ARCH_SAVED_MAX words
 *   arch_give_back(n, value, fp, saved)   what a register (DWARF number) that was pushed before the
 *                                         place was to the caller; nothing
 *                               where places are entries
 *
 * A context may only be read at constant offsets. Where a compiler could make one load with a
 * computed offset out of several, ARCH_READ keeps them apart.
 */
#include <stdint.h>

#define ARCH_INLINE    static inline __attribute__((always_inline, unused))
#define ARCH_SAVED_MAX 6

#define ARCH_READ(place)                                                                           \
	({                                                                                         \
		uint64_t read_here = (place);                                                      \
		__asm__ volatile("" : "+r"(read_here));                                            \
		read_here;                                                                         \
	})

#include "registers.h"
