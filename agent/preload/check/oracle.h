#pragma once
/*
 * Compares a stack with that of another unwinder: oracle_libunwind.c in libheapcast-oracle.so,
 * oracle_none.c in libheapcast-check.so.
 *
 * `pcs` (`count` program counters, innermost first, without pseudo frames) is the stack that starts
 * at `regs`; `flags` are those of its walk.
 */
#include <stdint.h>

#include "agent/preload/check/report.h"
#include "agent/unwind/unwind.h"

void oracle_compare(struct report *report, const struct unwind_regs *regs, const uint64_t *pcs,
		    uint32_t count, uint32_t flags);
