#pragma once
/*
 * ARM, 32 bits (AAPCS32; "DWARF for the Arm Architecture"). DWARF numbers 0 to 15 are r0-r15; sp is
 * 13, lr 14, pc 15.
 *
 * Code is Thumb or ARM. Thumb code uses r7 as frame pointer, ARM code r11. The unwinder tracks
 * both: fp has r7 in its lower half and r11 in its upper half.
 */
#include <stdint.h>

#define ARCH_WORD      4
#define ARCH_PC_SHIFT  0
#define ARCH_PC_BITS   32
#define ARCH_REGISTERS 16
#define ARCH_REG_FP    7
#define ARCH_REG_FP2   11
#define ARCH_REG_SP    13
#define ARCH_REG_RA    14
#define ARCH_REG_PC    15
#define ARCH_KEPT      0xff0u
#define ARCH_RED_ZONE  0
#define ARCH_LINK      1
#define ARCH_SCAN      1
#define ARCH_TOLD      0
#define ARCH_FRAMED    0
#define ARCH_RECORD    0
#define ARCH_FP_KEPT   0
#define ARCH_TABLE     0x70000001u /* PT_ARM_EXIDX */
#define ARCH_SAVED     6

#define ARCH_HOT inline __attribute__((always_inline))

static inline uint64_t arch_load(uint64_t address)
{
	return *(const volatile uint32_t *)(uintptr_t)address;
}

/* Clears the bit that means Thumb. */
static inline uint64_t arch_code_address(uint64_t raw)
{
	return raw & ~(uint64_t)1;
}
