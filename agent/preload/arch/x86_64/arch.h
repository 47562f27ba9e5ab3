#pragma once
/* What the shim must know of x86-64: its counter, its calling frame, the oldest symbol version of
 * its libc. */
#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>
#include <x86intrin.h>

#include "agent/unwind/unwind.h"
#include "proto/ring.h"

/* The relocations by which a module imports functions: R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT. */
#define ARCH_JUMP_SLOT 7u
#define ARCH_GLOB_DAT  6u

#define ARCH_CLOCK RING_CLOCK_TSC

/* The first version of glibc on this processor: symbols of it are in every later one. */
#define ARCH_LIBC_BASE "GLIBC_2.2.5"

/* Does the counter run at one rate, in step on all processors, also while they sleep, and is there
 * an ordered way to read it (rdtscp)? AMD64 APM 3, CPUID Fn8000_0007 EDX bit 8 and Fn8000_0001 EDX
 * bit 27; Intel SDM 18.17. */
static inline bool arch_clock_usable(void)
{
	unsigned a, b, c, d;

	if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !(d & 1u << 27))
		return false;
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

/* rdtscp waits for all loads and instructions before it; rdtsc may run ahead of a lock that was
 * just taken. */
static inline uint64_t arch_clock_ordered(void)
{
	unsigned processor;

	return __rdtscp(&processor);
}

static inline uint64_t arch_clock_single(void)
{
	return __rdtsc();
}

/* The caller's registers as they will be when the function whose frame this is has returned.
 * `frame` is what
 * __builtin_frame_address(0) gave there: [frame] is the saved rbp, [frame + 8] the return address.
 */
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
	_mm_pause();
}

/* In the body of a function: this one (named by its symbol) is called when an exception passes it.
 * 0x1b: relative to the table, four bytes, signed. */
#define ARCH_PERSONALITY(name) __asm__ volatile(".cfi_personality 0x1b, " name)
