#pragma once
/*
 * Redirects the calls by which modules reach an allocator under a name of its own (allocators.h).
 *
 * A module reaches functions of others through words of its own, which the loader fills (System V
 * ABI: relocations of type JUMP_SLOT and GLOB_DAT; on MIPS64 words of the global offset table,
 * which have none). Where such a word holds the address of a known function, or will hold it once
 * the first call has been resolved, it is given that of our hook: one store of one pointer, which
 * is never undone. A word that nobody has filled (a weak function that is not there) stays as it
 * is: programs that ask are told the truth.
 *
 * It is done only for modules that the loader is through with, since it writes such words, and
 * takes away the right to write them, at times of its own: those of the program's start when our
 * constructor runs, which is after all of them are relocated; later ones when one of their
 * program counters is first found on a stack.
 */
#include <stdbool.h>
#include <stdint.h>

/* For the module that holds this address of running code. Inside of a hook. false: the loader is
 * busy, nothing was done. */
bool imports_take(uint64_t pc);
