#pragma once
/* What the shim must know of MIPS64. */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/arch/caller.h"
#include "agent/unwind/unwind.h"
#include "proto/ring.h"

#define ARCH_MACHINE 8u /* EM_MIPS */
/* As seccomp filters see it. */
#ifdef __MIPSEB__
#define ARCH_AUDIT AUDIT_ARCH_MIPS64
#else
#define ARCH_AUDIT AUDIT_ARCH_MIPSEL64
#endif

/* Words by which a module imports functions have no relocations: the last ones of its global offset
 * table are those of its last symbols, in their order (DT_MIPS_GOTSYM, MIPS ABI supplement, chapter
 * 5). */
#define ARCH_JUMP_SLOT	 4294967295u
#define ARCH_GLOB_DAT	 4294967295u
#define ARCH_RELOCATIONS DT_REL
#define ARCH_GOT_OF_SYMBOLS

/* Its counter (rdhwr $2) need not be in step on all processors: time is the kernel's. */
#define ARCH_CLOCK RING_CLOCK_MONOTONIC

/* The first version of glibc that this processor's symbols name: they are in every later one. */
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

/* Calls are long, and each function finds its data anew: what is inlined elsewhere has one copy. */
#define ARCH_SMALL 1

/* Nobody tells of exceptions: a hook that one has left is found out by the next one (thread.c). */
#define ARCH_PERSONALITY(name) ((void)0)
#define ARCH_HEARS_EXCEPTIONS  0

/* Nothing is patched here. */
#define ARCH_LANDING 0u
