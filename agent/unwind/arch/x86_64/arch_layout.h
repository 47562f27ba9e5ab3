#pragma once
/* x86-64 (System V ABI, AMD64 supplement 3.2 and 3.6.2). DWARF numbers 0 to 15 are rax rdx rcx rbx
 * rsi rdi rbp rsp r8-r15; 16 is the return address. */
#include <stdint.h>

#define ARCH_WORD      8
#define ARCH_PC_SHIFT  0
#define ARCH_PC_BITS   47
#define ARCH_REGISTERS 17
#define ARCH_REG_FP    6
#define ARCH_REG_SP    7
#define ARCH_REG_RA    16
#define ARCH_REG_PC    16
#define ARCH_REG_FP2   0
#define ARCH_KEPT      (1u << 3 | 1u << 6 | 0xfu << 12)
#define ARCH_RED_ZONE  128
#define ARCH_LINK      0
#define ARCH_SCAN      0
#define ARCH_TOLD      1
#define ARCH_FRAMED    1
#define ARCH_RECORD    1
/* the return address's own slot: fp is never saved there, so the value is free */
#define ARCH_FP_KEPT 1
#define ARCH_TABLE   0xffffffffu
#define ARCH_SAVED   5

#define ARCH_HOT inline __attribute__((always_inline))

static inline uint64_t arch_load(uint64_t address)
{
	return *(const volatile uint64_t *)(uintptr_t)address;
}

static inline uint64_t arch_code_address(uint64_t raw)
{
	return raw;
}
