#pragma once
/*
 * Where the files of a heaptrack text lay in memory. It has addresses of a process, which are
 * others in the next run (ASLR), and does not say where its files began. Of a file that has places
 * without a name it is worked out, so that these are the same places in each run:
 *
 * - The file is here: it lay where all addresses fall into its code, by whole pages; and of all
 * such places the one where the
 *   functions that the text names (those that a library exports) lie at the addresses that it
 *   gives, and the program's entry at the outermost frames.
 * - It is not here, or that leaves a choice: places count from the page of the lowest address that
 * was seen. Two runs that went
 *   the same ways have the same.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collector/symbols/elfid.h"

struct err_text;
struct symbols;

#define BASES_ANCHORS 16
#define BASES_LOOKUPS (1u << 20) /* of functions, of all files together */

struct base_anchor {
	uint64_t address;     /* where its call returns to */
	uint32_t number;      /* of the function, as the file has it; 0: the entry of the program */
	const char *function; /* the caller's to fill in before base_find */
};

/* Of a file. */
struct base {
	uint32_t string;	  /* the caller's: of its path */
	uint64_t lowest, highest; /* where calls in it return to */
	uint64_t places, nameless;
	struct base_anchor anchors[BASES_ANCHORS];
	unsigned anchor_count;
	uint64_t bias;			    /* address - bias is the place */
	bool exact;			    /* as in the file; else from some page on */
	uint8_t build_id[ELF_BUILD_ID_MAX]; /* of the file that is here; exact */
	uint32_t build_id_length;
};

/* A place of the file; `function` 0: it has no name. */
void base_see(struct base *base, uint64_t address, uint32_t function);
/* Frames at it were called by nobody. */
void base_see_outermost(struct base *base, uint64_t address);
/* When all were seen: works it out. `symbols` may be NULL: then functions are not looked up, nor
 * when `lookups` are used up. 0 or a negative errno. */
int base_find(struct base *base, const char *path, struct symbols *symbols, uint32_t *lookups,
	      struct err_text *err);
