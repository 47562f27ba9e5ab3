#pragma once
/* AArch64 (AAPCS64, and "DWARF for the Arm 64-bit Architecture"): DWARF numbers 0 to 30 are x0-x30, 31 is sp. Calls leave the
 * return address in x30. */
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
#define ARCH_SCAN      0
#define ARCH_RECORD    1
#define ARCH_FP_KEPT   0
#define ARCH_SAVED     6

static inline uint64_t arch_load(uint64_t address)
{
	return *(const volatile uint64_t *)(uintptr_t)address;
}

/* xpaclri takes the signature off a return address (Arm ARM, C6.2.385); before Armv8.3 it does nothing. */
static inline __attribute__((always_inline)) uint64_t arch_code_address(uint64_t raw)
{
	register uint64_t link __asm__("x30") = raw;

	__asm__("hint 7" : "+r"(link));
	return link;
}

/* The caller's x29, in a function with a frame record. */
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
