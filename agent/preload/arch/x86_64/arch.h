#pragma once
/* The processor interface of the library for x86-64: the counter, the calling frame, the oldest
 * symbol version of libc. (The compiler's builtins: x86intrin.h takes half a second to read.) */
#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/unwind.h"
#include "proto/ring.h"

#define ARCH_MACHINE 62u	       /* EM_X86_64 */
#define ARCH_AUDIT   AUDIT_ARCH_X86_64 /* as seccomp filters see it */

/* The relocations by which a module imports functions: R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT. */
#define ARCH_JUMP_SLOT	 7u
#define ARCH_GLOB_DAT	 6u
#define ARCH_RELOCATIONS DT_RELA

/* Small functions of the hooks' hot path are inlined. */
#define ARCH_SMALL 0

#define ARCH_CLOCK RING_CLOCK_TSC

/* The first version of glibc on this processor. All later versions have its symbols. */
#define ARCH_LIBC_BASE "GLIBC_2.2.5"

/* Tells whether the counter can be used. It must run at one rate, in step on all processors, also
 * while they sleep, and the processor must have an ordered read (rdtscp). AMD64 APM 3, CPUID
 * Fn8000_0007 EDX bit 8 and Fn8000_0001 EDX bit 27; Intel SDM 18.17. */
static inline bool arch_clock_usable(void)
{
	unsigned a, b, c, d;

	if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !(d & 1u << 27))
		return false;
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

/* rdtscp waits for all loads and instructions before it. rdtsc could run before a lock that was
 * just taken. */
static inline uint64_t arch_clock_ordered(void)
{
	unsigned processor;

	return __builtin_ia32_rdtscp(&processor);
}

static inline uint64_t arch_clock_single(void)
{
	return __builtin_ia32_rdtsc();
}

/* The frame of the function that contains this macro. */
#define ARCH_FRAME ((uintptr_t)__builtin_frame_address(0))

/* Sets the caller's registers as they will be when the function with this frame has returned.
 * `frame` is the value of ARCH_FRAME there: [frame] is the saved rbp, [frame + 8] the return
 * address. */
static inline void arch_caller(uintptr_t frame, struct unwind_regs *regs)
{
	const uint64_t *slot = (const uint64_t *)frame;

	regs->fp = slot[0];
	regs->pc = slot[1];
	regs->sp = frame + 16;
	regs->has_saved = false;
}

static inline void arch_pause(void)
{
	__builtin_ia32_pause();
}

/* Use it in the body of a function. The C++ runtime calls the personality routine (named by its
 * symbol) when an exception passes that function. 0x1b: relative to the table, four bytes, signed.
 */
#define ARCH_PERSONALITY(name) __asm__ volatile(".cfi_personality 0x1b, " name)
#define ARCH_HEARS_EXCEPTIONS  1
