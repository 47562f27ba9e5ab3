#pragma once
/* The processor interface of the library for ARM (32 bits). */
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

/* Small functions of the hooks' hot path are inlined. */
#define ARCH_SMALL 0

/* Not every system lets programs read the processor's counter, so stamps are the kernel's time. */
#define ARCH_CLOCK RING_CLOCK_MONOTONIC

/* The first version of glibc on this processor. All later versions have its symbols. */
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

/* No personality routine: on ARM it also has to unwind the frame, which only the runtime can do.
 * The next hook finds out that an exception has left an earlier one (thread.c). */
#define ARCH_PERSONALITY(name) ((void)0)
#define ARCH_HEARS_EXCEPTIONS  0

/* Six words do not fit into registers, so thunks call the next function instead of jumping to it.
 */
#define ARCH_THUNKS_CALL
