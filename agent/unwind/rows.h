#pragma once
/*
 * From a program counter to its row, through two caches.
 *
 *   L1  per thread, direct mapped, 2^10 entries that become 2^14 as code is met
 *   L2  of the process, lines of 8 entries (64 bytes), 2^10 lines, then 2^13
 *   then the module's tables
 *
 * Any thread reads and writes single entries of L2.
 *
 * The state of the caches is one word, (generation << 16 | how many suspensions). Every capture
 * compares it with the thread's copy; if it differs the thread drops its trace and its L1. While
 * suspended nothing is read from or written to any cache.
 */
#include "agent/unwind/thread.h"

extern uint64_t rows_state_word; /* through __atomic builtins */
#define ROWS_SUSPENSIONS 0xffffu

void rows_state_changed(struct unwind_thread *thread, uint64_t state);

/* The row for `pc` (the address looked up is pc - 1), from L2 or the tables. */
uint32_t rows_miss(struct unwind_thread *thread, uint64_t pc) __attribute__((noinline));

/* The module that holds `pc`; or of code made at run time the function, if it has a registered
 * table: in `space`. NULL. */
const struct unwind_module *rows_module(uint64_t pc, struct unwind_module *space);

/* May the code of the module be read that this return address lies in? Its row is known. */
bool rows_readable(uint64_t pc);

/* The row of a function that has no table, out of its code. `pc` is the instruction that will be
 * executed next. */
uint32_t rows_scan(const struct unwind_module *module, uint64_t pc, bool interrupted);

/* Decodes, with no cache. */
uint32_t rows_decode(uint64_t pc);

/* The row of code that was interrupted at `pc`; not cached. */
uint32_t rows_interrupted(struct unwind_thread *thread, uint64_t pc) __attribute__((noinline));

static ARCH_HOT uint32_t rows_get(struct unwind_thread *thread, uint64_t pc)
{
	uint64_t key = key_of(pc);
	uint64_t entry = thread->l1[key_place(key) & thread->l1_mask];

	if (__builtin_expect(entry_is(entry, key), 1))
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

/* Called first in a capture. */
static inline void rows_check_state(struct unwind_thread *thread)
{
	uint64_t state = rows_state();

	if (__builtin_expect(state != thread->state, 0))
		rows_state_changed(thread, state);
}

extern const struct unwind_host *unwind_host; /* NULL before unwind_init */
