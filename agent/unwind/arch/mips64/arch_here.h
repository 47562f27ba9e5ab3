#pragma once
/* MIPS64: what is written in the processor's own instructions, so that the rest can be compiled for
 * others. See arch/arch.h. */
#include <stdint.h>

#include "arch_layout.h"

/* Who asks is compiled with -ffixed-fp: it never has anything of its own in s8. */
static inline __attribute__((always_inline)) uint64_t arch_caller_fp(void)
{
	uint64_t fp;

	__asm__ volatile("move %0, $30" : "=r"(fp));
	return fp;
}

static inline __attribute__((always_inline)) uint64_t arch_registers_here(uint64_t *value)
{
	uint64_t pc;

	__asm__ volatile(".set push\n\t"
			 ".set noreorder\n\t"
			 ".set noat\n\t"
			 "sd $16, 128(%1)\n\t"
			 "sd $17, 136(%1)\n\t"
			 "sd $18, 144(%1)\n\t"
			 "sd $19, 152(%1)\n\t"
			 "sd $20, 160(%1)\n\t"
			 "sd $21, 168(%1)\n\t"
			 "sd $22, 176(%1)\n\t"
			 "sd $23, 184(%1)\n\t"
			 "sd $28, 224(%1)\n\t"
			 "sd $29, 232(%1)\n\t"
			 "sd $30, 240(%1)\n\t"
			 "bal 1f\n\t"
			 "nop\n"
			 "1:\n\t"
			 "move %0, $31\n\t"
			 ".set pop"
			 : "=r"(pc)
			 : "r"(value)
			 : "$31", "memory");
	return pc;
}
