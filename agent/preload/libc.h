#pragma once
/*
 * What differs between the C libraries that programs have: CMake picks libc_glibc.c or libc_musl.c.
 */
#include <stdbool.h>

/* As dlsym, and without a trace in what the program's dlerror will say. NULL: nobody has it. */
void *libc_symbol(void *handle, const char *name);

/* Is a robust mutex locked without a system call, in a thread that has locked none before? */
bool libc_locks_quietly(void);

/* Inside the loader's lock (a callback of dl_iterate_phdr): its word, not 0 while somebody holds it. NULL: it was not found, or a
 * fork leaves it open in the child. */
const int *libc_loader_lock(void);
