#pragma once
/*
 * Finds where functions begin in an ELF file that may have no symbols. The binary search table for
 * exception handling lists them all (.eh_frame_hdr: Linux Standard Base, 10.6.2; pairs of a
 * function's start and its entry, sorted by address). Statically linked programs often lack this
 * table; then the symbols are used, if they are few enough for repeated searches.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/elf_symbols.h"

struct extents {
	const struct elf_symbols *file;
	uint64_t address;   /* of the table's header; the table's distances start here */
	uint64_t offset;    /* of its pairs, in the file */
	uint64_t count;	    /* of pairs; 0: no table */
	unsigned looks;	    /* number of searches through the symbols that are still allowed */
	uint64_t asked;	    /* address of the current search */
	uint64_t low, high; /* the last result: a function's start, and the next one's */
};

void extents_open(struct extents *extents, const struct elf_symbols *file);

/* Returns true if function starts can be found, and the allowed searches are not used up. */
bool extents_known(const struct extents *extents);

/* Returns true if a function begins at `address`. Fast if `address` is near that of the last
 * call. */
bool extents_begin(struct extents *extents, uint64_t address);
