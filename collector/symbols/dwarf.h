#pragma once
/*
 * Functions, inlined frames and lines from debug information, for a batch of addresses at once. The
 * addresses are sorted. Each compilation unit whose ranges contain some of them is walked once, and
 * its line table is read once. This takes a second where one lookup per address with libdwfl took
 * more than 300 s. Worker side.
 */
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "collector/symbols/strings.h"

/*
 * A function or an inlined function that covers some spots. The chain of `outer` leads to the
 * function that contains the code.
 */
struct dwarf_frame {
	uint32_t function, raw;			    /* strings; 0: no name */
	uint32_t outer;				    /* number of the enclosing frame; 0: none */
	uint32_t call_file, call_line, call_column; /* where `outer` calls this one */
	uint16_t depth;				    /* depth in the tree of entries */
	bool symbol_knows; /* C++ without a linkage name: the symbol table's name is better */
};

struct dwarf_spot {
	uint64_t address;
	uint32_t innermost; /* number of a frame; 0: in no known function */
	uint32_t owner;	    /* the function that claimed it; 0: none yet */
	uint32_t unit;	    /* the unit that claimed it; 0: none yet */
	uint32_t file, line, column;
};

struct dwarf_scan {
	Dwarf *dwarf;
	struct strings *strings;
	struct dwarf_spot *spots; /* in the order of addresses */
	size_t spot_count;
	struct dwarf_frame *frames; /* frames[number - 1] */
	uint32_t frame_count, frame_capacity;
	struct map functions; /* number of a raw name -> number of its demangled name */
	struct map scoped;    /* offset of a declaration -> number of its name with scopes */
	struct map files; /* address of a name in this unit's file table -> number of its path */
	struct {
		uint64_t start, end;
	} code[16]; /* executable segments */
	unsigned code_count;
	uint32_t owners, units; /* numbers assigned so far */
	uint32_t unnamed_left;	/* remaining budget of costly searches for scopes */
	bool everything;	/* descend into all entries, not only into those that usually
				 * contain functions */
	Dwarf_Die *unit_die;
	const char *folder; /* folder of the compilation */
	int error;
};

/*
 * Fills in the spots, whose addresses are set. Broken debug information is skipped. Returns 0 or
 * -ENOMEM.
 */
int dwarf_scan(struct dwarf_scan *scan);
void dwarf_scan_done(struct dwarf_scan *scan);
/* Fills in `function` and `raw` of the frame for `die`. */
void dwarf_name_frame(struct dwarf_scan *scan, Dwarf_Die *die, struct dwarf_frame *frame);
/* Returns the number of the demangled name of a raw name. */
uint32_t dwarf_function_name(struct dwarf_scan *scan, uint32_t raw);
