#pragma once
/* AArch64: the parts that are written in the processor's own instructions. They are separate so
 * that the rest can be compiled for the kernel's virtual machine. See arch/arch.h. */
#include <stdint.h>

#include "arch_layout.h"

/* Returns the caller's x29. Only for functions with a frame record. */
static inline __attribute__((always_inline)) uint64_t arch_caller_fp(void)
{
	return *(const uint64_t *)__builtin_frame_address(0);
}

static inline __attribute__((always_inline)) uint64_t arch_registers_here(uint64_t *value)
{
	uint64_t pc;

	__asm__ volatile("stp x19, x20, [%1, #152]\n\t"
			 "stp x21, x22, [%1, #168]\n\t"
			 "stp x23, x24, [%1, #184]\n\t"
			 "stp x25, x26, [%1, #200]\n\t"
			 "stp x27, x28, [%1, #216]\n\t"
			 "str x29, [%1, #232]\n\t"
			 "mov %0, sp\n\t"
			 "str %0, [%1, #248]\n\t"
			 "adr %0, ."
			 : "=&r"(pc)
			 : "r"(value)
			 : "memory");
	return pc;
}
