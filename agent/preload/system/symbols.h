#pragma once
/*
 * Symbol lookup without the loader, for versions of libc whose dlsym lives in a library that the
 * program may not have (glibc before 2.34 without libdl). It searches the loaded modules in load
 * order and skips the module that holds `self`.
 */
#include <stdbool.h>
#include <stdint.h>

/* Returns the address of a defined function or object, or 0 if no module defines it. Non-default
 * symbol versions are skipped. */
uintptr_t symbols_find(const char *name, const void *self);

/* Does the same, but falls back to versions that only older programs link with. */
uintptr_t symbols_find_old(const char *name, const void *self);

/* Does the same as symbols_find, but only in modules after the one that holds `self`. */
uintptr_t symbols_find_next(const char *name, const void *self);

/* Gets the address range [start, end) of the module that holds `address`. Returns false if no
 * module holds it. */
bool symbols_module(uintptr_t address, uintptr_t *ret_start, uintptr_t *ret_end);

/* Returns true if both addresses lie in the same module. */
bool symbols_together(uintptr_t a, uintptr_t b);

/* Returns true if this address lies in the C++ library of gcc or clang, by its file name. */
bool symbols_of_cxx(uintptr_t address);
