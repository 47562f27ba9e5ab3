#pragma once
/* AArch64 (AAPCS64, and "DWARF for the Arm 64-bit Architecture"): DWARF numbers 0 to 30 are x0-x30,
 * 31 is sp. Calls leave the return address in x30. */
#include <stdint.h>

#define ARCH_WORD      8
#define ARCH_PC_SHIFT  2
#define ARCH_PC_BITS   48
#define ARCH_REGISTERS 32
#define ARCH_REG_FP    29
#define ARCH_REG_FP2   0
#define ARCH_REG_SP    31
#define ARCH_REG_RA    30
#define ARCH_REG_PC    32
#define ARCH_KEPT      (0x7ffu << 19)
#define ARCH_RED_ZONE  0
#define ARCH_LINK      1
#define ARCH_SCAN      1
#define ARCH_TOLD      1
#define ARCH_FRAMED    0
#define ARCH_RECORD    1
#define ARCH_FP_KEPT   0
#define ARCH_TABLE     0xffffffffu
#define ARCH_SAVED     6

#define ARCH_HOT inline __attribute__((always_inline))

static inline uint64_t arch_load(uint64_t address)
{
	return *(const volatile uint64_t *)(uintptr_t)address;
}

/* The kernel's virtual machine has no instruction for this. On a system with fewer address bits,
 * part of the signature lies in the bits kept here, and the walk does not find the frame. */
#ifndef __aarch64__
static inline uint64_t arch_code_address(uint64_t raw)
{
	return raw & ((UINT64_C(1) << ARCH_PC_BITS) - 1);
}
#else
/* xpaclri removes the signature from a return address (Arm ARM, C6.2.385); before Armv8.3 it does
 * nothing. */
static inline __attribute__((always_inline)) uint64_t arch_code_address(uint64_t raw)
{
	register uint64_t link __asm__("x30") = raw;

	__asm__("hint 7" : "+r"(link));
	return link;
}
#endif
