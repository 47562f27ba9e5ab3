#pragma once
/* MIPS64, n64 (MIPSpro N32/N64 ABI handbook, chapter 2; System V ABI, MIPS supplement), in either
 * byte order. DWARF numbers 0 to 31 are the general registers; sp is $29, s8 or fp $30, ra $31. */
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
#define ARCH_TOLD      0
#define ARCH_FRAMED    0
#define ARCH_RECORD    0
#define ARCH_FP_KEPT   0
#define ARCH_TABLE     0xffffffffu
#define ARCH_SAVED     6

#define ARCH_HOT inline

static inline uint64_t arch_load(uint64_t address)
{
	return *(const volatile uint64_t *)(uintptr_t)address;
}

static inline uint64_t arch_code_address(uint64_t raw)
{
	return raw;
}
