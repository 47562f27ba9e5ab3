#pragma once
/* The processor interface of the library for MIPS64. */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/arch/caller.h"
#include "agent/unwind/unwind.h"
#include "proto/ring.h"

#define ARCH_MACHINE 8u /* EM_MIPS */
/* The number that seccomp filters see. */
#ifdef __MIPSEB__
#define ARCH_AUDIT AUDIT_ARCH_MIPS64
#else
#define ARCH_AUDIT AUDIT_ARCH_MIPSEL64
#endif

/* The words by which a module imports functions have no relocations. They are the last ones of its
 * global offset table, and belong to its last symbols, in their order (DT_MIPS_GOTSYM, MIPS ABI
 * supplement, chapter 5). */
#define ARCH_JUMP_SLOT	 4294967295u
#define ARCH_GLOB_DAT	 4294967295u
#define ARCH_RELOCATIONS DT_REL
#define ARCH_GOT_OF_SYMBOLS

/* The processors' counters (rdhwr $2) need not run in step, so stamps are the kernel's time. */
#define ARCH_CLOCK RING_CLOCK_MONOTONIC

/* The first version of glibc that symbols name on this processor: all later ones have them. */
#define ARCH_LIBC_BASE "GLIBC_2.0"

static inline bool arch_clock_usable(void)
{
	return false;
}

static inline uint64_t arch_clock_ordered(void)
{
	return 0;
}

static inline uint64_t arch_clock_single(void)
{
	return 0;
}

static inline void arch_pause(void)
{
	__asm__ volatile("pause");
}

/* Functions that are inlined on other processors have a single copy here, because calls are long
 * and each function has to find its data again. */
#define ARCH_SMALL 1

/* No personality routine: the next hook finds out that an exception has left an earlier one
 * (thread.c). */
#define ARCH_PERSONALITY(name) ((void)0)
#define ARCH_HEARS_EXCEPTIONS  0
