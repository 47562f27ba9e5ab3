#pragma once
/*
 * What differs between the C libraries that programs have: CMake picks libc_glibc.c or libc_musl.c.
 */
#include <stdbool.h>
#include <stdint.h>

/* As dlsym, and without a trace in what the program's dlerror will say. NULL: nobody has it. */
void *libc_symbol(void *handle, const char *name);

/* Is a robust mutex locked without a system call, in a thread that has locked none before? */
bool libc_locks_quietly(void);

/* What it takes this thread's number for; not 0. No system call where there can be threads. */
uint32_t libc_own_id(void);

/* Inside the loader's lock (a callback of dl_iterate_phdr): where it is. NULL: it was not found; or
 * it is held for moments only, in which nothing of the program's is called, and a fork leaves it
 * open in the child. */
void *libc_loader_lock(void);
/* Does anybody hold it? */
bool libc_loader_held(const void *lock);
/* Takes it, once more if this thread has it. false: another thread has it. */
bool libc_loader_try(void *lock);
void libc_loader_open(void *lock);
