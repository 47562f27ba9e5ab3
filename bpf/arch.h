#pragma once
/*
 * The registers that a probe receives (bpf_user_pt_regs_t of each processor). They are declared
 * here so that the build needs neither the kernel's headers nor its type information. The layouts
 * are part of the kernel's user space interface: arch/PROCESSOR/include/uapi/asm/ptrace.h. MIPS has
 * no bpf_user_pt_regs_t; its layout is that of kprobes (arch/mips/include/asm/ptrace.h, 64 bit).
 *
 * bpf/CMakeLists.txt selects the folder in arch/. Each folder defines struct arch_registers, the
 * probe's context, and these macros and functions:
 *
 *   arch_pc, arch_sp, arch_fp   of the probed instruction; fp as the unwinder defines it
 *                               (agent/unwind/arch)
 *   arch_link                   the link register; 0 if there is none
 *   arch_result                 the result of a function, at its return instruction or in a return
 *                               probe
 *   arch_register(ctx, n)       the register with DWARF number n, if it can hold an argument at a
 *                               place; 0 for others
 *   ARCH_ARGUMENT               DWARF number of a function's first argument
 *   ARCH_RETURN_SLOT            bytes that a call pushes: the return address, or 0
 *   arch_saved_registers(ctx, to)         stores the registers of struct unwind_regs.saved, in that
 *                                         order; ARCH_SAVED_MAX words
 *   arch_give_back(n, value, fp, saved)   restores the caller's value of a register (DWARF number)
 *                                         that was pushed before the place; empty where places are
 *                                         entries
 *
 * The verifier allows reads of a context only at constant offsets. ARCH_READ keeps a compiler from
 * merging several loads into one with a computed offset.
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
