#pragma once
/*
 * The differences between the C libraries of programs. CMake picks libc_glibc.c or libc_musl.c.
 */
#include <stdbool.h>
#include <stdint.h>

/* Does the same as dlsym, but does not affect the result of the program's dlerror. Returns NULL if
 * no module defines the symbol. */
void *libc_symbol(void *handle, const char *name);

/* Returns true if a thread that has locked no robust mutex yet can lock one without a system call.
 */
bool libc_locks_quietly(void);

/* Returns the id by which libc knows the calling thread; never 0. On glibc it makes no system call
 * if the process may have several threads. */
uint32_t libc_own_id(void);

/* Finds the loader's lock. The caller holds it: it runs in a callback of dl_iterate_phdr. Returns
 * NULL if the lock was not found. It also returns NULL if libc holds the lock only for moments, in
 * which it calls no code of the program, and a fork leaves it unlocked in the child. */
void *libc_loader_lock(void);
/* Returns true if any thread holds the lock. */
bool libc_loader_held(const void *lock);
/* Takes the lock, recursively if the calling thread already holds it. Returns false if another
 * thread holds it. */
bool libc_loader_try(void *lock);
void libc_loader_open(void *lock);
