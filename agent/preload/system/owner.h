#pragma once
/*
 * The owner word of a slice: a robust, process-shared mutex of the program's libc. The thread holds
 * it for its whole life. When the thread ends for any reason, the kernel sets FUTEX_OWNER_DIED in
 * it.
 *
 * If libc has no such mutex (glibc before 2.34 without libpthread), the word is the thread's id,
 * and only the death of the whole process ends the ownership.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/ring.h"

/* Finds out which mutexes libc offers. Called once, before the first owner_take. Returns the offset
 * of the futex word. */
uint32_t owner_init(void);
/* Does the same in a fork child, which keeps the results of the parent's search. After a raw clone,
 * libc may still have the parent's thread id; this process then uses plain words. */
uint32_t owner_init_forked(void);
/* Locks the slice's word for this thread. Returns the thread's id, or 0 if the id is unknown and
 * the word is not locked. */
uint32_t owner_take(struct ring_slice *slice);
void owner_release(struct ring_slice *slice);
/* Returns true if the kernel has set FUTEX_OWNER_DIED. */
bool owner_died(const struct ring_slice *slice);
