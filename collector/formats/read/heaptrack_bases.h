#pragma once
/*
 * Finds where the files of a heaptrack text were mapped. The text holds absolute addresses of the
 * process, which differ in each run (ASLR), but not the start address of any file. A start address
 * is needed only for files with unnamed places, so that these places are the same in each run:
 *
 * - If the file is on this machine, it was mapped at a multiple of the page size that puts all
 *   addresses into its code. If several such places remain, the one is chosen that explains most:
 *   the functions that the text names (those that a library exports) lie at the addresses in the
 *   text, and the program's entry lies at the outermost frames.
 * - If the file is not here, or several choices remain, places count from the page of the lowest
 *   address seen. Two runs that took the same paths have the same lowest address.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collector/symbols/elfid.h"

struct err_text;
struct symbols;

#define BASES_ANCHORS 16
#define BASES_LOOKUPS (1u << 20) /* limit for looking up functions, over all files */

struct base_anchor {
	uint64_t address;     /* return address of a call in the function */
	uint32_t number;      /* string number of the function's name; 0: the program's entry */
	const char *function; /* set by the caller before base_find */
};

/* What is known about a file. */
struct base {
	uint32_t string;	  /* for the caller: string number of the path */
	uint64_t lowest, highest; /* return addresses in the file */
	uint64_t places, nameless;
	struct base_anchor anchors[BASES_ANCHORS];
	unsigned anchor_count;
	uint64_t bias; /* place = address - bias */
	bool exact;    /* places are those in the file; else relative to some page */
	uint8_t build_id[ELF_BUILD_ID_MAX]; /* of the file on this machine, if `exact` */
	uint32_t build_id_length;
};

/* Records an address in the file. `function` is the string number of its name, or 0 if it has
 * none. */
void base_see(struct base *base, uint64_t address, uint32_t function);
/* Records the address of an outermost frame. */
void base_see_outermost(struct base *base, uint64_t address);
/* Determines the bias, once all addresses are recorded. Functions are looked up unless `symbols` is
 * NULL or `lookups` is used up. Returns 0 or a negative errno. */
int base_find(struct base *base, const char *path, struct symbols *symbols, uint32_t *lookups,
	      struct err_text *err);
