#pragma once
/* x86-64: the parts that are written in the processor's own instructions. They are separate so that
 * the rest can be compiled for the kernel's virtual machine. See arch/arch.h. */
#include <stdint.h>

#include "arch_layout.h"

/* Returns the caller's rbp. Only for functions that have an rbp of their own. */
static inline __attribute__((always_inline)) uint64_t arch_caller_fp(void)
{
	return *(const uint64_t *)__builtin_frame_address(0);
}

/* Stores the callee-saved registers, and sp and pc of this line, in `value[ARCH_REGISTERS]`. Leaves
 * the other elements unchanged. */
static inline __attribute__((always_inline)) uint64_t arch_registers_here(uint64_t *value)
{
	__asm__ volatile("movq %%rbx, 24(%0)\n\t"
			 "movq %%rbp, 48(%0)\n\t"
			 "movq %%rsp, 56(%0)\n\t"
			 "movq %%r12, 96(%0)\n\t"
			 "movq %%r13, 104(%0)\n\t"
			 "movq %%r14, 112(%0)\n\t"
			 "movq %%r15, 120(%0)\n\t"
			 "leaq 0(%%rip), %%rax\n\t"
			 "movq %%rax, 128(%0)"
			 :
			 : "r"(value)
			 : "rax", "memory");
	return value[ARCH_REG_RA];
}
