#pragma once
/* MIPS64: the parts that are written in the processor's own instructions. They are separate so that
 * the rest can be compiled for the kernel's virtual machine. See arch/arch.h. */
#include <stdint.h>

#include "arch_layout.h"

/* Returns the caller's s8. Code that calls this is compiled with -ffixed-fp, so s8 still has the
 * caller's value. */
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
