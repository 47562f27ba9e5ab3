#pragma once
/*
 * Symbol lookup without the loader: for libc versions whose dlsym lives in a library that the
 * program may not have (glibc before 2.34 without libdl). Searches the loaded modules in load
 * order, leaving out the one that holds `self`.
 */
#include <stdbool.h>
#include <stdint.h>

/* Address of a defined function or object; 0: nobody has it. Versions other than the default one
 * are passed over. */
uintptr_t symbols_find(const char *name, const void *self);

/* Where nobody has it so, also in a version that only older programs are linked with. */
uintptr_t symbols_find_old(const char *name, const void *self);

/* Only in modules behind that one. */
uintptr_t symbols_find_next(const char *name, const void *self);

/* The addresses from the first to the last byte of the module that holds this one. */
bool symbols_module(uintptr_t address, uintptr_t *ret_start, uintptr_t *ret_end);

/* Do both addresses lie in the same module? */
bool symbols_together(uintptr_t a, uintptr_t b);

/* Does this address lie in the C++ library of gcc or clang, by its file's name? */
bool symbols_of_cxx(uintptr_t address);
