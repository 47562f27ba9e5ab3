#pragma once
/*
 * The call frame table of a module: finds the entry of a function in .eh_frame through
 * .eh_frame_hdr.
 *
 *   .eh_frame_hdr | version, 3 encodings | -> .eh_frame | count | (function, entry), sorted | ...
 *   .eh_frame     | CIE: shared by many functions | FDE: range of one function, its rules | ...
 *
 * Format: Linux Standard Base Core 5.0, chapter 10.6; pointer encodings 10.5. Every byte is read
 * through a reader that stays in [load_start, load_end) of the module; its offsets are relative to
 * load_start.
 */
#include "agent/unwind/unwind.h"
#include "base/bytes.h"

struct eh_bytes { /* a range of bytes, as offsets from the module's load_start */
	uint64_t begin;
	uint64_t end;
};

struct eh_entry {
	uint64_t start; /* start of the function, absolute */
	uint64_t end;
	struct eh_bytes initial;      /* instructions of the CIE */
	struct eh_bytes instructions; /* of the FDE */
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register;
	uint8_t pointer_encoding;
	bool signal; /* a signal frame: its caller was interrupted, it made no call */
};

/* Returns a reader of [load_start, end) at `offset`. */
struct reader eh_reader(const struct unwind_module *module, uint64_t offset, uint64_t end);

/* Reads a pointer in the encoding `encoding` (DW_EH_PE_*); `data` is the base of "datarel". Sets
 * the reader's error for an encoding that tables do not use. */
uint64_t eh_pointer(const struct unwind_module *module, struct reader *r, uint8_t encoding,
		    uint64_t data);

/* Finds the entry of the function that contains `address`. Returns 0; -ENOENT if the table has none
 * (*ret_entry may have been written); or -EBADMSG if the table is damaged. */
int eh_frame_find(const struct unwind_module *module, uint64_t address, struct eh_entry *ret_entry);
