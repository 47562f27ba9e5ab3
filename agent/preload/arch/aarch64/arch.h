#pragma once
/* The processor interface of the library for AArch64: the counter, the calling frame, the oldest
 * symbol version of libc. */
#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/unwind.h"
#include "proto/ring.h"

#define ARCH_MACHINE 183u		/* EM_AARCH64 */
#define ARCH_AUDIT   AUDIT_ARCH_AARCH64 /* as seccomp filters see it */

/* The relocations by which a module imports functions: R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT. */
#define ARCH_JUMP_SLOT	 1026u
#define ARCH_GLOB_DAT	 1025u
#define ARCH_RELOCATIONS DT_RELA

/* Small functions of the hooks' hot path are inlined. */
#define ARCH_SMALL 0

#define ARCH_CLOCK     RING_CLOCK_CNTVCT
#define ARCH_LIBC_BASE "GLIBC_2.17"

static inline bool arch_clock_usable(void)
{
	return true;
}

static inline uint64_t arch_clock_single(void)
{
	uint64_t value;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
}

/* The barrier keeps the processor from reading the counter before a lock that was just taken. */
static inline uint64_t arch_clock_ordered(void)
{
	__asm__ volatile("isb" ::: "memory");
	return arch_clock_single();
}

#include "agent/preload/arch/caller.h"

static inline void arch_pause(void)
{
	__asm__ volatile("yield");
}

/* Use it in the body of a function. The C++ runtime calls the personality routine (named by its
 * symbol) when an exception passes that function. 0x1b: relative to the table, four bytes, signed.
 */
#define ARCH_PERSONALITY(name) __asm__ volatile(".cfi_personality 0x1b, " name)
#define ARCH_HEARS_EXCEPTIONS  1
