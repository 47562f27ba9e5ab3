#pragma once
/* MIPS64, n64 (MIPSpro N32/N64 ABI handbook, chapter 2; System V ABI, MIPS supplement): DWARF numbers 0 to 31 are the general
 * registers: sp is $29, s8 or fp $30, ra $31. Either byte order. */
#include <stdint.h>

#define ARCH_WORD      8
#define ARCH_PC_SHIFT  2
#define ARCH_PC_BITS   48
#define ARCH_REGISTERS 32
#define ARCH_REG_SP    29
#define ARCH_REG_FP    30
#define ARCH_REG_FP2   0
#define ARCH_REG_RA    31
#define ARCH_REG_PC    32
#define ARCH_KEPT      (0xffu << 16 | 3u << 28 | 1u << 30)
#define ARCH_RED_ZONE  0
#define ARCH_LINK      1
#define ARCH_SCAN      1
#define ARCH_RECORD    0
#define ARCH_FP_KEPT   0
#define ARCH_SAVED     6

static inline uint64_t arch_load(uint64_t address)
{
	return *(const volatile uint64_t *)(uintptr_t)address;
}

static inline uint64_t arch_code_address(uint64_t raw)
{
	return raw;
}

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
