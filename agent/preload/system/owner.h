#pragma once
/*
 * The owner word of a slice: a robust, process-shared mutex of the program's libc, locked by the
 * thread for as long as it lives. When the thread ends, however it ends, the kernel sets
 * FUTEX_OWNER_DIED in it.
 *
 * Where libc has no such mutex ready (glibc before 2.34 without libpthread), the word is the
 * thread's id and nobody marks its end but the death of the process.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/ring.h"

/* Finds what libc offers. Once, before the first owner_take. Returns the offset of the futex word.
 */
uint32_t owner_init(void);
/* The same in a fork child, where the parent's search holds. A raw clone may have left libc with
 * the parent's thread id: then the words are plain ones here. */
uint32_t owner_init_forked(void);
/* Locks the slice's word for this thread; returns the thread's id. */
uint32_t owner_take(struct ring_slice *slice);
void owner_release(struct ring_slice *slice);
/* Did the kernel mark it? */
bool owner_died(const struct ring_slice *slice);
