#pragma once
/* The instructions of a library of another processor, one after the other; and code that libc has
 * not. */
#include <stdbool.h>
#include <stdint.h>

#include <gelf.h>

#include "agent/unwind/arch/arch.h"

struct site {
	uint64_t address; /* as in the file */
	uint64_t behind;  /* the return address, if it is a call */
	bool is_call;
	bool is_slot; /* behind a jump, and never where a signal finds the program: that is at the
			 jump */
	/* Of who enumerates. */
	uint64_t next;
	size_t symbol;
};

/* The next one; begin with zeroes. `debug` has the symbols. False: there is none. */
bool sites_next(struct site *site, Elf *debug, const struct arch_code *code, uint64_t bias);

/* What is to be read out of a function's first instructions, for the return address behind them.
 * The last one has no name. */
struct piece {
	const char *name;
	uint32_t code[32];
	uint32_t size;
	struct arch_frame frame;
};

extern const struct piece pieces[];
