#pragma once
/*
 * Looks up the row of a program counter, through two caches.
 *
 *   L1  per thread, direct mapped, 2^10 entries, growing to 2^14 as more code is seen
 *   L2  of the process, lines of 8 entries (64 bytes), 2^10 lines, then 2^13
 *   then the module's tables
 *
 * Any thread reads and writes single entries of L2.
 *
 * The state of the caches is one word (generation << 16 | number of suspensions). Every capture
 * compares it with the thread's copy; if it differs, the thread drops its trace and its L1. While
 * the caches are suspended, nothing is read from or written to any of them.
 */
#include "agent/unwind/thread.h"

extern uint64_t rows_state_word; /* through __atomic builtins */
#define ROWS_SUSPENSIONS 0xffffu

void rows_state_changed(struct unwind_thread *thread, uint64_t state);

/* Returns the row for `pc` (the address looked up is pc - 1), from L2 or the tables. */
uint32_t rows_miss(struct unwind_thread *thread, uint64_t pc) __attribute__((noinline));

/* Returns the module that contains `pc`; for code generated at run time, the function if it has a
 * registered table, stored in `space`; otherwise NULL. */
const struct unwind_module *rows_module(uint64_t pc, struct unwind_module *space);

/* True if the code of the module that contains this return address may be read. The address's row
 * must be known. */
bool rows_readable(uint64_t pc);

/* Derives the row of a function without a table from its code. `pc` is the instruction that will be
 * executed next. */
uint32_t rows_scan(const struct unwind_module *module, uint64_t pc, bool interrupted);

/* Decodes the row for `pc` without a cache. */
uint32_t rows_decode(uint64_t pc);

/* Returns the row of code that was interrupted at `pc`. Such rows are not cached. */
uint32_t rows_interrupted(struct unwind_thread *thread, uint64_t pc) __attribute__((noinline));

static ARCH_HOT uint32_t rows_get(struct unwind_thread *thread, uint64_t pc)
{
	uint64_t key = key_of(pc);
	uint64_t entry = thread->l1[key_place(key) & thread->l1_mask];

	/* An empty place looks like the entry of a key below 1024, which is not an address of
	 * code. */
	if (__builtin_expect(entry_is(entry, key) && entry, 1))
		return entry_row(entry);
	return rows_miss(thread, pc);
}

static inline uint64_t rows_state(void)
{
	return __atomic_load_n(&rows_state_word, __ATOMIC_ACQUIRE);
}

static inline bool rows_is_suspended(uint64_t state)
{
	return state & ROWS_SUSPENSIONS;
}

/* Drops the trace and L1 if the state of the caches has changed. Call it first in a capture. */
static inline void rows_check_state(struct unwind_thread *thread)
{
	uint64_t state = rows_state();

	if (__builtin_expect(state != thread->state, 0))
		rows_state_changed(thread, state);
}

extern const struct unwind_host *unwind_host; /* NULL before unwind_init */
