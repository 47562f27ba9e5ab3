#pragma once
/* What the shim must know of ARM (32 bits). */
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/arch/caller.h"
#include "agent/unwind/unwind.h"
#include "proto/ring.h"

#define ARCH_MACHINE 40u	    /* EM_ARM */
#define ARCH_AUDIT   AUDIT_ARCH_ARM /* as seccomp filters see it */

/* The relocations by which a module imports functions: R_ARM_JUMP_SLOT, R_ARM_GLOB_DAT. */
#define ARCH_JUMP_SLOT	 22u
#define ARCH_GLOB_DAT	 21u
#define ARCH_RELOCATIONS DT_REL

/* What hooks do all the time is inlined in each. */
#define ARCH_SMALL 0

/* Programs may not read its counter everywhere: time is the kernel's. */
#define ARCH_CLOCK RING_CLOCK_MONOTONIC

/* The first version of glibc on this processor: symbols of it are in every later one. */
#define ARCH_LIBC_BASE "GLIBC_2.4"

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
	__asm__ volatile("yield");
}

/* Nobody tells of exceptions (who hears of them has to unwind the frame, too, which only the
 * runtime can): a hook that one has left is found out by the next one (thread.c). */
#define ARCH_PERSONALITY(name) ((void)0)
#define ARCH_HEARS_EXCEPTIONS  0

/* Six words do not fit into registers: what hands them on is no jump. */
#define ARCH_THUNKS_CALL

/* Nothing is patched here. */
#define ARCH_LANDING 0u
