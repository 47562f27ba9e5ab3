#pragma once
/* ARM: the parts that are written in the processor's own instructions. They are separate so that
 * the rest can be compiled for the kernel's virtual machine. See arch/arch.h. */
#include <stdint.h>

#include "arch_layout.h"

/* Returns the caller's r7 and r11. Code that calls this is compiled with -ffixed-r7 -ffixed-r11, so
 * both still have the caller's values. */
static inline __attribute__((always_inline)) uint64_t arch_caller_fp(void)
{
	uint32_t r7, r11;

	__asm__ volatile("mov %0, r7\n\tmov %1, r11" : "=&r"(r7), "=r"(r11));
	return (uint64_t)r11 << 32 | r7;
}

/* Not implemented: no row asks for more than sp and fp. */
static inline __attribute__((always_inline)) uint64_t arch_registers_here(uint64_t *value)
{
	value[ARCH_REG_SP] = (uintptr_t)__builtin_dwarf_cfa();
	return 0;
}
