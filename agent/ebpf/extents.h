#pragma once
/*
 * Where functions begin, of an ELF file that may have no symbols: the table that exceptions are
 * handled by has them all (.eh_frame_hdr: Linux Standard Base, 10.6.2; pairs of a function's
 * beginning and its entry, in the order of addresses). Programs that are linked statically often
 * have none: then their symbols, as long as they are few enough to be looked through often.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/elf_symbols.h"

struct extents {
	struct elf_symbols *file;
	uint64_t address;   /* of the table's head, that distances in it are from */
	uint64_t offset;    /* of its pairs, in the file */
	uint64_t count;	    /* 0: there is none */
	unsigned looks;	    /* that may be taken through the symbols */
	uint64_t asked;	    /* by one of them */
	uint64_t low, high; /* what was found last: a function's beginning, and the next one's */
};

void extents_open(struct extents *extents, struct elf_symbols *file);

/* Is there such a table, and has it not been asked too much? */
bool extents_known(const struct extents *extents);

/* Quick where addresses are near that of the last question. */
bool extents_begin(struct extents *extents, uint64_t address);
