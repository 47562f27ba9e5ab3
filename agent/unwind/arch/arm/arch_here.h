#pragma once
/* ARM: what is written in the processor's own instructions, so that the rest can be compiled for
 * others. See arch/arch.h. */
#include <stdint.h>

#include "arch_layout.h"

/* Who asks is compiled with -ffixed-r7 -ffixed-r11: it never has anything of its own in them. */
static inline __attribute__((always_inline)) uint64_t arch_caller_fp(void)
{
	uint32_t r7, r11;

	__asm__ volatile("mov %0, r7\n\tmov %1, r11" : "=&r"(r7), "=r"(r11));
	return (uint64_t)r11 << 32 | r7;
}

/* Not followed: no row asks for more than sp and fp. */
static inline __attribute__((always_inline)) uint64_t arch_registers_here(uint64_t *value)
{
	value[ARCH_REG_SP] = (uintptr_t)__builtin_dwarf_cfa();
	return 0;
}
