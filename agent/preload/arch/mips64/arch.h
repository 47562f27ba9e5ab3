#pragma once
/* What the shim must know of MIPS64. */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/arch/caller.h"
#include "agent/unwind/unwind.h"
#include "proto/ring.h"

#define ARCH_MACHINE 8u /* EM_MIPS */

/* The relocations by which a module imports functions: what the linker of this processor puts into the global offset table has
 * none. */
#define ARCH_JUMP_SLOT 4294967295u
#define ARCH_GLOB_DAT  4294967295u

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

/* A hook that an exception has left is found out by the next one (thread.c). */
#define ARCH_PERSONALITY(name) ((void)0)

/* Nothing is patched here. */
#define ARCH_LANDING 0u
