#pragma once
/*
 * Redirects calls of modules to an allocator under its own names (allocators.h).
 *
 * A module reaches functions of other modules through words of its own, which the loader fills
 * (System V ABI: relocations of type JUMP_SLOT and GLOB_DAT; on MIPS64 words of the global offset
 * table, which have no relocations). If such a word holds the address of a known function, or will
 * hold it after the first call, the library stores the address of its hook there: one store of one
 * pointer, which is never undone. The library leaves empty words alone (a missing weak function),
 * so that programs that test for a function get the right answer.
 *
 * The loader writes these words, and makes them read-only, at times of its choice. The library
 * therefore redirects only modules that the loader has finished with. It redirects the modules that
 * are loaded at the start when its constructor runs, after all of them are relocated. It redirects
 * a later module when one of the module's program counters is first found on a stack.
 */
#include <stdbool.h>
#include <stdint.h>

/* Redirects the imports of the module that holds this address of running code. Called inside a
 * hook. Returns false if the loader is busy; nothing is done then. */
bool imports_take(uint64_t pc);
