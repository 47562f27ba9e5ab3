#pragma once
/*
 * Works out where the files of a heaptrack text lay in memory. The text has addresses of a process,
 * which differ in each run (ASLR), and does not say where its files began. It is worked out for
 * files that have places without a name, so that these are the same places in each run:
 *
 * - The file is on this machine: it lay, at a multiple of a page, where all addresses fall into its
 * code. If several such places are left, it is the one where the functions that the text names
 * (those that a library exports) lie at the addresses that the text gives, and the program's entry
 * at the outermost frames.
 * - The file is not here, or a choice is left: places count from the page of the lowest address
 * that was seen. Two runs that took the same ways have the same lowest address.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collector/symbols/elfid.h"

struct err_text;
struct symbols;

#define BASES_ANCHORS 16
#define BASES_LOOKUPS (1u << 20) /* limit for looking up functions, for all files together */

struct base_anchor {
	uint64_t address;     /* where its call returns to */
	uint32_t number;      /* of the function, as the file numbers it; 0: the program's entry */
	const char *function; /* the caller fills it in before base_find */
};

/* What is known of a file. */
struct base {
	uint32_t string;	  /* for the caller: the string that is its path */
	uint64_t lowest, highest; /* where calls in it return to */
	uint64_t places, nameless;
	struct base_anchor anchors[BASES_ANCHORS];
	unsigned anchor_count;
	uint64_t bias;			    /* address - bias is the place */
	bool exact;			    /* as in the file; else from some page on */
	uint8_t build_id[ELF_BUILD_ID_MAX]; /* of the file that is here; exact */
	uint32_t build_id_length;
};

/* Notes a place of the file; `function` 0: it has no name. */
void base_see(struct base *base, uint64_t address, uint32_t function);
/* Notes an address whose frames nobody called. */
void base_see_outermost(struct base *base, uint64_t address);
/* Call it when all were seen: works out the bias. `symbols` may be NULL; then functions are not
 * looked up, nor once `lookups` are used up. Returns 0 or a negative errno. */
int base_find(struct base *base, const char *path, struct symbols *symbols, uint32_t *lookups,
	      struct err_text *err);
